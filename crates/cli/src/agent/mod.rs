//! `steady agent`: it listens to services; and what they need for that.

mod library;
pub(crate) mod place;
mod run;
mod status;

use crate::failure::Failure;
use crate::flags::{AgentCommands, AgentFlags};

/// Does what was asked for; the exit status.
pub(crate) fn run(flags: &AgentFlags) -> Result<u8, Failure> {
    match &flags.question {
        Some(AgentCommands::Status(flags)) => status::run(flags),
        Some(AgentCommands::Library(flags)) => library::run(flags),
        None => run::run(flags),
    }
}
