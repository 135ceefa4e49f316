//! `steady explain`: one command as it is, or the difference of two.

mod one;
mod pair;

use steady_linux::{clock, host};
use steady_model::Nanos;

use crate::failure::Failure;
use crate::flags::ExplainFlags;

/// Explains what the words name; the exit status.
pub(crate) fn run(flags: &ExplainFlags) -> Result<u8, Failure> {
    match (flags.commands.len(), flags.words.is_empty()) {
        (0, false) => one::run(flags),
        (2, true) => pair::run(flags),
        (_, false) => Err(Failure::Own("give either one command behind --, or two as one string each".to_owned())),
        (1, true) => {
            let command = &flags.commands[0];
            Err(Failure::Usage(format!(
                "one command stands behind --: steady explain -- {command}; two are told apart: steady explain 'OLD' 'NEW'"
            )))
        }
        (0, true) => {
            Err(Failure::Usage("no command: steady explain -- COMMAND, or steady explain 'OLD' 'NEW'".to_owned()))
        }
        _ => Err(Failure::Usage(
            "two commands, each as one string: steady explain 'OLD' 'NEW'; one stands behind --".to_owned(),
        )),
    }
}

/// Whether user and system time are sampled by ticks, and how long those are. Where that cannot be found out, they may be.
fn tick() -> Option<Nanos> {
    host::tick().unwrap_or_else(|_| Some(clock::tick()))
}
