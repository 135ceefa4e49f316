//! The block-Huffman signature of files, from beginning to end, and the ways to have the nodes of its trees.
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
mod source;
#[cfg(test)]
mod transcribed;
mod tree;
mod work;

use std::os::fd::BorrowedFd;

use board::Board;
use source::{Look, Source, announce, stand_at, stands_at_start};
use work::{Task, part};

pub use board::Sum;
pub use error::SignError;
pub use job::{Allocator, Crew, Job};
pub use list::{Area, FreeList, Waits};
pub use pool::{Malloc, POOL_NODE_BYTES, Pool, Scattered};
pub use source::made;
pub use tree::{Builder, Exhausted, Nodes};

#[cfg(target_arch = "x86_64")]
pub(crate) use fast::Groups;

/// The modulus of hashes and signatures: a Mersenne prime.
pub const P: u64 = (1 << 31) - 1;

/// The size of a block in bytes; the last of a file may be smaller.
pub const BLOCK_BYTES: usize = 1024;

/// The most nodes of a tree: a leaf for each value of a byte, and one less that joins two.
pub const MOST_NODES: usize = 511;

/// The most workers there may be: what each needs is their part of what all may have.
pub const MOST_WORKERS: u32 = 256;
/// A worker more is worth its start from so many bytes on.
const WORTH_A_WORKER: u64 = 256 * 1024;

/// The signature of an open file, from where it stands on. `progress` hears
/// now and then how much was read.
///
/// # Errors
/// See [`SignError`]: whatever happens to the file meanwhile, no signature is made of what was never in it together.
pub fn sign_file(file: BorrowedFd<'_>, job: Job, progress: &mut dyn FnMut(u64)) -> Result<Sum, SignError> {
    let before = Look::at(file)?;
    let summed = if before.has_places() && stands_at_start(file) {
        announce(file);
        let summed = sum(Source::File { file, size: before.size }, job, progress);
        stand_at(file, if summed.is_ok() { before.size } else { 0 });
        summed
    } else {
        sum(Source::Stream(file), job, progress)
    };
    let now = Look::at(file)?;
    let summed = match summed {
        // Some files of the kernel's have less in them than their sizes say, and did not change.
        Err(SignError::Shrunk { .. }) if now == before => sum(Source::Stream(file), job, progress)?,
        other => {
            let sum = other?;
            before.compare(&now, sum.bytes)?;
            sum
        }
    };
    Ok(summed)
}

/// The signature of bytes in memory.
///
/// # Errors
/// Where workers cannot be had, or have no memory.
pub fn sign_bytes(bytes: &[u8], job: Job) -> Result<Sum, SignError> {
    sum(Source::Memory(bytes), job, &mut |_| {})
}

/// How many workers a file of so many bytes is worth, of those that there could be; a stream is worth them all.
pub fn worth(bytes: Option<u64>, cpus: u32) -> u32 {
    let most = cpus.clamp(1, MOST_WORKERS);
    bytes.map_or(most, |bytes| u32::try_from(bytes / WORTH_A_WORKER).unwrap_or(most).clamp(1, most))
}

fn sum(source: Source<'_>, job: Job, progress: &mut dyn FnMut(u64)) -> Result<Sum, SignError> {
    let workers = job.crew.workers().clamp(1, MOST_WORKERS) as usize;
    let board = Board::new(workers).map_err(SignError::NotStarted)?;
    let shares = job.allocator == Allocator::Global;
    let area = shares.then(|| Area::new(workers)).transpose().map_err(SignError::NotStarted)?;
    let part = part(source, workers, job.allocator);
    let task = Task { source, allocator: job.allocator, pool: job.pool, area: area.as_ref(), part };
    crew::put_to_work(&task, &board, job.crew, progress)?;
    board.sum(if let Source::File { size, .. } = source { size } else { 0 })
}
