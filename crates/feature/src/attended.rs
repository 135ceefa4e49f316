//! What features share that run the user's command as if `steady` were not there: what its failures are, and the status that is
//! handed on.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steady_linux::signals;
use steady_model::{Command, Outcome};
use steady_process::Unattended;

use crate::Failure;

const ENOENT: i32 = 2;

/// The user's command in a record. It has the environment and the directory of `steady`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttendedCommand {
    /// Its words, as a shell would read them.
    pub name: String,
    /// Its words.
    pub argv: Vec<String>,
    /// The file that was executed.
    #[serde(with = "steady_model::path")]
    #[schemars(with = "steady_model::path::Form")]
    pub program: PathBuf,
}

impl From<Command> for AttendedCommand {
    fn from(command: Command) -> Self {
        AttendedCommand { name: command.name, argv: command.argv, program: command.program }
    }
}

/// The command's own status; of a signal this process dies too, as timeout(1) does, so that a shell sees the same.
pub fn status(ended: Outcome) -> u8 {
    match ended {
        Outcome::Exited(status) => u8::try_from(status).unwrap_or(u8::MAX),
        Outcome::Signalled(signal) => {
            signals::die_of(signal);
            Failure::Interrupted(signal).status()
        }
        // Nothing of this kind has a limit on time.
        Outcome::TimedOut => u8::MAX,
    }
}

/// Why it could not take the place of this process.
pub fn not_started(command: &Command, error: &std::io::Error) -> Failure {
    match error.raw_os_error() {
        Some(number) => failure(command, &Unattended::NotStarted(number)),
        None => Failure::Own(error.to_string()),
    }
}

/// Why it was not run to its end.
pub fn failure(command: &Command, error: &Unattended) -> Failure {
    let program = command.program.display();
    match error {
        Unattended::NotStarted(ENOENT) if command.program.exists() => {
            Failure::NotFound(format!("'{program}': the program that is to interpret it does not exist"))
        }
        Unattended::NotStarted(ENOENT) => Failure::NotFound(format!("'{program}': {error}")),
        Unattended::NotStarted(_) => Failure::NotExecutable(format!("'{program}': {error}")),
        Unattended::Refused(_) | Unattended::GuardianLost => Failure::Own(error.to_string()),
    }
}
