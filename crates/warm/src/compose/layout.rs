//! How the memory of two takes corresponds, and what is different at each launch.

use steady_preload::table::kind;

use crate::taken::{Refusal, Taken};

/// The memory of two takes, piece by piece. Pieces that lie at other addresses in the second have moved by a random distance,
/// which is the same for all that the kernel places relative to one another.
pub(super) struct Layout {
    /// Of each region: where it begins in both, and how long it is.
    regions: Vec<([u64; 2], u64)>,
    /// By which distances regions have moved, each once.
    distances: Vec<u64>,
    /// Where the stacks begin and end.
    stacks: [(u64, u64); 2],
    /// Where the kernel's shared objects begin and end.
    vdsos: [(u64, u64); 2],
}

impl Layout {
    pub(super) fn new(one: &Taken, two: &Taken) -> Result<Layout, Refusal> {
        if one.regions.len() != two.regions.len() {
            return Err(Refusal("its memory is laid out otherwise at each launch".into()));
        }
        let mut regions = vec![];
        for (left, right) in one.regions.iter().zip(&two.regions) {
            let alike = left.bytes.len() == right.bytes.len()
                && left.protection == right.protection
                && left.file == right.file
                && left.heap == right.heap;
            if !alike {
                return Err(Refusal(format!("its memory at {:#x} is another at each launch", left.address)));
            }
            regions.push(([left.address, right.address], left.bytes.len() as u64));
        }
        let mut distances: Vec<u64> = regions.iter().map(|(starts, _)| distance(*starts)).collect();
        distances.sort_unstable();
        distances.dedup();
        let stacks = [one.stack.range, two.stack.range];
        let vdsos = [one.stack.vdso, two.stack.vdso];
        if distances.contains(&distance([stacks[0].0, stacks[1].0])) {
            return Err(Refusal("where its memory lies is not random".into()));
        }
        Ok(Layout { regions, distances, stacks, vdsos })
    }

    /// Whether both values are addresses of the same place in the same region.
    pub(super) fn same_place(&self, values: [u64; 2]) -> bool {
        let after = self.regions.partition_point(|(starts, _)| starts[0] <= values[0]);
        let Some((starts, length)) = after.checked_sub(1).map(|index| self.regions[index]) else { return false };
        let offset = values[0] - starts[0];
        offset < length && starts[1].wrapping_add(offset) == values[1]
    }

    /// Whether both are as far from a region as each other: addresses just beyond its end, or before its start, as a hash
    /// table's that is not indexed from 0. Distances are random, so that nothing else has moved by just as much.
    pub(super) fn moved_along(&self, values: [u64; 2]) -> bool {
        let on_stack = self.stacks.iter().zip(values).any(|((start, end), value)| (*start..=*end).contains(&value));
        !on_stack && self.distances.contains(&distance(values))
    }

    /// Whether both are addresses in the same region without their last `bits`.
    pub(super) fn same_upper_part(&self, parts: [u64; 2], bits: u32) -> bool {
        self.regions.iter().any(|(starts, length)| {
            let all = |side: usize| starts[side] >> bits..=(starts[side] + length - 1) >> bits;
            all(0).contains(&parts[0]) && all(1).contains(&parts[1])
        })
    }

    /// Where in the kernel's shared object both are.
    pub(super) fn in_vdso(&self, values: [u64; 2]) -> Option<u64> {
        let [(start, end), (other, _)] = self.vdsos;
        let offset = values[0].wrapping_sub(start);
        (offset < end - start && values[1].wrapping_sub(other) == offset).then_some(offset)
    }

    /// How far both are from the start of the kernel's shared object, if they have moved with it and with nothing else.
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

/// What a take's launch made of what the stub makes anew.
pub(super) struct Launch {
    /// Words of 8 bytes: what they are ([`kind`]), which of them, and what they were.
    pub(super) words: Vec<(u32, u64, u64)>,
    /// Words of 4 bytes: what they are, and what they were.
    pub(super) halves: [(u32, u32); 2],
    /// What pointers are mangled with.
    pub(super) guard: u64,
    /// The soft limit on the stack. It may have been the same in both.
    pub(super) stack_limit: u64,
}

impl Launch {
    pub(super) fn new(taken: &Taken) -> Result<Launch, Refusal> {
        let stack = &taken.stack;
        let told = |kind: u64| stack.auxiliary.1.iter().find(|pair| pair.0 == kind).map(|pair| pair.1);
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
        words.extend(pointers.into_iter().filter_map(|(kind, name)| Some((kind, 0, told(name)?))));
        words.extend((taken.heap_end != 0).then_some((kind::BREAK, 0, taken.heap_end)));
        words.extend(taken.drawn.iter().enumerate().map(|(which, word)| (kind::DRAWN, which as u64, *word)));
        let count = u32::try_from(stack.arguments).map_err(|_| Refusal("it has very many arguments".into()))?;
        Ok(Launch {
            words,
            halves: [(kind::ARGC, count), (kind::TID, taken.thread.tid.cast_unsigned())],
            guard,
            stack_limit: taken.stack_limit,
        })
    }
}
