//! Rulers and neighbours on the machine itself: neighbours are started together, and ended together.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Stdio;
use std::{io, thread};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use steady_linux::activity::Snapshot;
use steady_linux::{Root, clock, procfs};
use steady_model::{Activity, Bytes, Nanos, Reading, Resource};
use steady_process::channel::{Channel, Woken, timespec};

use super::{Neighbour, RulerReading, Rulers, Stage, Stop};

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

/// The first argument that makes `steady` the process that starts neighbours and ends them.
pub const NEIGHBOURS: &str = "__neighbours";

/// The neighbours that are wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    /// What they do.
    pub(crate) kind: Neighbour,
    /// How many.
    pub(crate) count: u32,
    /// How much memory each of them streams through, if that is what they do.
    pub(crate) memory: Bytes,
    /// The CPUs to keep to, if not all.
    pub(crate) cpus: Option<Vec<usize>>,
}

/// What is answered: `Ready` once all of them are at work, `Failed` when something is wrong, then or later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    Ready,
    Failed(String),
}

/// Neighbours, each a process of its own. Dropping this ends them; so does the end of this process, however it comes.
pub(crate) struct Neighbours(Channel);

impl Neighbours {
    /// Starts neighbours, and waits until all of them are at work or `interrupt` becomes readable.
    ///
    /// # Errors
    /// [`Stop::Lost`] with what the system says: no more processes, no more memory.
    pub(crate) fn start(order: &Order, interrupt: Option<BorrowedFd<'_>>) -> Result<Self, Stop> {
        let mut channel = Channel::start(NEIGHBOURS, Stdio::null()).map_err(lost)?;
        channel.say(order).map_err(lost)?;
        let mut neighbours = Neighbours(channel);
        neighbours.pass(interrupt, None)?;
        Ok(neighbours)
    }

    /// Lets time pass: all of `patience`, or where there is none until they say that they are at work.
    ///
    /// # Errors
    /// [`Stop::Lost`] where one of them has ended, [`Stop::Interrupted`] as soon as `interrupt` becomes readable.
    pub(crate) fn pass(&mut self, interrupt: Option<BorrowedFd<'_>>, patience: Option<Nanos>) -> Result<(), Stop> {
        match self.0.wait(interrupt, patience).map_err(lost)? {
            Woken::TimedOut => Ok(()),
            Woken::Interrupted => Err(Stop::Interrupted),
            Woken::Readable => match self.0.listen().map_err(lost)? {
                Reply::Ready => Ok(()),
                Reply::Failed(why) => Err(Stop::Lost(why)),
            },
        }
    }
}

fn lost(error: io::Error) -> Stop {
    Stop::Lost(format!("the process that starts the neighbours: {error}"))
}
