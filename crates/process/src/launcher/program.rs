//! Programs ready to start for the runs of a command.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use steady_linux::process::Program;
use steady_model::Command;

use super::PADDING_MAX;

/// The variable that tells a process which command it belongs to: 0 for the first, as in the JSON.
const COMMAND_NAME: &str = "STEADY_COMMAND";
/// The variables that runs get from here, whatever stands in the environment.
const OURS: [&str; 3] = [COMMAND_NAME, "STEADY_RUN", "STEADY_PADDING"];

/// A program for runs of `command`: its variables over the inherited ones, and its number in `STEADY_COMMAND`.
pub(super) fn program(
    path: &Path,
    words: &[impl AsRef<OsStr>],
    (index, command): (usize, &Command),
    environment: &[(OsString, OsString)],
) -> io::Result<Program> {
    let number = index.to_string();
    let own = command.environment.iter().map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
    let own: Vec<_> = own.chain([(OsStr::new(COMMAND_NAME), OsStr::new(&number))]).collect();
    // Of a name that stands twice, programs may take either.
    let replaced = |name: &OsStr| OURS.iter().any(|ours| name == *ours) || own.iter().any(|(other, _)| *other == name);
    let inherited = environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let variables = inherited.filter(|(name, _)| !replaced(name)).chain(own.iter().copied());
    let made = Program::new(path, words.iter().map(AsRef::as_ref), variables, PADDING_MAX as usize)?;
    Ok(match &command.directory {
        Some(directory) => made.within(directory)?,
        None => made,
    })
}
