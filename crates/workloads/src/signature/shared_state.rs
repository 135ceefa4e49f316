//! The state shared by workers: the next part, the progress of each worker, and the results. It is in memory that
//! processes share, so that threads and processes work in the same way.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

use rustix::io::Errno;
use steady_model::Nanos;

use super::error::SignError;
use super::kernel::together;
use super::list::Waits;
use crate::raw::{ROW, Shared, Taken};

/// The rows before those of the workers: the next part and the stream's position, and whether to stop.
const COMMON: usize = 2;

// The fields of a worker's row.
const SUM: usize = 0;
const BYTES: usize = 1;
const NODES: usize = 2;
const ACQUISITIONS: usize = 3;
const CONTENDED: usize = 4;
const WAITED: usize = 5;
const END: usize = 6;
const OFFSET: usize = 7;

/// How a worker ended. For an error of the system, its number is above the lowest byte.
const DONE: u64 = 1;
const UNREADABLE: u64 = 2;
const SHORT: u64 = 3;
const EXHAUSTED: u64 = 4;

/// Why a worker stopped early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Unreadable(u64, Errno),
    /// The file ended at this offset, before its size.
    Short(u64),
    Exhausted(u64),
}

/// The shared state of the workers of one signature.
pub(super) struct SharedState {
    shared: Shared,
    workers: usize,
}

/// The result of all workers together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// The signature of the file.
    pub signature: u64,
    /// The number of bytes read.
    pub bytes: u64,
    /// The number of workers that read a part. Of a short stream, fewer read one than were started.
    pub readers: u32,
    /// The number of allocated nodes.
    pub allocations: u64,
    /// The use of the allocator's lock.
    pub lock: Waits,
}

impl SharedState {
    pub(super) fn new(workers: usize) -> io::Result<Self> {
        Ok(SharedState { shared: Shared::new(1, COMMON + workers, 0)?, workers })
    }

    /// Returns the number of the next part, which no worker has had.
    pub(super) fn next_part(&self) -> u64 {
        self.shared.row(0)[0].fetch_add(1, Relaxed)
    }

    /// Waits for the turn to read from the stream.
    pub(super) fn turn(&self) -> Option<Turn<'_>> {
        Some(Turn { _taken: self.shared.lock(0)?, state: self.shared.row(0) })
    }

    /// Makes all workers stop.
    pub(super) fn stop(&self) {
        self.shared.row(1)[0].store(1, Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.shared.row(1)[0].load(Relaxed) != 0
    }

    fn row(&self, worker: usize) -> &[AtomicU64; ROW] {
        self.shared.row(COMMON + worker)
    }

    /// Records how many bytes a worker has read.
    pub(super) fn progress(&self, worker: usize, bytes: u64) {
        self.row(worker)[BYTES].store(bytes, Relaxed);
    }

    /// Returns how many bytes all workers have read.
    pub(super) fn bytes(&self) -> u64 {
        (0..self.workers).map(|worker| self.row(worker)[BYTES].load(Relaxed)).sum()
    }

    /// Records the result of a worker at its end.
    pub(super) fn conclude(&self, worker: usize, result: Result<u64, Stop>, nodes: u64, lock: Waits) {
        let row = self.row(worker);
        let numbers =
            [(NODES, nodes), (ACQUISITIONS, lock.acquisitions), (CONTENDED, lock.contended), (WAITED, lock.waited.0)];
        numbers.into_iter().for_each(|(at, number)| row[at].store(number, Relaxed));
        let (end, offset) = match result {
            Ok(sum) => {
                row[SUM].store(sum, Relaxed);
                (DONE, 0)
            }
            Err(Stop::Unreadable(offset, error)) => (UNREADABLE | (error.raw_os_error() as u64) << 8, offset),
            Err(Stop::Short(offset)) => (SHORT, offset),
            Err(Stop::Exhausted(offset)) => (EXHAUSTED, offset),
        };
        if end != DONE {
            self.stop();
        }
        row[OFFSET].store(offset, Relaxed);
        row[END].store(end, SeqCst);
    }

    /// Returns the result of all workers after their end. If several stopped early, the error has the smallest offset.
    pub(super) fn sum(&self, size: u64) -> Result<Sum, SignError> {
        let mut sum = Sum::default();
        let mut stopped: Option<(u64, SignError)> = None;
        for worker in 0..self.workers {
            let row = self.row(worker);
            let number = |at: usize| row[at].load(SeqCst);
            let offset = number(OFFSET);
            let error = match number(END) & 0xFF {
                DONE => None,
                UNREADABLE => {
                    let error = io::Error::from_raw_os_error((number(END) >> 8) as i32);
                    Some(SignError::Unreadable { offset, error })
                }
                SHORT => Some(SignError::Shrunk { offset, size }),
                EXHAUSTED => Some(SignError::Exhausted { offset }),
                _ => return Err(SignError::Lost("ended before its work was done".to_owned())),
            };
            match error {
                Some(error) if stopped.as_ref().is_none_or(|(least, _)| offset < *least) => {
                    stopped = Some((offset, error))
                }
                _ => {}
            }
            let lock = Waits {
                acquisitions: number(ACQUISITIONS),
                contended: number(CONTENDED),
                waited: Nanos(number(WAITED)),
            };
            sum.signature = (sum.signature + number(SUM)) % super::P;
            sum.bytes += number(BYTES);
            sum.readers += u32::from(number(BYTES) > 0);
            sum.allocations += number(NODES);
            sum.lock = together(sum.lock, lock);
        }
        stopped.map_or(Ok(sum), |(_, error)| Err(error))
    }
}

/// A worker's turn to read from the stream. It ends when dropped.
pub(super) struct Turn<'a> {
    _taken: Taken<'a>,
    state: &'a [AtomicU64; ROW],
}

impl Turn<'_> {
    /// Returns the position of the stream, or none at its end.
    pub(super) fn position(&self) -> Option<u64> {
        (self.state[2].load(Relaxed) == 0).then(|| self.state[1].load(Relaxed))
    }

    /// Records the new position of the stream, and whether it has ended.
    pub(super) fn moved(&self, position: u64, ended: bool) {
        self.state[1].store(position, Relaxed);
        self.state[2].store(u64::from(ended), Relaxed);
    }
}
