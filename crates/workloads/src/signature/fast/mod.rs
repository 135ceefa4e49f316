//! The signature without its trees: the number needs their shape and their frequencies, no node of them.
//!
//! A subtree's digits are those of its root, its left and its right side in this order, so its value is
//! `root * 31^(left + right) + left's value * 31^right + right's value`: known when two nodes are joined. What the heap holds is
//! a frequency with the number of a node beside it, and a node is its value and the power of 31 that belongs to its size.
//!
//! Heaps of several blocks are worked on at once, and nothing is decided by a branch: 32 at a time where the CPU has
//! AVX-512, else the leaves of eight and then one block after the other.

mod portable;
#[cfg(target_arch = "x86_64")]
mod wide;

use std::fmt;

use portable::Portable;
#[cfg(target_arch = "x86_64")]
pub(crate) use wide::Groups;
#[cfg(target_arch = "x86_64")]
use wide::Wide;

/// A boxed array of copies that was never on the stack: each of the hundreds of threads that a signature may have would keep
/// that much of its stack.
fn boxed<T: Copy + fmt::Debug, const COUNT: usize>(item: T) -> Box<[T; COUNT]> {
    vec![item; COUNT].into_boxed_slice().try_into().expect("the vector has COUNT items")
}

/// What one worker needs to take signatures: some 150 KiB.
#[derive(Debug)]
pub struct Blocks(Way);

#[derive(Debug)]
enum Way {
    #[cfg(target_arch = "x86_64")]
    Wide(Box<Wide>),
    Portable(Box<Portable>),
}

impl Blocks {
    /// The fastest way that this CPU has.
    pub fn new() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = Wide::new() {
            return Blocks(Way::Wide(wide));
        }
        Self::portable()
    }

    /// The way that every CPU has.
    pub fn portable() -> Self {
        Blocks(Way::Portable(Portable::new()))
    }

    /// The sum, modulo [`P`](crate::signature::P), of the hashes of the blocks of `bytes`. It is fastest for 32 KiB or more at once.
    pub fn sum(&mut self, bytes: &[u8]) -> u64 {
        match &mut self.0 {
            #[cfg(target_arch = "x86_64")]
            Way::Wide(wide) => wide.sum(bytes),
            Way::Portable(portable) => portable.sum(bytes),
        }
    }
}

impl Default for Blocks {
    fn default() -> Self {
        Self::new()
    }
}
