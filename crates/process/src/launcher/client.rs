//! The side of `steady`: starts a launcher, requests runs, and ends it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::Stdio;

use rustix::event::{PollFd, PollFlags, poll};
use serde::Serialize;
use steady_model::{Absent, CounterScope, Nanos, Output, Reading};

use super::ARGUMENT;
use super::protocol::{Reply, Request, RunReply, Setup};
use crate::channel::{Channel, Woken, timespec};
use crate::runner::RunError;

/// A launcher process that is set up. Dropping it ends the process and all its descendants.
pub struct Launcher {
    channel: Channel,
    counters: Reading<CounterScope>,
}

impl Launcher {
    /// Starts this program as a launcher and sets it up.
    ///
    /// # Errors
    /// Returns [`RunError::LauncherLost`] with the cause, such as no more processes or a CPU that may not be used, or
    /// [`RunError::Interrupted`] if `interrupt` is readable then: Ctrl-C also ends a launcher that has not yet left the
    /// terminal's session.
    pub fn start(setup: &Setup, interrupt: Option<BorrowedFd<'_>>) -> Result<Self, RunError> {
        Launcher::set_up(setup).map_err(|error| {
            let is_interrupted = interrupt.is_some_and(|interrupt| {
                poll(&mut [PollFd::from_borrowed_fd(interrupt, PollFlags::IN)], Some(&timespec(Nanos::ZERO))) == Ok(1)
            });
            if is_interrupted { RunError::Interrupted } else { error }
        })
    }

    fn set_up(setup: &Setup) -> Result<Self, RunError> {
        let through = setup.output.0.contains(&Output::Inherit);
        let stdout = if through { Stdio::inherit() } else { Stdio::null() };
        let channel = Channel::start(ARGUMENT, stdout).map_err(lost)?;
        let mut launcher = Launcher { channel, counters: Err(Absent::because("not opened yet")) };
        launcher.say(setup)?;
        match launcher.listen()? {
            Reply::Ready { counters } => launcher.counters = counters,
            other => return Err(failure(other)),
        }
        Ok(launcher)
    }

    /// Scope of the CPU's counters in its runs, or the reason why they cannot be read.
    pub fn counters(&self) -> &Reading<CounterScope> {
        &self.counters
    }

    /// Sends a request for runs. [`Launcher::runs`] returns the results, group by group.
    ///
    /// # Errors
    /// Returns [`RunError::LauncherLost`] if the launcher has ended.
    pub fn ask(&mut self, request: &Request) -> Result<(), RunError> {
        self.say(request)
    }

    /// Waits for the next group of runs, or for `interrupt` to become readable.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn runs(&mut self, interrupt: Option<BorrowedFd<'_>>) -> Result<Vec<RunReply>, RunError> {
        self.wait_unless(interrupt)?;
        match self.listen()? {
            Reply::Ran(runs) => Ok(runs),
            other => Err(failure(other)),
        }
    }

    /// Waits until the requested script has ended or the snapshots are ready, or for `interrupt` to become readable.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn script_done(&mut self, interrupt: Option<BorrowedFd<'_>>) -> Result<(), RunError> {
        self.wait_unless(interrupt)?;
        self.done()
    }

    /// Waits as [`Launcher::script_done`] does, for at most the time `limit`. Returns whether the script has ended.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn script_done_within(&mut self, limit: Nanos, interrupt: BorrowedFd<'_>) -> Result<bool, RunError> {
        match self.channel.wait(Some(interrupt), Some(limit)).map_err(lost)? {
            Woken::Interrupted => Err(RunError::Interrupted),
            Woken::TimedOut => Ok(false),
            Woken::Readable => self.done().map(|()| true),
        }
    }

    fn done(&mut self) -> Result<(), RunError> {
        match self.listen()? {
            Reply::Done => Ok(()),
            other => Err(failure(other)),
        }
    }

    fn wait_unless(&mut self, interrupt: Option<BorrowedFd<'_>>) -> Result<(), RunError> {
        if interrupt.is_none() {
            return Ok(());
        }
        match self.channel.wait(interrupt, None).map_err(lost)? {
            Woken::Interrupted => Err(RunError::Interrupted),
            Woken::Readable | Woken::TimedOut => Ok(()),
        }
    }

    fn say(&mut self, message: &impl Serialize) -> Result<(), RunError> {
        self.channel.say(message).map_err(lost)
    }

    fn listen(&mut self) -> Result<Reply, RunError> {
        self.channel.listen().map_err(lost)
    }
}

fn lost(error: io::Error) -> RunError {
    RunError::LauncherLost(error.to_string())
}

fn failure(reply: Reply) -> RunError {
    match reply {
        Reply::CannotStart { command, reason } => RunError::CannotStart { command, reason },
        Reply::ScriptFailed { command, hook, script, outcome, printed } => {
            RunError::ScriptFailed { command, hook, script, outcome, printed }
        }
        Reply::Failed(reason) => RunError::LauncherLost(reason),
        Reply::Ready { .. } | Reply::Ran(_) | Reply::Done => {
            RunError::LauncherLost("it sent an unexpected reply".to_owned())
        }
    }
}

impl AsFd for Launcher {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}
