//! The side of `steady`: neighbours that are started together, and ended together.

use std::io;
use std::os::fd::BorrowedFd;
use std::process::Stdio;

use serde::{Deserialize, Serialize};
use steady_model::{Bytes, Nanos};

use super::{Neighbour, Stop};
use steady_process::channel::{Channel, Woken};

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
