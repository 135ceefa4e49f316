//! The block-Huffman signature of files, and the ways to have the nodes of its trees.
//!
//! Bytes are cut into blocks of [`BLOCK_BYTES`]; the last may be shorter. Of each block a Huffman tree is made: the values
//! that occur are pushed, in ascending order, on a binary heap by how often they occur; while more than one node is left, the
//! two least are joined. The hash of a block is the tree in pre-order, taken as a number to the base 31 modulo [`P`] whose
//! digits are frequency plus symbol (an inner node has no symbol). The signature is the sum of the blocks' hashes modulo `P`.
//!
//! Among equal frequencies the heap's own steps decide, so all ways to the number have to take the very same ones. [`fast`] gets
//! there without a node; [`Builder`] really builds the trees, of nodes from any of several allocators ([`Nodes`]).

mod board;
mod crew;
mod error;
pub mod fast;
mod heap;
mod job;
mod kernel;
mod list;
mod pool;
mod sign;
mod source;
#[cfg(test)]
mod transcribed;
mod tree;
mod work;

pub use board::Sum;
pub use error::SignError;
#[cfg(target_arch = "x86_64")]
pub(crate) use fast::Groups;
pub use job::{Allocator, Crew, Job};
pub use list::{Area, FreeList, Waits};
pub use pool::{Malloc, POOL_NODE_BYTES, Pool, Scattered};
pub use sign::{MOST_WORKERS, sign_bytes, sign_file, worth};
pub use source::made;
pub use tree::{Builder, Exhausted, Nodes};

/// The modulus of hashes and signatures: a Mersenne prime.
pub const P: u64 = (1 << 31) - 1;

/// The size of a block in bytes; the last of a file may be smaller.
pub const BLOCK_BYTES: usize = 1024;

/// The most nodes of a tree: a leaf for each value of a byte, and one less that joins two.
pub const MOST_NODES: usize = 511;
