//! The block-Huffman signature of bytes.
//!
//! Bytes are cut into blocks of [`BLOCK_BYTES`]; the last may be shorter. Of each block a Huffman tree is made: the values
//! that occur are pushed, in ascending order, on a binary heap by how often they occur; while more than one node is left, the
//! two least are joined. The hash of a block is the tree in pre-order, taken as a number to the base 31 modulo [`P`] whose
//! digits are frequency plus symbol (an inner node has no symbol). The signature is the sum of the blocks' hashes modulo `P`.
//!
//! Among equal frequencies the heap's own steps decide, so all ways to the number have to take the very same ones.

pub mod fast;

#[cfg(target_arch = "x86_64")]
pub(crate) use fast::Groups;

/// The modulus of hashes and signatures: a Mersenne prime.
pub const P: u64 = (1 << 31) - 1;

/// The size of a block in bytes; the last of a file may be smaller.
pub const BLOCK_BYTES: usize = 1024;
