//! What the shape of a tree is found with: how often each value occurs in a block, keys that have a frequency and a node's
//! number, and the binary min-heap of them, whose form decides ties.

use super::{BLOCK_BYTES, P};

/// Positions are counted from one, so that the children of `i` are at `2 * i` and `2 * i + 1`; twice what a heap ever holds,
/// so that there always are some. Where it holds nothing, there is [`NOTHING`].
pub(super) type Heap = [u32; 512];

/// A heap that holds nothing.
pub(super) const EMPTY: Heap = [NOTHING; 512];

/// Takes the least from a heap that holds `held`: the last takes its place and sinks.
#[inline(always)]
pub(super) fn pop(heap: &mut Heap, held: usize) -> u32 {
    let (least, last) = (heap[1], heap[held & 511]);
    heap[held & 511] = NOTHING;
    // Of a loop with a known end the compiler knows which positions it comes to.
    match held.ilog2() {
        0 => {}
        1 => sink::<1>(heap, last),
        2 => sink::<2>(heap, last),
        3 => sink::<3>(heap, last),
        4 => sink::<4>(heap, last),
        5 => sink::<5>(heap, last),
        6 => sink::<6>(heap, last),
        _ => sink::<7>(heap, last),
    }
    least
}

/// From the top down: where a child is less than what sinks, the least child takes its place, the left one if they are equal. Once it
/// lies somewhere, what lay there is carried on to where it was already, so that nothing has to be decided.
#[inline(always)]
fn sink<const LEVELS: usize>(heap: &mut Heap, sinking: u32) {
    let frequency = sinking & FREQUENCY;
    let (mut at, mut carried) = (1, sinking);
    for _ in 0..LEVELS {
        let (left, right) = (heap[(2 * at) & 511], heap[(2 * at + 1) & 511]);
        let child = 2 * at + usize::from((right >> 16) < (left >> 16));
        let least = heap[child & 511];
        let rises = least < frequency;
        heap[at & 511] = if rises { least } else { carried };
        carried = if rises { carried } else { least };
        at = child;
    }
    heap[at & 511] = carried;
}

/// Puts a key at the end of a heap that holds `at` with it.
#[inline(always)]
pub(super) fn push(heap: &mut Heap, at: usize, key: u32) {
    match at.ilog2() {
        0 => heap[1] = key,
        1 => rise::<1>(heap, at, key),
        2 => rise::<2>(heap, at, key),
        3 => rise::<3>(heap, at, key),
        4 => rise::<4>(heap, at, key),
        5 => rise::<5>(heap, at, key),
        6 => rise::<6>(heap, at, key),
        7 => rise::<7>(heap, at, key),
        _ => rise::<8>(heap, at, key),
    }
}

/// From the top down: what is pushed comes to lie above all that are not less, which are carried on.
#[inline(always)]
fn rise<const LEVELS: usize>(heap: &mut Heap, at: usize, rising: u32) {
    let frequency = rising & FREQUENCY;
    let mut carried = rising;
    for level in (1..=LEVELS).rev() {
        let other = heap[(at >> level) & 511];
        let passes = other >= frequency;
        heap[(at >> level) & 511] = if passes { carried } else { other };
        carried = if passes { other } else { carried };
    }
    heap[at & 511] = carried;
}

/// Beyond every frequency: what stands where a heap has nothing.
pub(super) const NOTHING: u32 = 0x7FFF_FFFF;

/// The half that is the frequency.
pub(super) const FREQUENCY: u32 = 0xFFFF_0000;

/// Inner nodes are numbered below this; the leaf of a value is numbered so much more than it.
pub(super) const LEAVES: u32 = 256;

/// The bits that numbers of nodes have.
pub(super) const NODE: u32 = 2 * LEAVES - 1;

/// A multiple of P less: below 2^31 for every number below 2^62, though P itself may be left where zero is meant.
#[inline(always)]
pub(super) fn reduced(number: u64) -> u64 {
    let once = (number & P) + (number >> 31);
    (once & P) + (once >> 31)
}

/// A frequency and the number of its node.
#[inline(always)]
pub(super) fn key(frequency: u32, node: u32) -> u32 {
    frequency << 16 | node
}

/// So many tables that a byte is never counted in one that the byte before was just written to; and none of them can overflow,
/// for of 1,024 bytes 128 belong to each.
const TABLES: usize = 8;

const _: () = assert!(BLOCK_BYTES / TABLES <= u8::MAX as usize);

/// How often each of the 256 values occurs.
pub(super) type Counts = [u16; 256];

/// Counts the bytes of a block of at most [`BLOCK_BYTES`].
#[inline]
pub(super) fn count(block: &[u8]) -> Counts {
    let mut tables = [[0_u8; 256]; TABLES];
    let (eights, rest) = block.as_chunks::<TABLES>();
    for eight in eights {
        let eight = u64::from_le_bytes(*eight);
        for (at, table) in tables.iter_mut().enumerate() {
            table[usize::from((eight >> (8 * at)) as u8)] += 1;
        }
    }
    let mut counts = [0; 256];
    for table in &tables {
        for (count, some) in counts.iter_mut().zip(table) {
            *count += u16::from(*some);
        }
    }
    for byte in rest {
        counts[usize::from(*byte)] += 1;
    }
    counts
}
