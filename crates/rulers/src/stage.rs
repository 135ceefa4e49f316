//! Rulers and neighbours on the machine itself.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use steady_linux::activity::Snapshot;
use steady_linux::{Root, clock, procfs};
use steady_model::{Activity, Bytes, Nanos, Reading, Resource};

use super::neighbours::{Neighbours, Order};
use super::{Neighbour, RulerReading, Rulers, Stage, Stop};
use steady_process::channel::timespec;

/// What a streaming neighbour goes over where there is room: more than its share of any last level of cache.
const STREAMED: Bytes = Bytes(256 << 20);
/// Neighbours leave at least half of the memory that is available to others.
const MEMORY_PART: u64 = 2;
/// Streaming through less than this would not leave the caches.
const LEAST_STREAMED: Bytes = Bytes(16 << 20);
/// How long neighbours are at work before anything is read beside them.
const SETTLING: Nanos = Nanos(100_000_000);
/// How long nothing is read between two rounds.
const BETWEEN_ROUNDS: Nanos = Nanos(30_000_000);

/// The machine.
pub struct Live {
    rulers: Rulers,
    kind: Option<Neighbour>,
    cpus: Option<Vec<usize>>,
    interrupt: Option<OwnedFd>,
    neighbours: Option<Neighbours>,
    begun: Snapshot,
    epoch: Nanos,
}

impl Live {
    /// Reads `rulers` beside neighbours of a kind that keep to `cpus`, until `interrupt` becomes readable.
    pub fn new(rulers: Rulers, kind: Option<Neighbour>, cpus: Option<Vec<usize>>, interrupt: Option<OwnedFd>) -> Self {
        let (begun, epoch) = (Snapshot::take(&Root::default()), clock::monotonic());
        Live { rulers, kind, cpus, interrupt, neighbours: None, begun, epoch }
    }

    /// The rulers again, the neighbours ended.
    pub fn into_rulers(self) -> Rulers {
        self.rulers
    }

    /// Lets some time pass in which nothing must happen.
    fn pass(&mut self, time: Nanos) -> Result<(), Stop> {
        let interrupt = self.interrupt.as_ref().map(AsFd::as_fd);
        match (&mut self.neighbours, interrupt) {
            (Some(neighbours), interrupt) => neighbours.pass(interrupt, Some(time)),
            (None, Some(interrupt)) => alone(interrupt, time),
            (None, None) => {
                thread::sleep(time.into());
                Ok(())
            }
        }
    }

    fn start(&mut self, kind: Neighbour, count: u32) -> Result<(), Stop> {
        let memory = if kind == Neighbour::Stream { streamed(count)? } else { Bytes(0) };
        let order = Order { kind, count, memory, cpus: self.cpus.clone() };
        self.neighbours = Some(Neighbours::start(&order, self.interrupt.as_ref().map(AsFd::as_fd))?);
        Ok(())
    }
}

/// Lets some time pass, unless the user asks to stop.
fn alone(interrupt: BorrowedFd<'_>, time: Nanos) -> Result<(), Stop> {
    let mut watched = [PollFd::from_borrowed_fd(interrupt, PollFlags::IN)];
    loop {
        match poll(&mut watched, Some(&timespec(time))) {
            Ok(0) => return Ok(()),
            Ok(_) => return Err(Stop::Interrupted),
            Err(Errno::INTR) => {}
            Err(error) => return Err(Stop::Lost(error.to_string())),
        }
    }
}

/// How much memory each of so many neighbours streams through.
fn streamed(count: u32) -> Result<Bytes, Stop> {
    // Where it is not known how much there is, the system refuses what is too much.
    let Ok(available) = procfs::memory_available(&Root::default()) else { return Ok(STREAMED) };
    let each = Bytes(available.0 / MEMORY_PART / u64::from(count)).min(STREAMED);
    if each < LEAST_STREAMED {
        return Err(Stop::Lost(format!("there is not enough memory for {count} of them to stream through")));
    }
    Ok(each)
}

impl Stage for Live {
    fn now(&self) -> Nanos {
        clock::monotonic() - self.epoch
    }

    fn neighbours(&mut self, count: u32) -> Result<(), Stop> {
        self.neighbours = None;
        if let Some(kind) = self.kind.filter(|_| count > 0) {
            self.start(kind, count)?;
        }
        self.pass(SETTLING)?;
        self.begun = Snapshot::take(&Root::default());
        Ok(())
    }

    fn read(&mut self, resource: Resource) -> Reading<RulerReading> {
        self.rulers.read(resource)
    }

    fn best(&self, resource: Resource) -> Option<f64> {
        self.rulers.best_of(resource)
    }

    fn rest(&mut self) -> Result<(), Stop> {
        self.pass(BETWEEN_ROUNDS)
    }

    fn activity(&self) -> Activity {
        self.begun.until(&Snapshot::take(&Root::default()))
    }
}
