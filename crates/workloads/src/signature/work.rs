//! What a worker does: it takes part after part, and sums the blocks of each.

use rustix::io::Errno;

use super::board::{Board, Stop};
use super::job::Allocator;
use super::kernel::{self, Kernel};
use super::list::{Area, Waits};
use super::source::{Source, is_hole, read_at, read_next};
use super::{BLOCK_BYTES, Exhausted, P};

/// Parts are small enough for the caches that a CPU has to itself, and large enough for a system call each to be nothing.
const LARGEST: usize = 256 * 1024;
/// With many workers, parts are smaller: all buffers together have this much, and each at least [`LEAST_BUFFER`].
const BUFFERS: usize = 4 * 1024 * 1024;
const LEAST_BUFFER: usize = TOGETHER;
/// Without nodes several blocks are summed at a time.
const TOGETHER: usize = 16 * BLOCK_BYTES;
/// Parts for each worker, so that all have done at about the same time.
const PARTS: u64 = 4;

/// What is to be done, the same for all workers.
pub(super) struct Task<'a> {
    pub(super) source: Source<'a>,
    pub(super) allocator: Allocator,
    pub(super) pool: usize,
    pub(super) area: Option<&'a Area>,
    pub(super) part: usize,
}

/// The size of parts: a number of whole blocks.
pub(super) fn part(source: Source<'_>, workers: usize, allocator: Allocator) -> usize {
    let most = (BUFFERS / workers.max(1)).clamp(LEAST_BUFFER, LARGEST);
    let least = if allocator == Allocator::None { TOGETHER } else { BLOCK_BYTES };
    let size = match source {
        Source::File { size, .. } => size,
        Source::Memory(bytes) => bytes.len() as u64,
        Source::Stream(_) => return most / BLOCK_BYTES * BLOCK_BYTES,
    };
    let share = usize::try_from(size / (PARTS * workers.max(1) as u64)).unwrap_or(most);
    share.clamp(least, most) / BLOCK_BYTES * BLOCK_BYTES
}

/// A worker's whole life; `progress` hears how much it has read.
pub(super) fn work(task: &Task<'_>, board: &Board, worker: usize, progress: &mut dyn FnMut(u64)) {
    let mut told = |bytes: u64| {
        board.progress(worker, bytes);
        progress(bytes);
    };
    let done = kernel::with(task.allocator, task.pool, task.area, |kernel| {
        let came_to = parts(task, board, kernel, &mut told);
        let (made, lock) = kernel.counts();
        board.conclude(worker, came_to, made, lock);
    });
    if done.is_err() {
        board.conclude(worker, Err(Stop::Exhausted(0)), 0, Waits::default());
    }
}

fn parts(task: &Task<'_>, board: &Board, kernel: &mut dyn Kernel, told: &mut dyn FnMut(u64)) -> Result<u64, Stop> {
    let mut buffer = if let Source::Memory(_) = task.source { vec![] } else { vec![0; task.part] };
    let (mut sum, mut bytes) = (0, 0);
    while !board.is_stopped() {
        let Some(part) = next(task, board, &mut buffer)? else { break };
        let blocks = match part.whole {
            Some(whole) => kernel.sum(whole),
            None if part.hole => Ok(part.length as u64 % P),
            None => kernel.sum(&buffer[..part.length]),
        };
        sum = (sum + blocks.map_err(|Exhausted| Stop::Exhausted(part.offset))?) % P;
        bytes += part.length as u64;
        told(bytes);
    }
    Ok(sum)
}

/// A part that was read.
struct Part<'a> {
    offset: u64,
    length: usize,
    /// Its bytes, where they are not in the buffer.
    whole: Option<&'a [u8]>,
    /// Whether it is a hole: a block of zeros is a lone leaf, whose hash is its frequency, so that of all is their length.
    hole: bool,
}

/// The next part that nobody has had; nothing where there is none.
fn next<'a>(task: &Task<'a>, board: &Board, buffer: &mut [u8]) -> Result<Option<Part<'a>>, Stop> {
    let placed = |size: u64| {
        let offset = board.next_part().saturating_mul(task.part as u64);
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
            if task.allocator == Allocator::None && is_hole(file, offset, length as u64) {
                return Ok(Some(Part { offset, length, whole: None, hole: true }));
            }
            let had = read_at(file, &mut buffer[..length], offset).map_err(unreadable)?;
            if had < length {
                return Err(Stop::Short(offset + had as u64));
            }
            Ok(Some(Part { offset, length, whole: None, hole: false }))
        }
        Source::Stream(file) => {
            let Some(turn) = board.turn() else { return Err(Stop::Unreadable(0, Errno::DEADLK)) };
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
