//! Which locks the threads of a command wait for.
//!
//! The command is attended (`steady_process::attended`) and runs with a library that watches its locks (`preload/locks/watch`), which writes
//! what it counts into an area that its guardian has made. Once nothing is left of the command, the guardian reads all of it
//! ([`read()`], pure); code gets its names and the locks their order in the front ([`named()`]).

mod area;
mod attendant;
mod found;
mod futexes;
mod gains;
mod naming;
mod place;
mod program;
mod read;
mod sums;
mod symbols;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use steady_linux::{Root, host};
use steady_model::{Absent, Command, Nanos, Outcome, Reading, Timestamp};
use steady_process::attended::{self, Attendant, Unattended};

use attendant::{Task, Watching};
use found::{Found, FoundModule};
use naming::Names;
use place::Facts;
use read::read;

use crate::record::{CodePlace, FutexWaits, LockOrder, LocksRecord};

pub use area::Bytes;

pub(crate) use naming::{Circumstances, named};
pub(crate) use program::watchable;
pub(crate) use symbols::Symbols;

/// The first argument that makes `steady` the guardian of a command whose locks are watched.
pub(crate) const ARGUMENT: &str = Watching::WORD;

/// A command that has ended, and what was watched of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LocksRun {
    /// How it ended.
    pub(crate) ended: Outcome,
    /// From its start to its end, stops left out.
    pub(crate) wall: Nanos,
    /// CPU time of the whole tree.
    pub(crate) cpu: Nanos,
    /// What the watchers wrote.
    pub(crate) found: Found,
    /// Waits for futexes.
    pub(crate) futexes: Reading<FutexWaits>,
    /// Processes that it left behind, and that were ended.
    pub(crate) left_behind: u32,
}

/// The record of what lies in an area, whatever that is, of a command of which nothing else is known: for tests.
pub fn of_area(area: &impl Bytes) -> LocksRecord {
    let others = [((100, 100), Nanos(7))].into();
    let facts = Facts { ended: Nanos(5_000_000_000), cpu: Nanos(1_000_000_000), cpus: 2, others };
    let nothing = || Absent::because("nobody looked");
    let run = LocksRun {
        ended: Outcome::Exited(0),
        wall: facts.ended,
        cpu: facts.cpu,
        found: read(area, &facts),
        futexes: Err(nothing()),
        left_behind: 0,
    };
    let circumstances = Circumstances {
        command: Command::default().into(),
        started: Timestamp(0),
        host: host::probe(&Root::default()),
        revision: Err(nothing()),
        order: LockOrder::Wait,
    };
    named(circumstances, run, &mut Nameless)
}

/// Knows no names.
struct Nameless;

impl Names for Nameless {
    fn place(&mut self, module: &FoundModule, offset: u64) -> CodePlace {
        let why = || Absent::because("nobody looked");
        CodePlace { module: Ok(module.path.clone()), offset, function: Err(why()), line: Err(why()) }
    }
}

/// Runs a command, started with `words` in `environment`, to its end, and reads what was watched. The watcher is put into the first
/// of `folders` that will do. Standard input and output are the command's: afterwards this process has none.
///
/// For a process with one thread. From here on it keeps the signals that are passed on from itself.
///
/// # Errors
/// See [`Unattended`]. Nothing is left of the command then.
pub(crate) fn locks(
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
pub(crate) fn guard(arguments: impl Iterator<Item = OsString>) {
    attended::guard::<Watching>(arguments);
}
