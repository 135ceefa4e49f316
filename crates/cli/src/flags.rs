//! The command line as typed. Nothing is looked up or decided here.

mod history;

use clap::{Command, CommandFactory, Parser, Subcommand};
pub(crate) use steady_feature::flags::{Form, FormatFlag, OutputFlags};

use crate::completions::CompletionsFlags;
use crate::features;
use crate::manual::ManFlags;

pub(crate) use history::{HistoryCommands, HistoryFlags, ListFormat, RemoveFlags};

/// What pages of the manual name as their source.
pub(crate) const NAME_AND_VERSION: &str = concat!("steady ", env!("STEADY_VERSION"));

/// Performance verdicts that hold on a Linux machine that cannot be kept quiet.
#[derive(Debug, Parser)]
#[command(name = "steady", version = env!("STEADY_VERSION"), about, max_term_width = 100)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Subcommands,
}

impl Flags {
    /// The whole command line, the features of the table among its subcommands.
    pub(crate) fn with_features() -> Command {
        features::with_features(Flags::command())
    }
}

/// What to do, besides the features of the table.
#[derive(Debug, Subcommand)]
pub(crate) enum Subcommands {
    /// What is kept of earlier runs of all kinds: list, show, report again, remove
    History(Box<HistoryFlags>),
    /// Print what a shell needs in order to complete the words of steady
    Completions(CompletionsFlags),
    /// Print a page of the manual, or write them all
    Man(ManFlags),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_are_well_formed() {
        Flags::with_features().debug_assert();
    }
}
