//! How the memory layouts of two captures correspond, and the values that differ at each launch.

use steady_preload::table::kind;

use crate::captured::{Captured, Refusal};

/// The memory layouts of two captures. A region in the second capture is a random distance away from that in the first.
/// The distance is the same for all regions that the kernel places relative to each other.
pub(super) struct Layout {
    /// For each region: its start in both captures, and its length.
    regions: Vec<([u64; 2], u64)>,
    /// The distinct distances between the captures.
    distances: Vec<u64>,
    /// The start and the end of both stacks.
    stacks: [(u64, u64); 2],
    /// The start and the end of both vDSOs.
    vdsos: [(u64, u64); 2],
}

impl Layout {
    pub(super) fn new(one: &Captured, two: &Captured) -> Result<Layout, Refusal> {
        if one.regions.len() != two.regions.len() {
            return Err(Refusal("its memory layout differs between captures".into()));
        }
        let mut regions = vec![];
        for (left, right) in one.regions.iter().zip(&two.regions) {
            let alike = left.bytes.len() == right.bytes.len()
                && left.protection == right.protection
                && left.file == right.file
                && left.heap == right.heap;
            if !alike {
                return Err(Refusal(format!("its mapping at {:#x} differs between captures", left.address)));
            }
            regions.push(([left.address, right.address], left.bytes.len() as u64));
        }
        let mut distances: Vec<u64> = regions.iter().map(|(starts, _)| distance(*starts)).collect();
        distances.sort_unstable();
        distances.dedup();
        let stacks = [one.stack.range, two.stack.range];
        let vdsos = [one.stack.vdso, two.stack.vdso];
        if distances.contains(&distance([stacks[0].0, stacks[1].0])) {
            return Err(Refusal("its addresses are not random".into()));
        }
        Ok(Layout { regions, distances, stacks, vdsos })
    }

    /// Returns whether both values are addresses at the same offset of the same region.
    pub(super) fn same_place(&self, values: [u64; 2]) -> bool {
        let after = self.regions.partition_point(|(starts, _)| starts[0] <= values[0]);
        let Some((starts, length)) = after.checked_sub(1).map(|index| self.regions[index]) else { return false };
        let offset = values[0] - starts[0];
        offset < length && starts[1].wrapping_add(offset) == values[1]
    }

    /// Returns whether the values differ by the distance of a region. They are then addresses relative to it, such as
    /// just behind its end, or before its start for a hash table that is not indexed from 0. Distances are random, so a
    /// match by chance is very unlikely.
    pub(super) fn moved_along(&self, values: [u64; 2]) -> bool {
        let on_stack = self.stacks.iter().zip(values).any(|((start, end), value)| (*start..=*end).contains(&value));
        !on_stack && self.distances.contains(&distance(values))
    }

    /// Returns whether both are addresses in the same region, without their lowest `bits`.
    pub(super) fn same_upper_part(&self, parts: [u64; 2], bits: u32) -> bool {
        self.regions.iter().any(|(starts, length)| {
            let all = |side: usize| starts[side] >> bits..=(starts[side] + length - 1) >> bits;
            all(0).contains(&parts[0]) && all(1).contains(&parts[1])
        })
    }

    /// Returns the offset in the vDSO if both values are addresses at the same offset of it.
    pub(super) fn in_vdso(&self, values: [u64; 2]) -> Option<u64> {
        let [(start, end), (other, _)] = self.vdsos;
        let offset = values[0].wrapping_sub(start);
        (offset < end - start && values[1].wrapping_sub(other) == offset).then_some(offset)
    }

    /// Returns the distance from the start of the vDSO if the values differ by the vDSO's distance, and no region has
    /// the same distance.
    pub(super) fn moved_with_vdso(&self, values: [u64; 2]) -> Option<u64> {
        let moved = distance([self.vdsos[0].0, self.vdsos[1].0]);
        let alone = moved != 0 && !self.distances.contains(&moved);
        (alone && distance(values) == moved).then(|| values[0].wrapping_sub(self.vdsos[0].0))
    }
}

fn distance(values: [u64; 2]) -> u64 {
    values[1].wrapping_sub(values[0])
}

const AT_PLATFORM: u64 = 15;
const AT_RANDOM: u64 = 25;
const AT_EXECFN: u64 = 31;

/// The values of a capture that each launch creates again.
pub(super) struct LaunchValues {
    /// Words of 8 bytes: type ([`kind`]), index within the type, and value.
    pub(super) words: Vec<(u32, u64, u64)>,
    /// Words of 4 bytes: type and value.
    pub(super) halves: [(u32, u32); 2],
    /// The pointer guard, with which the C library mangles pointers.
    pub(super) guard: u64,
    /// The soft limit on the stack, in bytes. It may be the same in both captures.
    pub(super) stack_limit: u64,
}

impl LaunchValues {
    pub(super) fn new(captured: &Captured) -> Result<LaunchValues, Refusal> {
        let stack = &captured.stack;
        let auxiliary = |kind: u64| stack.auxiliary.1.iter().find(|pair| pair.0 == kind).map(|pair| pair.1);
        let (first, second) = stack.random.split_at(8);
        let [first, guard] =
            [first, second].map(|half| half.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        let mut words = vec![
            (kind::STACK, 0, stack.pointer),
            (kind::ARGV, 0, stack.pointer + 8),
            (kind::ENVIRONMENT, 0, stack.environment),
            (kind::AUXILIARY, 0, stack.auxiliary.0),
            (kind::ARGV0, 0, stack.name.0),
            (kind::ARGV0_NAME, 0, stack.name_part),
            (kind::CANARY, 0, first & !0xff),
            (kind::POINTER_GUARD, 0, guard),
        ];
        let pointers = [(kind::RANDOM, AT_RANDOM), (kind::PLATFORM, AT_PLATFORM), (kind::EXECFN, AT_EXECFN)];
        words.extend(pointers.into_iter().filter_map(|(kind, name)| Some((kind, 0, auxiliary(name)?))));
        words.extend((captured.heap_end != 0).then_some((kind::BREAK, 0, captured.heap_end)));
        words.extend(captured.drawn.iter().enumerate().map(|(which, word)| (kind::DRAWN, which as u64, *word)));
        let count = u32::try_from(stack.arguments).map_err(|_| Refusal("it has very many arguments".into()))?;
        Ok(LaunchValues {
            words,
            halves: [(kind::ARGC, count), (kind::TID, captured.thread.tid.cast_unsigned())],
            guard,
            stack_limit: captured.stack_limit,
        })
    }
}
