//! The side of `steady`: start a launcher, ask it for runs, end it.

use std::io::{self, BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use serde::Serialize;
use steady_model::{Absent, CounterScope, Output, Reading};

use super::ARGUMENT;
use super::protocol::{Reply, Request, RunReply, Setup};
use crate::runner::RunError;

/// The running program, even where its file has been replaced or removed since.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// How long a launcher may take to end what descends from it: a process that the kernel holds cannot be killed.
const END_PATIENCE: Duration = Duration::from_secs(5);
const END_STEP: Duration = Duration::from_millis(1);

/// A launcher process that is set up. Dropping it ends it, and everything that it started.
pub struct Launcher {
    process: Child,
    socket: BufReader<UnixStream>,
    counters: Reading<CounterScope>,
}

impl Launcher {
    /// Starts this very program as a launcher and sets it up.
    ///
    /// # Errors
    /// [`RunError::LauncherLost`] with what went wrong: no more processes, a CPU that may not be used, ...
    pub fn start(setup: &Setup) -> Result<Self, RunError> {
        let lost = |error: io::Error| RunError::LauncherLost(error.to_string());
        let (ours, theirs) = UnixStream::pair().map_err(lost)?;
        let through = setup.output.0.contains(&Output::Inherit);
        let stdout = if through { Stdio::inherit() } else { Stdio::null() };
        let mut command = Command::new(OWN_PROGRAM);
        command.arg0("steady").arg(ARGUMENT).stdin(OwnedFd::from(theirs)).stdout(stdout);
        let process = command.spawn().map_err(lost)?;
        let socket = BufReader::new(ours);
        let mut launcher = Launcher { process, socket, counters: Err(Absent::because("not asked yet")) };
        launcher.say(setup)?;
        match launcher.listen()? {
            Reply::Ready { counters } => launcher.counters = counters,
            other => return Err(failure(other)),
        }
        Ok(launcher)
    }

    /// Whose events the CPU's counters count in its runs, or why they cannot be read.
    pub fn counters(&self) -> &Reading<CounterScope> {
        &self.counters
    }

    /// Asks for runs; [`Launcher::runs`] gives what was measured, group by group.
    ///
    /// # Errors
    /// [`RunError::LauncherLost`].
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

    /// Waits for the end of the script that was asked for, or for `interrupt` to become readable.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn script_done(&mut self, interrupt: Option<BorrowedFd<'_>>) -> Result<(), RunError> {
        self.wait_unless(interrupt)?;
        match self.listen()? {
            Reply::Done => Ok(()),
            other => Err(failure(other)),
        }
    }

    fn wait_unless(&mut self, interrupt: Option<BorrowedFd<'_>>) -> Result<(), RunError> {
        let Some(interrupt) = interrupt.filter(|_| self.socket.buffer().is_empty()) else { return Ok(()) };
        let mut watched =
            [PollFd::new(self.socket.get_ref(), PollFlags::IN), PollFd::from_borrowed_fd(interrupt, PollFlags::IN)];
        loop {
            match poll(&mut watched, None) {
                Ok(_) if !watched[1].revents().is_empty() => return Err(RunError::Interrupted),
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(RunError::LauncherLost(error.to_string())),
            }
        }
    }

    fn say(&mut self, message: &impl Serialize) -> Result<(), RunError> {
        let lost = |error: io::Error| RunError::LauncherLost(error.to_string());
        let mut line = serde_json::to_vec(message).map_err(|error| lost(error.into()))?;
        line.push(b'\n');
        self.socket.get_mut().write_all(&line).map_err(lost)
    }

    fn listen(&mut self) -> Result<Reply, RunError> {
        let mut line = String::new();
        match self.socket.read_line(&mut line) {
            Ok(0) => Err(RunError::LauncherLost("it ended".to_owned())),
            Ok(_) => serde_json::from_str(&line).map_err(|error| RunError::LauncherLost(error.to_string())),
            Err(error) => Err(RunError::LauncherLost(error.to_string())),
        }
    }
}

fn failure(reply: Reply) -> RunError {
    match reply {
        Reply::CannotStart { command, reason } => RunError::CannotStart { command, reason },
        Reply::ScriptFailed { hook, script, outcome } => RunError::ScriptFailed { hook, script, outcome },
        Reply::Failed(reason) => RunError::LauncherLost(reason),
        Reply::Ready { .. } | Reply::Ran(_) | Reply::Done => RunError::LauncherLost("it spoke out of turn".to_owned()),
    }
}

impl AsFd for Launcher {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.get_ref().as_fd()
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        // The hang-up makes the launcher end its tree and leave. Errors mean that it has left already.
        let _ = self.socket.get_ref().shutdown(Shutdown::Both);
        for _ in 0..END_PATIENCE.as_millis() / END_STEP.as_millis() {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(END_STEP);
        }
    }
}
