//! What workers share: which part is next, who has read how far, and what came of it. It lies in memory that processes share,
//! so that threads and processes work alike.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

use rustix::io::Errno;
use steady_model::Nanos;

use super::error::SignError;
use super::kernel::together;
use super::list::Waits;
use crate::raw::{ROW, Shared, Taken};

/// Rows before those of the workers: what is handed out, and whether to stop.
const COMMON: usize = 2;

// A worker's row.
const SUM: usize = 0;
const BYTES: usize = 1;
const MADE: usize = 2;
const ACQUISITIONS: usize = 3;
const CONTENDED: usize = 4;
const WAITED: usize = 5;
const END: usize = 6;
const OFFSET: usize = 7;

/// How a worker ended. An error of the system has its number above the lowest byte.
const DONE: u64 = 1;
const UNREADABLE: u64 = 2;
const SHORT: u64 = 3;
const EXHAUSTED: u64 = 4;

/// Why a worker stopped before the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Unreadable(u64, Errno),
    /// The file ended here, before its size.
    Short(u64),
    Exhausted(u64),
}

/// The board.
pub(super) struct Board {
    shared: Shared,
    workers: usize,
}

/// What all workers together came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// The signature.
    pub signature: u64,
    /// How much was read.
    pub bytes: u64,
    /// How many nodes were allocated.
    pub allocations: u64,
    /// What the allocator's lock came to.
    pub lock: Waits,
}

impl Board {
    pub(super) fn new(workers: usize) -> io::Result<Self> {
        Ok(Board { shared: Shared::new(1, COMMON + workers, 0)?, workers })
    }

    /// The number of the next part that nobody has taken.
    pub(super) fn next_part(&self) -> u64 {
        self.shared.row(0)[0].fetch_add(1, Relaxed)
    }

    /// Waits for one's turn to read from the stream.
    pub(super) fn turn(&self) -> Option<Turn<'_>> {
        Some(Turn { _taken: self.shared.lock(0)?, state: self.shared.row(0) })
    }

    /// Has everybody stop.
    pub(super) fn stop(&self) {
        self.shared.row(1)[0].store(1, Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.shared.row(1)[0].load(Relaxed) != 0
    }

    fn row(&self, worker: usize) -> &[AtomicU64; ROW] {
        self.shared.row(COMMON + worker)
    }

    /// A worker has read so much.
    pub(super) fn progress(&self, worker: usize, bytes: u64) {
        self.row(worker)[BYTES].store(bytes, Relaxed);
    }

    /// How much all have read.
    pub(super) fn bytes(&self) -> u64 {
        (0..self.workers).map(|worker| self.row(worker)[BYTES].load(Relaxed)).sum()
    }

    /// A worker says in the end what it came to.
    pub(super) fn conclude(&self, worker: usize, came_to: Result<u64, Stop>, made: u64, lock: Waits) {
        let row = self.row(worker);
        let numbers =
            [(MADE, made), (ACQUISITIONS, lock.acquisitions), (CONTENDED, lock.contended), (WAITED, lock.waited.0)];
        numbers.into_iter().for_each(|(at, number)| row[at].store(number, Relaxed));
        let (end, offset) = match came_to {
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

    /// What all came to, once all are gone. Of several that stopped, the one that came least far is told.
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
                _ => return Err(SignError::Lost("ended before it was done".to_owned())),
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
            sum.allocations += number(MADE);
            sum.lock = together(sum.lock, lock);
        }
        stopped.map_or(Ok(sum), |(_, error)| Err(error))
    }
}

/// One's turn to read from the stream; over when dropped.
pub(super) struct Turn<'a> {
    _taken: Taken<'a>,
    state: &'a [AtomicU64; ROW],
}

impl Turn<'_> {
    /// How far the stream was read; nothing once it has ended.
    pub(super) fn position(&self) -> Option<u64> {
        (self.state[2].load(Relaxed) == 0).then(|| self.state[1].load(Relaxed))
    }

    /// It was read to here, and has ended or not.
    pub(super) fn moved(&self, position: u64, ended: bool) {
        self.state[1].store(position, Relaxed);
        self.state[2].store(u64::from(ended), Relaxed);
    }
}
