//! A command of the user's that is run once, as if `steady` were not there: with its own streams, terminal, signals and
//! job control.
//!
//! Four processes: the **front**, which the shell knows; a **sentinel**; a **guardian**, which is this same program called with
//! a hidden word; and the command, each the parent of the next. All but the sentinel are of one session and, unless the command
//! decides otherwise, one process group, so that terminal and job control work as they do without them. The guardian starts,
//! reaps and ends; what it does besides, to limit the command or to explain it, is an [`Attendant`]. If one of front and
//! guardian dies, the other ends the command and all that descends from it. If both die, by a signal to their process group,
//! the sentinel does: it is in a session of its own, and the kernel hands it what loses its parent.

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

/// Why a command was not attended to its end.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unattended {
    /// The command could not be executed: the number of the system's error.
    #[error("{}", std::io::Error::from_raw_os_error(*.0))]
    NotStarted(i32),
    /// Something that it takes could not be had: a process, a way to read what is limited.
    #[error("{0}")]
    Refused(String),
    /// The guardian was killed, and the command was ended with it.
    #[error("its guardian was killed; the command was ended")]
    GuardianLost,
}

/// What a guardian does about its command, besides starting, reaping and ending it.
pub trait Attendant: Sized {
    /// The first argument that makes `steady` a guardian of this kind.
    const WORD: &str;
    /// What the front asks for.
    type Task: Serialize + DeserializeOwned;
    /// What is told of the command once nothing is left of it.
    type Run: Serialize + DeserializeOwned;

    /// Gets the instruments ready and starts the command within them.
    ///
    /// # Errors
    /// Why it was not started. Nothing is left then.
    fn start(task: Self::Task, starter: &Starter<'_>) -> Result<(Begun, Self), Unattended>;

    /// When to look next.
    fn due(&self) -> Nanos;

    /// Looks at the command. Where it has to end: for how long it may still do so by itself, once it was asked to.
    fn look(&mut self, moment: Moment) -> Option<Nanos>;

    /// Takes note that the command goes on after it was stopped.
    fn went_on(&mut self, moment: Moment);

    /// Takes note that the command is stopped.
    fn stopped(&mut self, _moment: Moment) {}

    /// Looks a last time at the command that has ended: it is not reaped yet, so that /proc still has it.
    fn ended(&mut self, moment: Moment);

    /// Takes note of a process of the tree that was reaped, with what it had waited for: the command, an orphan, or one that
    /// was left behind and killed.
    fn reaped(&mut self, reaped: &Reaped);

    /// Sums up, once nothing is left.
    ///
    /// # Errors
    /// What the system refuses.
    fn finish(&mut self, end: End) -> io::Result<Self::Run>;

    /// The control group that was made for the command, if one was.
    fn group(&self) -> Option<&OwnGroup> {
        None
    }

    /// What has happened to a child, the command or an orphan, without waiting.
    ///
    /// # Errors
    /// ECHILD if there is none any more.
    fn next(&mut self) -> io::Result<Next> {
        Ok(process::next_change()?.map_or(Next::Nothing, Next::Happened))
    }
}

/// What there is to tell of children.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// This has happened to one.
    Happened(Change),
    /// Nothing has that concerns anybody, but there is more to look at.
    More,
    /// Nothing more has happened.
    Nothing,
}

/// How it ended.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// The command itself.
    pub outcome: Outcome,
    /// When.
    pub moment: Moment,
    /// How many processes it left behind, where it ended by itself.
    pub left_behind: u32,
}
