//! The work of one worker: it repeatedly gets the next part and sums its blocks.

use rustix::io::Errno;

use super::job::{Allocator, Job};
use super::kernel::{self, Kernel};
use super::list::{Area, Waits};
use super::shared_state::{SharedState, Stop};
use super::source::{Source, is_hole, read_at, read_next};
use super::{Exhausted, P};

/// The maximum size of a part: small enough for a core's own caches, and large enough that the cost of a system call
/// for each part is negligible.
const LARGEST: usize = 256 * 1024;
/// The size of all buffers together, which limits parts if there are many workers. Each buffer has at least
/// [`LEAST_BUFFER`].
const BUFFERS: usize = 4 * 1024 * 1024;
const LEAST_BUFFER: usize = 16 * 1024;
/// Without nodes, this number of blocks is summed together.
const TOGETHER: usize = 16;
/// The minimum number of parts for each worker, so that all workers end at about the same time.
const PARTS: u64 = 4;

/// The task, which is the same for all workers.
pub(super) struct Task<'a> {
    pub(super) source: Source<'a>,
    pub(super) job: Job,
    pub(super) area: Option<&'a Area>,
    pub(super) part: usize,
}

/// Returns the size of parts in bytes: a multiple of the block size.
pub(super) fn part(source: Source<'_>, workers: usize, job: &Job) -> usize {
    let block = job.block;
    let most = (BUFFERS / workers.max(1)).clamp(LEAST_BUFFER.max(block), LARGEST);
    let least = if job.allocator == Allocator::None { (TOGETHER * block).min(most) } else { block };
    let size = match source {
        Source::File { size, .. } => size,
        Source::Memory(bytes) => bytes.len() as u64,
        Source::Stream(_) => return most / block * block,
    };
    let share = usize::try_from(size / (PARTS * workers.max(1) as u64)).unwrap_or(most);
    share.clamp(least, most) / block * block
}

/// Runs a worker from its start to its end. `progress` is called with the number of bytes read. If it returns false, all
/// workers stop.
pub(super) fn work(task: &Task<'_>, state: &SharedState, worker: usize, progress: &mut dyn FnMut(u64) -> bool) {
    let mut report = |bytes: u64| {
        state.progress(worker, bytes);
        if !progress(bytes) {
            state.stop();
        }
    };
    let done = kernel::with(&task.job, task.area, |kernel| {
        let result = parts(task, state, kernel, &mut report);
        let (nodes, lock) = kernel.counts();
        state.conclude(worker, result, nodes, lock);
    });
    if done.is_err() {
        state.conclude(worker, Err(Stop::Exhausted(0)), 0, Waits::default());
    }
}

fn parts(
    task: &Task<'_>,
    state: &SharedState,
    kernel: &mut dyn Kernel,
    report: &mut dyn FnMut(u64),
) -> Result<u64, Stop> {
    let mut buffer = if let Source::Memory(_) = task.source { vec![] } else { vec![0; task.part] };
    let (mut sum, mut bytes) = (0, 0);
    while !state.is_stopped() {
        let Some(part) = next(task, state, &mut buffer)? else { break };
        let blocks = match part.whole {
            Some(whole) => kernel.sum(whole),
            None if part.hole => Ok(part.length as u64 % P),
            None => kernel.sum(&buffer[..part.length]),
        };
        sum = (sum + blocks.map_err(|Exhausted| Stop::Exhausted(part.offset))?) % P;
        bytes += part.length as u64;
        report(bytes);
    }
    Ok(sum)
}

/// A part of the source that was read.
struct Part<'a> {
    offset: u64,
    length: usize,
    /// The bytes, if they are not in the buffer.
    whole: Option<&'a [u8]>,
    /// Whether it is a hole. A block of zeros is a single leaf whose hash is its frequency, so the sum for a hole is
    /// its length.
    hole: bool,
}

/// Reads the next part that no worker has had; none if there is no further part.
fn next<'a>(task: &Task<'a>, state: &SharedState, buffer: &mut [u8]) -> Result<Option<Part<'a>>, Stop> {
    let placed = |size: u64| {
        let offset = state.next_part().saturating_mul(task.part as u64);
        (offset < size).then(|| (offset, (size - offset).min(task.part as u64) as usize))
    };
    match task.source {
        Source::Memory(bytes) => {
            let Some((offset, length)) = placed(bytes.len() as u64) else { return Ok(None) };
            let whole = Some(&bytes[offset as usize..offset as usize + length]);
            Ok(Some(Part { offset, length, whole, hole: false }))
        }
        Source::File { file, size } => {
            let Some((offset, length)) = placed(size) else { return Ok(None) };
            if task.job.allocator == Allocator::None && is_hole(file, offset, length as u64) {
                return Ok(Some(Part { offset, length, whole: None, hole: true }));
            }
            let had = read_at(file, &mut buffer[..length], offset).map_err(unreadable)?;
            if had < length {
                return Err(Stop::Short(offset + had as u64));
            }
            Ok(Some(Part { offset, length, whole: None, hole: false }))
        }
        Source::Stream(file) => {
            let Some(turn) = state.turn() else { return Err(Stop::Unreadable(0, Errno::DEADLK)) };
            let Some(offset) = turn.position() else { return Ok(None) };
            let had = read_next(file, buffer, offset);
            let length = *had.as_ref().unwrap_or(&0);
            turn.moved(offset + length as u64, length < buffer.len());
            had.map_err(unreadable)?;
            Ok((length > 0).then_some(Part { offset, length, whole: None, hole: false }))
        }
    }
}

fn unreadable(failed: (u64, Errno)) -> Stop {
    Stop::Unreadable(failed.0, failed.1)
}
