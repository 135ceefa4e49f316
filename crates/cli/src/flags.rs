//! The command line as typed. Nothing is looked up or decided here.

mod history;

use std::path::PathBuf;

use clap::{Args, Command, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
pub(crate) use steady_feature::flags::OutputFlags;

use crate::features;

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

const EXAMPLES_OF_COMPLETIONS: &str = "\
Examples:
  bash, for you alone
      mkdir -p ~/.local/share/bash-completion/completions
      cd ~/.local/share/bash-completion/completions
      steady completions bash >steady
  zsh, in a folder that $fpath names
      steady completions zsh >~/.zfunc/_steady
  fish
      steady completions fish >~/.config/fish/completions/steady.fish";

/// The options of `steady completions`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES_OF_COMPLETIONS)]
pub(crate) struct CompletionsFlags {
    /// The shell to complete in
    pub(crate) shell: Shell,
}

const EXAMPLES_OF_MAN: &str = "\
Examples:
  Read a page
      steady man compare | man -l -
  Install them all
      steady man --dir ~/.local/share/man/man1";

/// The options of `steady man`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES_OF_MAN)]
pub(crate) struct ManFlags {
    /// Print the page of this subcommand [default: the page of steady itself]
    #[arg(value_name = "SUBCOMMAND")]
    pub(crate) subcommand: Vec<String>,

    /// Write all pages to this folder instead: steady.1, steady-compare.1, ...; it is made if need be
    #[arg(long, value_name = "FOLDER", conflicts_with = "subcommand")]
    pub(crate) dir: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_are_well_formed() {
        Flags::with_features().debug_assert();
    }
}
