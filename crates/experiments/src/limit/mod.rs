//! A command that is ended by the CPU time that it used.
//!
//! Three processes: the **front**, which the shell knows; a **guardian**, which is this same program called with
//! [`ARGUMENT`] and stands between; and the command. All are of one session and, unless the command decides otherwise,
//! one process group, so that terminal and job control work as they do without them. The guardian reads the CPU time,
//! judges, ends and reaps. If one of front and guardian dies, the other ends the command and all that descends from it.

mod course;
mod front;
mod group;
mod guardian;
mod pace;
mod protocol;
mod source;
mod start;
mod tree;

pub use front::limit;
pub use guardian::guard;
pub use protocol::LimitRun;

use thiserror::Error;

/// The first argument that makes `steady` a guardian.
pub const ARGUMENT: &str = "__guardian";

/// Why a command was not limited to its end.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LimitError {
    /// The command could not be executed: the number of the system's error.
    #[error("{}", std::io::Error::from_raw_os_error(*.0))]
    NotStarted(i32),
    /// There was no way to read the CPU time, or no process to be had.
    #[error("{0}")]
    Refused(String),
    /// The guardian was killed, and the command was ended with it.
    #[error("its guardian was killed; the command was ended")]
    GuardianLost,
}
