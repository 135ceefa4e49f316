//! Runs a command of the user once, as if `steady` were not there: with its own streams, terminal, signals and job
//! control.
//!
//! There are four processes, each the parent of the next:
//!
//! - The **front** is the process that the shell started.
//! - The **sentinel** is in a session of its own.
//! - The **guardian** is this program with a hidden first argument. It starts, reaps and ends. What it does in
//!   addition, to limit the command or to explain it, is an [`Attendant`].
//! - The command itself.
//!
//! All but the sentinel are in one session and, unless the command decides otherwise, in one process group. Terminal
//! and job control therefore work as they do without `steady`. If the front or the guardian dies, the other one ends
//! the command and all its descendants. If a signal to the process group kills both, the sentinel does so: the kernel
//! reparents orphans to it.

mod front;
mod group;
mod guardian;
mod protocol;
mod starter;

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use steady_linux::cgroup::OwnGroup;
use steady_linux::process::{self, Begun, Change, Reaped};
use steady_model::{Nanos, Outcome};
use thiserror::Error;

pub use front::attend;
pub use group::{Moment, Stops, members};
pub use guardian::guard;
pub use starter::Starter;

/// Why a command did not run to its end under a guardian.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unattended {
    /// The command could not be executed. The value is the errno.
    #[error("{}", std::io::Error::from_raw_os_error(*.0))]
    NotStarted(i32),
    /// Something that is needed is not available: a process, or a way to read what is limited. Or a process of the
    /// command cannot be ended.
    #[error("{0}")]
    Refused(String),
    /// The guardian was killed, and the front killed the command.
    #[error("its guardian was killed, so the command was killed too")]
    GuardianLost,
}

/// What a guardian does in addition to starting, reaping and ending its command.
pub trait Attendant: Sized {
    /// The first argument that makes `steady` a guardian of this kind.
    const WORD: &str;
    /// Request of the front.
    type Task: Serialize + DeserializeOwned;
    /// Result that the guardian returns once no process of the command is left.
    type Run: Serialize + DeserializeOwned;

    /// Prepares the instruments and starts the command.
    ///
    /// # Errors
    /// Returns why the command was not started. No process is left then.
    fn start(task: Self::Task, starter: &Starter<'_>) -> Result<(Begun, Self), Unattended>;

    /// Time of the next call of [`Attendant::check`], on the monotonic clock.
    fn due(&self) -> Nanos;

    /// Looks at the command. If the command must end, returns the time that it has between SIGTERM and SIGKILL.
    fn check(&mut self, moment: Moment) -> Option<Nanos>;

    /// Called when the command continues after a stop.
    fn continued(&mut self, moment: Moment);

    /// Called when the command was stopped.
    fn stopped(&mut self, _moment: Moment) {}

    /// Called when the command has ended and has not been reaped, so that it is still in /proc.
    fn ended(&mut self, moment: Moment);

    /// Called for each reaped process of the tree: the command, an orphan, or a process that was left behind and
    /// killed. The usage includes children that it waited for.
    fn reaped(&mut self, reaped: &Reaped);

    /// Computes the result, once no process is left.
    ///
    /// # Errors
    /// Errors of the system.
    fn finish(&mut self, end: End) -> io::Result<Self::Run>;

    /// The control group that was created for the command, if there is one.
    fn group(&self) -> Option<&OwnGroup> {
        None
    }

    /// Returns the next state change of a child (the command or an orphan), without waiting.
    ///
    /// # Errors
    /// ECHILD if there are no children.
    fn next(&mut self) -> io::Result<Next> {
        Ok(process::next_change()?.map_or(Next::Nothing, Next::Happened))
    }
}

/// Result of a call of [`Attendant::next`].
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// A child has changed its state.
    Happened(Change),
    /// Nothing relevant happened, but there is more to process.
    More,
    /// There are no more changes.
    Nothing,
}

/// How the command ended.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// Exit status or signal of the command.
    pub outcome: Outcome,
    /// Whether it was killed, because it did not end by itself or at SIGTERM.
    pub killed: bool,
    /// Time of the end.
    pub moment: Moment,
    /// Number of processes that it left behind, if it ended by itself.
    pub left_behind: u32,
}
