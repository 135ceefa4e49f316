//! The side of `steady`: start a crowd, let it set off, hear what came of it.

use std::io;
use std::os::fd::BorrowedFd;
use std::process::Stdio;

use steady_model::Nanos;

use super::CROWD;
use super::experiment::LoadError;
use super::protocol::{Finished, Go, Reply, Setup};
use steady_process::channel::{Channel, Woken};

/// The processes of one row, and the one that leads them. Dropping it ends them all.
pub(super) struct Crowd {
    channel: Channel,
    procs: u32,
    /// The process identifiers of the workers.
    pub(super) pids: Vec<i32>,
}

impl Crowd {
    /// Starts the processes of a row, and waits until all are ready.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub(super) fn start(setup: &Setup, interrupt: Option<BorrowedFd<'_>>) -> Result<Self, LoadError> {
        let mut channel = Channel::start(CROWD, Stdio::null()).map_err(lost)?;
        channel.say(setup).map_err(lost)?;
        let mut crowd = Crowd { channel, procs: setup.procs, pids: vec![] };
        crowd.wait(interrupt, None)?;
        match crowd.channel.listen().map_err(lost)? {
            Reply::Ready { pids } => crowd.pids = pids,
            other => return Err(crowd.failure(other)),
        }
        Ok(crowd)
    }

    /// Lets all of them set off.
    ///
    /// # Errors
    /// [`LoadError::CrowdLost`].
    pub(super) fn fire(&mut self) -> Result<(), LoadError> {
        self.channel.say(&Go).map_err(lost)
    }

    /// Waits for what came of it, no longer than `patience`; whether it is there.
    ///
    /// # Errors
    /// [`LoadError::Interrupted`], [`LoadError::CrowdLost`].
    pub(super) fn has_an_end(&self, interrupt: Option<BorrowedFd<'_>>, patience: Nanos) -> Result<bool, LoadError> {
        self.wait(interrupt, Some(patience))
    }

    /// What came of it.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub(super) fn finished(&mut self) -> Result<Finished, LoadError> {
        match self.channel.listen().map_err(lost)? {
            Reply::Finished(finished) => Ok(finished),
            other => Err(self.failure(other)),
        }
    }

    fn wait(&self, interrupt: Option<BorrowedFd<'_>>, patience: Option<Nanos>) -> Result<bool, LoadError> {
        match self.channel.wait(interrupt, patience).map_err(lost)? {
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
            Reply::Failed(reason) => LoadError::CrowdLost(reason),
            Reply::Ready { .. } | Reply::Finished(_) => LoadError::CrowdLost("it spoke out of turn".to_owned()),
        }
    }
}

fn lost(error: io::Error) -> LoadError {
    LoadError::CrowdLost(error.to_string())
}
