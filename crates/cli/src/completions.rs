//! Runs `steady completions`, which prints a completion script for a shell.

use crate::failure::Failure;
use crate::flags::{CompletionsFlags, Flags};
use crate::output;

/// Prints the script. Returns the exit status.
pub(crate) fn run(flags: &CompletionsFlags) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut Flags::with_features(), "steady", &mut script);
    output::print(&script).map_err(|error| Failure::Own(format!("standard output: {error}")))?;
    Ok(0)
}
