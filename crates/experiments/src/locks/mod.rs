//! Which locks the threads of a command wait for.
//!
//! The command is attended (`steady_process::attended`) and runs with a library that watches its locks (`preload/locks/watch`), which writes
//! what it counts into an area that its guardian has made. Once nothing is left of the command, the guardian reads all of it
//! ([`read()`], pure); code gets its names and the locks their order in the front ([`report()`]).

mod area;
mod attendant;
mod found;
mod futexes;
mod gains;
mod live;
mod modules;
mod place;
mod program;
mod read;
mod report;
mod spread;
mod sums;
mod symbols;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use steady_model::{Command, FutexWaits, Nanos, Outcome, Reading};

use attendant::{Task, Watching};
use steady_process::attended::{self, Attendant, Unattended};

pub use area::Bytes;
pub use found::{Found, FoundLock, FoundModule, FoundPlace, FoundProcess, FoundSite, FoundThread};
pub use program::{Unwatchable, watchable};
pub use read::{Facts, read};
pub use report::{Frame, Names, report};
pub use symbols::Symbols;

/// The first argument that makes `steady` the guardian of a command whose locks are watched.
pub const ARGUMENT: &str = Watching::WORD;

/// A command that has ended, and what was watched of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocksRun {
    /// How it ended.
    pub ended: Outcome,
    /// From its start to its end, stops left out.
    pub wall: Nanos,
    /// CPU time of the whole tree.
    pub cpu: Nanos,
    /// What the watchers wrote.
    pub found: Found,
    /// Waits for futexes.
    pub futexes: Reading<FutexWaits>,
    /// Processes that it left behind, and that were ended.
    pub left_behind: u32,
}

/// Runs a command, started with `words` in `environment`, to its end, and reads what was watched. The watcher is put into the first
/// of `folders` that will do. Standard input and output are the command's: afterwards this process has none.
///
/// For a process with one thread. From here on it keeps the signals that are passed on from itself.
///
/// # Errors
/// See [`Unattended`]. Nothing is left of the command then.
pub fn locks(
    command: &Command,
    words: &[OsString],
    environment: Vec<(OsString, OsString)>,
    folders: Vec<PathBuf>,
) -> Result<LocksRun, Unattended> {
    // Paths would have to be UTF-8.
    let folders = folders.into_iter().map(PathBuf::into_os_string).collect();
    attended::attend::<Watching>(&command.program, words, Task { environment, folders })
}

/// The whole life of a guardian, from the words behind [`ARGUMENT`]. Returns once nothing is left of the command.
pub fn guard(arguments: impl Iterator<Item = OsString>) {
    attended::guard::<Watching>(arguments);
}
