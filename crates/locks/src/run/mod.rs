//! Runs a command and watches its locks.
//!
//! A guardian process supervises the command ([`steady_process::attended`]). The command runs with a library that
//! watches its locks (`preload/locks/watch`) and writes counts into a shared memory area that the guardian creates.
//! After the last process of the command has ended, the guardian reads the area ([`read()`], a pure function). `steady`
//! then looks up the names of call sites and sorts the locks ([`named()`]).

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

/// A command that has ended, with the data on its locks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LocksRun {
    pub(crate) ended: Outcome,
    /// Wall time from its start to its end, without the time that it was stopped (job control).
    pub(crate) wall: Nanos,
    /// CPU time of the process tree.
    pub(crate) cpu: Nanos,
    /// The data that the watchers wrote.
    pub(crate) found: Found,
    pub(crate) futexes: Reading<FutexWaits>,
    /// Number of processes that the command left behind, and that were killed.
    pub(crate) left_behind: u32,
}

/// Returns the record for any bytes of an area, with made-up facts about the command. For tests and fuzzing.
pub fn of_area(area: &impl Bytes) -> LocksRecord {
    let others = [((100, 100), Nanos(7))].into();
    let facts = Facts { ended: Nanos(5_000_000_000), cpu: Nanos(1_000_000_000), cpus: 2, others, ..Facts::default() };
    let nothing = || Absent::because("not available in tests");
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

/// Returns places without names.
struct Nameless;

impl Names for Nameless {
    fn place(&mut self, module: &FoundModule, offset: u64) -> CodePlace {
        let why = || Absent::because("not available in tests");
        CodePlace { module: Ok(module.path.clone()), offset, function: Err(why()), line: Err(why()) }
    }
}

/// Runs a command with the arguments `words` in `environment` to its end, and reads the data on its locks. The watcher
/// library is written to the first usable directory of `folders`. The command gets standard input and output;
/// afterwards this process has neither.
///
/// Call this from a process with one thread. From here on, the process blocks the signals that it passes on to the
/// command.
///
/// # Errors
/// See [`Unattended`]. No process of the command is left then, except those that cannot be ended.
pub(crate) fn locks(
    command: &Command,
    words: &[OsString],
    environment: Vec<(OsString, OsString)>,
    folders: Vec<PathBuf>,
) -> Result<LocksRun, Unattended> {
    // Serde can serialize a path only if it is UTF-8.
    let folders = folders.into_iter().map(PathBuf::into_os_string).collect();
    attended::attend::<Watching>(&command.program, words, Task { environment, folders })
}

/// Runs the guardian with the arguments that follow [`ARGUMENT`]. Returns when no process of the command is left.
pub(crate) fn guard(arguments: impl Iterator<Item = OsString>) {
    attended::guard::<Watching>(arguments);
}
