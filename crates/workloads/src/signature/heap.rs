//! The parts that determine the shape of a tree: the counts of byte values in a block, keys of a frequency and a node
//! number, and a binary min-heap of keys, whose form decides ties.

use super::{MOST_BLOCK_BYTES, P};

/// A heap. Positions count from one, so that the children of `i` are at `2 * i` and `2 * i + 1`. The array is twice as
/// long as a heap can become, so that children always exist. Unused positions contain [`NOTHING`].
pub(super) type Heap = [u32; 512];

/// A heap without keys.
pub(super) const EMPTY: Heap = [NOTHING; 512];

/// Removes the least key from a heap with `held` keys. The last key takes its place and sinks.
#[inline(always)]
pub(super) fn pop(heap: &mut Heap, held: usize) -> u32 {
    let (least, last) = (heap[1], heap[held & 511]);
    heap[held & 511] = NOTHING;
    // With a constant number of levels, the compiler can unroll the loop.
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

/// Lets a key sink from the top. While a child is less, the smaller child moves up, the left one if they are equal.
/// Below its final position, keys are rewritten to where they were already, which avoids branches.
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

/// Appends a key to a heap, which then contains `at` keys, and lets it rise.
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

/// Inserts a key on its path from the top down: above all keys that are not less, which are carried down.
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

/// The key at unused positions, greater than every frequency.
pub(super) const NOTHING: u32 = 0x7FFF_FFFF;

/// The bits of a key that contain the frequency.
pub(super) const FREQUENCY: u32 = 0xFFFF_0000;

/// Inner nodes have numbers below this. The number of a leaf is this plus its byte value.
pub(super) const LEAVES: u32 = 256;

/// The bits of a key that contain the node number.
pub(super) const NODE: u32 = 2 * LEAVES - 1;

/// Subtracts a multiple of P. The result is below 2^31 for every number below 2^62, and P itself may represent zero.
#[inline(always)]
pub(super) fn reduced(number: u64) -> u64 {
    let once = (number & P) + (number >> 31);
    (once & P) + (once >> 31)
}

/// Combines a frequency and a node number into a key.
#[inline(always)]
pub(super) fn key(frequency: u32, node: u32) -> u32 {
    frequency << 16 | node
}

/// The number of tables for counting. Consecutive bytes are counted in different tables, which avoids waiting for the
/// previous store. No table can overflow, because it counts 128 of [`COUNTED`] bytes.
const TABLES: usize = 8;
/// The number of bytes after which the tables are added up.
const COUNTED: usize = 1024;

const _: () = assert!(COUNTED / TABLES <= u8::MAX as usize);
// The frequency of a block's only value is below that of an unused position.
const _: () = assert!((MOST_BLOCK_BYTES as u32) < NOTHING >> 16);

/// The number of occurrences of each of the 256 byte values.
pub(super) type Counts = [u16; 256];

/// Counts the bytes of a block of at most [`MOST_BLOCK_BYTES`].
#[inline]
pub(super) fn count(block: &[u8]) -> Counts {
    if block.len() <= COUNTED {
        return count_some(block);
    }
    let mut counts = [0; 256];
    for part in block.chunks(COUNTED) {
        for (count, some) in counts.iter_mut().zip(count_some(part)) {
            *count += some;
        }
    }
    counts
}

/// Counts at most [`COUNTED`] bytes.
#[inline]
fn count_some(block: &[u8]) -> Counts {
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
