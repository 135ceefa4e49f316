//! Shared parts of features that run the user's command in place of `steady`: its record, its failures, and the exit
//! status that `steady` passes on.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steady_linux::signals;
use steady_model::{Command, Outcome};
use steady_process::Unattended;

use crate::Failure;

const ENOENT: i32 = 2;

/// The user's command in a record. It runs in the environment and the directory of `steady`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttendedCommand {
    /// The command line, quoted for a shell.
    pub name: String,
    /// The words of the command line.
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

/// The exit status of the command. If a signal ended the command, the same signal ends this process, as in timeout(1),
/// so that a shell sees the same status.
pub fn status(ended: Outcome) -> u8 {
    match ended {
        Outcome::Exited(status) => u8::try_from(status).unwrap_or(u8::MAX),
        Outcome::Signalled(signal) => {
            signals::die_of(signal);
            Failure::Interrupted(signal).status()
        }
        // These features have no time limit.
        Outcome::TimedOut => u8::MAX,
    }
}

/// The failure if the command cannot replace this process.
pub fn not_started(command: &Command, error: &std::io::Error) -> Failure {
    match error.raw_os_error() {
        Some(number) => failure(command, &Unattended::NotStarted(number)),
        None => Failure::Own(error.to_string()),
    }
}

/// What to do about a program that does not exist, if its name was probably meant as a command line.
pub fn quoted(program: &str) -> &'static str {
    if program.contains(' ') { "; write the command and its arguments without quotes around them" } else { "" }
}

/// The failure if the command did not run to its end.
pub fn failure(command: &Command, error: &Unattended) -> Failure {
    let program = command.program.display();
    match error {
        Unattended::NotStarted(ENOENT) if command.program.exists() => {
            Failure::NotFound(format!("'{program}': its interpreter does not exist"))
        }
        Unattended::NotStarted(ENOENT) => {
            Failure::NotFound(format!("'{program}': {error}{}", quoted(&program.to_string())))
        }
        Unattended::NotStarted(_) => Failure::NotExecutable(format!("'{program}': {error}")),
        Unattended::Refused(_) | Unattended::GuardianLost => Failure::Own(error.to_string()),
    }
}
