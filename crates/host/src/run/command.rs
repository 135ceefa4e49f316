//! A command on a quiet host: attended as every command of the user's, with nothing done about it but its addresses.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use steady_linux::process::{self, Begun, NotStarted, Reaped};
use steady_model::{Absent, Nanos, Outcome, Reading};
use steady_process::attended::{self, Attendant, End, Moment, Starter, Unattended};

/// The first argument that makes `steady` the guardian of a command on a quiet host.
pub(crate) const ATTENDANT: &str = Bystander::WORD;

/// A time that does not come.
const NEVER: Nanos = Nanos(u64::MAX);

/// A command that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QuietlyRun {
    /// How it ended.
    pub(crate) ended: Outcome,
    /// From its start to its end.
    pub(crate) wall: Nanos,
    /// Whether its addresses were not drawn; absent where that was asked for and refused.
    pub(crate) fixed_addresses: Reading<bool>,
    /// Processes that it left behind, and that were ended.
    pub(crate) left_behind: u32,
}

/// Runs `program`, started with `words`, until nothing is left of it; with addresses that are not drawn, if asked for.
///
/// For a process with one thread. From here on it keeps the signals that are passed on from itself.
///
/// # Errors
/// See [`Unattended`]. Nothing is left of the command then.
pub(crate) fn run(program: &Path, words: &[OsString], fix_addresses: bool) -> Result<QuietlyRun, Unattended> {
    attended::attend::<Bystander>(program, words, Task { fix_addresses })
}

/// The whole life of a guardian, from the words behind [`ATTENDANT`]. Returns once nothing is left of the command.
pub(crate) fn attend(arguments: impl Iterator<Item = OsString>) {
    attended::guard::<Bystander>(arguments);
}

/// What it is asked for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Task {
    fix_addresses: bool,
}

/// Does nothing about the command once it runs.
struct Bystander {
    started: Nanos,
    fixed_addresses: Reading<bool>,
}

impl Attendant for Bystander {
    const WORD: &str = "__host-attendant";
    type Task = Task;
    type Run = QuietlyRun;

    fn start(task: Task, starter: &Starter<'_>) -> Result<(Begun, Self), Unattended> {
        // The command inherits it; this process has its addresses already.
        let fix = || process::fix_addresses().map_err(|error| Absent::because(format!("personality(2): {error}")));
        let fixed_addresses = if task.fix_addresses { fix().map(|()| true) } else { Ok(false) };
        match starter.start(process::Joining::Stay) {
            Ok(begun) => {
                let started = begun.at;
                Ok((begun, Bystander { started, fixed_addresses }))
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

    fn look(&mut self, _: Moment) -> Option<Nanos> {
        None
    }

    fn went_on(&mut self, _: Moment) {}

    fn ended(&mut self, _: Moment) {}

    fn reaped(&mut self, _: &Reaped) {}

    fn finish(&mut self, end: End) -> io::Result<QuietlyRun> {
        Ok(QuietlyRun {
            ended: end.outcome,
            wall: end.moment.now - self.started,
            fixed_addresses: self.fixed_addresses.clone(),
            left_behind: end.left_behind,
        })
    }
}
