//! Runs a command on a quiet host. Its guardian does nothing but turn off address space layout randomisation if
//! requested.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use steady_linux::process::{self, Begun, NotStarted, Reaped};
use steady_model::{Absent, Nanos, Outcome, Reading};
use steady_process::attended::{self, Attendant, End, Moment, Starter, Unattended};

/// The first argument that makes `steady` the guardian of a command on a quiet host.
pub(crate) const ATTENDANT: &str = PassiveAttendant::WORD;

/// A time that is never reached.
const NEVER: Nanos = Nanos(u64::MAX);

/// A command that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommandRun {
    pub(crate) ended: Outcome,
    /// Wall time from its start to its end.
    pub(crate) wall: Nanos,
    /// Whether address space layout randomisation was off. Absent if that was requested and failed.
    pub(crate) fixed_addresses: Reading<bool>,
    /// Number of processes that the command left behind, and that were killed.
    pub(crate) left_behind: u32,
}

/// Runs `program` with the arguments `words` until no process of it is left. Turns off address space layout
/// randomisation if `fix_addresses`.
///
/// Call this from a process with one thread. From here on, the process blocks the signals that it passes on to the
/// command.
///
/// # Errors
/// See [`Unattended`]. No process of the command is left then.
pub(crate) fn run(program: &Path, words: &[OsString], fix_addresses: bool) -> Result<CommandRun, Unattended> {
    attended::attend::<PassiveAttendant>(program, words, Task { fix_addresses })
}

/// Runs the guardian with the arguments that follow [`ATTENDANT`]. Returns when no process of the command is left.
pub(crate) fn attend(arguments: impl Iterator<Item = OsString>) {
    attended::guard::<PassiveAttendant>(arguments);
}

/// The task that `steady` sends to the guardian.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Task {
    fix_addresses: bool,
}

/// Does nothing while the command runs.
struct PassiveAttendant {
    started: Nanos,
    fixed_addresses: Reading<bool>,
}

impl Attendant for PassiveAttendant {
    const WORD: &str = "__host-attendant";
    type Task = Task;
    type Run = CommandRun;

    fn start(task: Task, starter: &Starter<'_>) -> Result<(Begun, Self), Unattended> {
        // The command inherits this personality(2); it does not change the addresses of this process.
        let fix = || process::fix_addresses().map_err(|error| Absent::because(format!("personality(2): {error}")));
        let fixed_addresses = if task.fix_addresses { fix().map(|()| true) } else { Ok(false) };
        match starter.start(process::Joining::Stay) {
            Ok(begun) => {
                let started = begun.at;
                Ok((begun, PassiveAttendant { started, fixed_addresses }))
            }
            Err(NotStarted::NoProgram(error)) => Err(Unattended::NotStarted(error.raw_os_error().unwrap_or(0))),
            Err(NotStarted::NoChild(error)) => {
                Err(Unattended::Refused(format!("no process could be started: {error}")))
            }
        }
    }

    fn due(&self) -> Nanos {
        NEVER
    }

    fn check(&mut self, _: Moment) -> Option<Nanos> {
        None
    }

    fn continued(&mut self, _: Moment) {}

    fn ended(&mut self, _: Moment) {}

    fn reaped(&mut self, _: &Reaped) {}

    fn finish(&mut self, end: End) -> io::Result<CommandRun> {
        Ok(CommandRun {
            ended: end.outcome,
            wall: end.moment.now - self.started,
            fixed_addresses: self.fixed_addresses.clone(),
            left_behind: end.left_behind,
        })
    }
}
