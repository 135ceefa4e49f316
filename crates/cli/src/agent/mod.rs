//! `steady agent`: what services need that tell of their requests.

mod library;

use crate::failure::Failure;
use crate::flags::{AgentCommands, AgentFlags};

/// Does what was asked for; the exit status.
pub(crate) fn run(flags: &AgentFlags) -> Result<u8, Failure> {
    match &flags.command {
        AgentCommands::Library(flags) => library::run(flags),
    }
}
