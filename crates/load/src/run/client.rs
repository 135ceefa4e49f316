//! The connection of `steady` to the leader of a row.

use std::io;
use std::os::fd::BorrowedFd;
use std::process::Stdio;

use steady_model::Nanos;

use super::LEADER;
use super::experiment::LoadError;
use super::protocol::{Finished, Go, Reply, Setup};
use steady_process::channel::{Channel, Woken};

/// The leader of a row and its workers. Dropping it kills them all.
pub(super) struct Leader {
    channel: Channel,
    procs: u32,
    /// The process IDs of the workers.
    pub(super) pids: Vec<i32>,
}

impl Leader {
    /// Starts the leader and the workers of a row, and waits until all are ready.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub(super) fn start(setup: &Setup, interrupt: Option<BorrowedFd<'_>>) -> Result<Self, LoadError> {
        let mut channel = Channel::start(LEADER, Stdio::null()).map_err(lost)?;
        channel.say(setup).map_err(lost)?;
        let mut leader = Leader { channel, procs: setup.procs, pids: vec![] };
        leader.wait(interrupt, None)?;
        match leader.channel.listen().map_err(lost)? {
            Reply::Ready { pids } => leader.pids = pids,
            other => return Err(leader.failure(other)),
        }
        Ok(leader)
    }

    /// Lets all workers start their work.
    ///
    /// # Errors
    /// [`LoadError::LeaderLost`].
    pub(super) fn start_work(&mut self) -> Result<(), LoadError> {
        self.channel.say(&Go).map_err(lost)
    }

    /// Waits for the result, at most for `timeout`. Returns whether it is there.
    ///
    /// # Errors
    /// [`LoadError::Interrupted`], [`LoadError::LeaderLost`].
    pub(super) fn wait_for_end(&self, interrupt: Option<BorrowedFd<'_>>, timeout: Nanos) -> Result<bool, LoadError> {
        self.wait(interrupt, Some(timeout))
    }

    /// Reads the result.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub(super) fn finished(&mut self) -> Result<Finished, LoadError> {
        match self.channel.listen().map_err(lost)? {
            Reply::Finished(finished) => Ok(finished),
            other => Err(self.failure(other)),
        }
    }

    fn wait(&self, interrupt: Option<BorrowedFd<'_>>, timeout: Option<Nanos>) -> Result<bool, LoadError> {
        match self.channel.wait(interrupt, timeout).map_err(lost)? {
            Woken::Interrupted => Err(LoadError::Interrupted),
            Woken::TimedOut => Ok(false),
            Woken::Readable => Ok(true),
        }
    }

    fn failure(&self, reply: Reply) -> LoadError {
        let procs = self.procs;
        match reply {
            Reply::Refused { started, reason } => LoadError::Refused { procs, started, reason },
            Reply::CannotStart(reason) => LoadError::CannotStart(reason),
            Reply::CommandFailed(outcome) => LoadError::CommandFailed { procs, outcome },
            Reply::WorkerLost(outcome) => LoadError::WorkerLost { procs, outcome },
            Reply::Failed(reason) => LoadError::LeaderLost(reason),
            Reply::Ready { .. } | Reply::Finished(_) => {
                LoadError::LeaderLost("it sent an unexpected message".to_owned())
            }
        }
    }
}

fn lost(error: io::Error) -> LoadError {
    LoadError::LeaderLost(error.to_string())
}
