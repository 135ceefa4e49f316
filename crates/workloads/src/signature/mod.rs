//! The block-Huffman signature of files, with several allocators for the nodes of its trees.
//!
//! Bytes are divided into blocks, usually of [`BLOCK_BYTES`]; the last one may be shorter. A Huffman tree is built for each
//! block. The values that occur are pushed, in ascending order, on a binary heap ordered by frequency. While more than
//! one node remains, the two least are joined. The hash of a block is a number to the base 31, modulo [`P`]. Its digits
//! are the nodes of the tree in pre-order: frequency plus symbol, where an inner node has no symbol. The signature is
//! the sum of the blocks' hashes modulo `P`.
//!
//! The operations of the heap decide ties between equal frequencies, so all implementations must use exactly the same
//! operations. [`fast`] computes the result without nodes. [`Builder`] builds the trees, with nodes from any of several
//! allocators ([`Nodes`]).

mod crew;
mod error;
pub mod fast;
mod heap;
mod job;
mod kernel;
mod list;
mod pool;
#[cfg(test)]
mod reference;
mod shared_state;
mod source;
mod tree;
mod work;

use std::os::fd::BorrowedFd;

use shared_state::SharedState;
use source::{FileState, Source, advise_sequential, is_at_start, set_offset};
use work::{Task, part};

pub use error::SignError;
pub use job::{Allocator, Crew, Job};
pub use list::{Area, BlockPools, FreeList, Waits};
pub use pool::{Malloc, POOL_NODE_BYTES, Pool, Scattered};
pub use shared_state::Sum;
pub use source::made;
pub use tree::{Builder, Exhausted, Nodes};

#[cfg(target_arch = "x86_64")]
pub(crate) use fast::Groups;

/// The modulus of hashes and signatures: a Mersenne prime.
pub const P: u64 = (1 << 31) - 1;

/// The published size of a block in bytes; the last of a file may be smaller.
pub const BLOCK_BYTES: usize = 1024;

/// The maximum size of a block in bytes.
pub const MOST_BLOCK_BYTES: usize = 16 * 1024;

/// The maximum number of nodes in a tree: a leaf for each byte value, and one less to join them.
pub const MOST_NODES: usize = 511;

/// The maximum number of workers: one for each block of 4 MiB.
pub const MOST_WORKERS: u32 = 4096;
/// The number of bytes for which starting a further worker is worthwhile.
const WORTH_A_WORKER: u64 = 256 * 1024;

/// Computes the signature of an open file from its current offset. `progress` is called regularly with the number of
/// bytes read.
///
/// # Errors
/// See [`SignError`]. If the file changes while it is read, the result is an error and never the signature of a mixture
/// of its contents.
pub fn sign_file(file: BorrowedFd<'_>, job: Job, progress: &mut dyn FnMut(u64)) -> Result<Sum, SignError> {
    let progress = &mut |bytes: u64| {
        progress(bytes);
        true
    };
    let before = FileState::of(file)?;
    let summed = if before.is_seekable() && is_at_start(file) {
        advise_sequential(file);
        let summed = sum(Source::File { file, size: before.size }, job, progress);
        set_offset(file, if summed.is_ok() { before.size } else { 0 });
        summed
    } else {
        sum(Source::Stream(file), job, progress)
    };
    let now = FileState::of(file)?;
    let summed = match summed {
        // Some files of the kernel contain less than their size says, and have not changed.
        Err(SignError::Shrunk { .. }) if now == before => sum(Source::Stream(file), job, progress)?,
        other => {
            let sum = other?;
            before.compare(&now, sum.bytes)?;
            sum
        }
    };
    Ok(summed)
}

/// Computes the signature of bytes in memory. `is_cancelled` is called several times a second.
///
/// # Errors
/// Workers cannot be started, there is not enough memory, or `is_cancelled` returned true.
pub fn sign_bytes(bytes: &[u8], job: Job, is_cancelled: &dyn Fn() -> bool) -> Result<Sum, SignError> {
    let mut cancelled = false;
    let sum = sum(Source::Memory(bytes), job, &mut |_| {
        cancelled |= is_cancelled();
        !cancelled
    });
    if cancelled { Err(SignError::Cancelled) } else { sum }
}

/// Returns the number of workers that are worthwhile for a file of this size, at most `cpus`. For a stream of unknown
/// size, it is the maximum.
pub fn worth(bytes: Option<u64>, cpus: u32) -> u32 {
    let most = cpus.clamp(1, MOST_WORKERS);
    bytes.map_or(most, |bytes| u32::try_from(bytes / WORTH_A_WORKER).unwrap_or(most).clamp(1, most))
}

fn sum(source: Source<'_>, job: Job, progress: &mut dyn FnMut(u64) -> bool) -> Result<Sum, SignError> {
    let workers = job.crew.workers().clamp(1, MOST_WORKERS) as usize;
    let state = SharedState::new(workers).map_err(SignError::NotStarted)?;
    let area = match job.allocator {
        Allocator::Global => Some(Area::new(workers)),
        Allocator::PoolPerBlock => Some(Area::of_pools(workers, job.pool)),
        _ => None,
    };
    let area = area.transpose().map_err(SignError::NotStarted)?;
    let part = part(source, workers, &job);
    let task = Task { source, job, area: area.as_ref(), part };
    crew::run_workers(&task, &state, job.crew, progress)?;
    state.sum(if let Source::File { size, .. } = source { size } else { 0 })
}
