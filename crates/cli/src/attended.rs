//! What all commands share that run the user's program as if `steady` were not there: how it is found, what its failures
//! are, and the status that is handed on.

use std::ffi::OsString;

use steady_experiments::Unattended;
use steady_linux::signals;
use steady_model::{Command, Outcome};

use crate::failure::Failure;
use crate::programs;

const ENOENT: i32 = 2;

/// The program that `words` start.
pub(crate) fn command(words: &[OsString]) -> Result<Command, Failure> {
    let argv: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let program = programs::executed(words.first().map_or("".as_ref(), |word| word.as_os_str()))?;
    Ok(Command { name: programs::joined(&argv), argv, program, ..Command::default() })
}

/// The command's own status; of a signal this process dies too, as timeout(1) does, so that a shell sees the same.
pub(crate) fn status(ended: Outcome) -> u8 {
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
pub(crate) fn not_started(command: &Command, error: &std::io::Error) -> Failure {
    match error.raw_os_error() {
        Some(number) => failure(command, &Unattended::NotStarted(number)),
        None => Failure::Own(error.to_string()),
    }
}

/// Why it was not run to its end.
pub(crate) fn failure(command: &Command, error: &Unattended) -> Failure {
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
