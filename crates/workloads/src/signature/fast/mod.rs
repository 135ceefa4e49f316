//! The signature without nodes: the result needs only the shape of the trees and their frequencies.
//!
//! The digits of a subtree are those of its root, its left and its right subtree, in this order. Its value is therefore
//! `root * 31^(left + right) + value of left * 31^right + value of right`, and is known when two nodes are joined. The
//! heap contains a frequency and the number of a node. A node is its value, and the power of 31 that belongs to its
//! size.
//!
//! Heaps of several blocks are processed in parallel and without branches. With AVX-512, 32 blocks are processed in
//! lockstep. Otherwise, the leaves of eight blocks are pushed in lockstep, and then the heaps are processed in turn.

mod portable;
#[cfg(target_arch = "x86_64")]
mod wide;

use std::fmt;

use portable::Portable;
#[cfg(target_arch = "x86_64")]
pub(crate) use wide::Groups;
#[cfg(target_arch = "x86_64")]
use wide::Wide;

/// Allocates a boxed array of copies without placing it on the stack, because hundreds of worker threads have small
/// stacks.
fn boxed<T: Copy + fmt::Debug, const COUNT: usize>(item: T) -> Box<[T; COUNT]> {
    vec![item; COUNT].into_boxed_slice().try_into().expect("the vector has COUNT items")
}

/// The state of one worker that computes signatures without nodes: about 150 KiB.
#[derive(Debug)]
pub struct Blocks {
    way: Way,
    /// Size of a block, in bytes.
    block: usize,
}

#[derive(Debug)]
enum Way {
    #[cfg(target_arch = "x86_64")]
    Wide(Box<Wide>),
    Portable(Box<Portable>),
}

impl Blocks {
    /// Creates the fastest implementation that this CPU supports, for blocks of `block` bytes.
    pub fn new(block: usize) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = Wide::new() {
            return Blocks { way: Way::Wide(wide), block };
        }
        Self::portable(block)
    }

    /// Creates the implementation that every CPU supports.
    pub fn portable(block: usize) -> Self {
        Blocks { way: Way::Portable(Portable::new()), block }
    }

    /// Returns the sum, modulo [`P`](crate::signature::P), of the hashes of the blocks of `bytes`. It is fastest for 32
    /// blocks or more per call.
    pub fn sum(&mut self, bytes: &[u8]) -> u64 {
        match &mut self.way {
            #[cfg(target_arch = "x86_64")]
            Way::Wide(wide) => wide.sum(bytes, self.block),
            Way::Portable(portable) => portable.sum(bytes, self.block),
        }
    }
}
