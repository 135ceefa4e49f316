//! Rulers and neighbours on the real machine. Neighbours start and end together.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Stdio;
use std::{io, thread};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use steady_linux::activity::KernelCounters;
use steady_linux::{Root, clock, procfs};
use steady_model::{Activity, Bytes, Nanos, Reading, Resource};
use steady_process::channel::{Channel, Woken, timespec};

use super::{Neighbour, RulerReading, Rulers, Stage, Stop};

/// Memory that a streaming neighbour walks if there is room: more than its share of any last-level cache.
const STREAMED: Bytes = Bytes(256 << 20);
/// Neighbours use at most the available memory divided by this.
const MEMORY_PART: u64 = 2;
/// Streaming through less memory than this would stay in the caches.
const LEAST_STREAMED: Bytes = Bytes(16 << 20);
/// Time between the start of neighbours and the first reading.
const SETTLING: Nanos = Nanos(100_000_000);
/// Pause between two rounds.
const BETWEEN_ROUNDS: Nanos = Nanos(30_000_000);

/// Rulers and neighbours on this machine.
pub struct Live {
    rulers: Rulers,
    kind: Option<Neighbour>,
    cpus: Option<Vec<usize>>,
    interrupt: Option<OwnedFd>,
    neighbours: Option<Neighbours>,
    begun: KernelCounters,
    epoch: Nanos,
}

impl Live {
    /// Creates a stage that reads `rulers` next to neighbours of a kind, pinned to `cpus`, until `interrupt` becomes
    /// readable.
    pub fn new(rulers: Rulers, kind: Option<Neighbour>, cpus: Option<Vec<usize>>, interrupt: Option<OwnedFd>) -> Self {
        let (begun, epoch) = (KernelCounters::read(&Root::default()), clock::monotonic());
        Live { rulers, kind, cpus, interrupt, neighbours: None, begun, epoch }
    }

    /// Ends the neighbours and returns the rulers.
    pub fn into_rulers(self) -> Rulers {
        self.rulers
    }

    /// Waits for a time. Fails if a neighbour ends or the user interrupts.
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

/// Waits for a time without neighbours. Fails if the user interrupts.
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

/// Memory for each of `count` streaming neighbours.
fn streamed(count: u32) -> Result<Bytes, Stop> {
    // If the available memory is not known, the system refuses an allocation that is too large.
    let Ok(available) = procfs::memory_available(&Root::default()) else { return Ok(STREAMED) };
    let each = Bytes(available.0 / MEMORY_PART / u64::from(count)).min(STREAMED);
    if each < LEAST_STREAMED {
        return Err(Stop::Lost(format!(
            "{} MiB of memory are available, too little for streaming by {}",
            available.0 >> 20,
            if count == 1 { "1 neighbour".to_owned() } else { format!("{count} neighbours") }
        )));
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
        self.begun = KernelCounters::read(&Root::default());
        Ok(())
    }

    fn read(&mut self, resource: Resource) -> Reading<RulerReading> {
        match self.neighbours {
            Some(_) => self.rulers.read_beside_neighbours(resource),
            None => self.rulers.read(resource),
        }
    }

    fn best(&self, resource: Resource) -> Option<f64> {
        self.rulers.best_of(resource)
    }

    fn rest(&mut self) -> Result<(), Stop> {
        self.pass(BETWEEN_ROUNDS)
    }

    fn activity(&self) -> Activity {
        self.begun.until(&KernelCounters::read(&Root::default()))
    }
}

/// The first argument that makes `steady` the process that starts neighbours and ends them.
pub const NEIGHBOURS: &str = "__neighbours";

/// Request to start neighbours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    /// Kind of the neighbours.
    pub(crate) kind: Neighbour,
    /// Number of neighbours to start.
    pub(crate) count: u32,
    /// Memory that each streaming neighbour walks.
    pub(crate) memory: Bytes,
    /// The CPUs to pin neighbours to, if not all.
    pub(crate) cpus: Option<Vec<usize>>,
}

/// Reply: `Ready` once all neighbours are running, or `Failed` on an error, also later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    Ready,
    Failed(String),
}

/// Neighbour processes. They end when this is dropped or when this process ends, even if it is killed.
pub(crate) struct Neighbours(Channel);

impl Neighbours {
    /// Starts neighbours and waits until all of them are running, or until `interrupt` becomes readable.
    ///
    /// # Errors
    /// Returns [`Stop::Lost`] with the error of the system, such as no more processes or no more memory.
    pub(crate) fn start(order: &Order, interrupt: Option<BorrowedFd<'_>>) -> Result<Self, Stop> {
        let mut channel = Channel::start(NEIGHBOURS, Stdio::null()).map_err(lost)?;
        channel.say(order).map_err(lost)?;
        let mut neighbours = Neighbours(channel);
        neighbours.pass(interrupt, None)?;
        Ok(neighbours)
    }

    /// Waits for the time `limit`, or without a limit until all neighbours are running.
    ///
    /// # Errors
    /// Returns [`Stop::Lost`] if a neighbour has ended, and [`Stop::Interrupted`] when `interrupt` becomes readable.
    pub(crate) fn pass(&mut self, interrupt: Option<BorrowedFd<'_>>, limit: Option<Nanos>) -> Result<(), Stop> {
        match self.0.wait(interrupt, limit).map_err(lost)? {
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
    Stop::Lost(format!("the process that starts the neighbours failed: {error}"))
}
