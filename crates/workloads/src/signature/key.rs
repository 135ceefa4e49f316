//! What a heap holds: a frequency in the upper half of 32 bits, the number of a node in the lower.

use super::P;

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
