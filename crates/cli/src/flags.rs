//! The flags of `steady` and of the subcommands that are not features, as typed.

mod history;

use std::path::PathBuf;

use clap::{Args, Command, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
pub(crate) use steady_feature::flags::OutputFlags;
use steady_feature::help::with_joined_lines;

use crate::features;

pub(crate) use history::{HistoryCommands, HistoryFlags, ListFormat, RemoveFlags};

const FILES_AND_HELP: &str = "\
Example:
  Does the new program need less CPU time than the old one?
      steady compare './old input' './new input'

`steady help COMMAND` has examples of a command. A time has a unit, as in
500ms, 10s or 1m30s; most options also take a number of seconds. Runs are
stored in $XDG_DATA_HOME/steady (~/.local/share/steady), and snapshots of
programs in $XDG_CACHE_HOME/steady (~/.cache/steady).";

/// Says whether one command costs less than another, on a Linux machine that cannot be kept quiet.
#[derive(Debug, Parser)]
#[command(name = "steady", version = env!("STEADY_VERSION"), about, max_term_width = 100, after_help = FILES_AND_HELP)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Subcommands,
}

impl Flags {
    /// The whole command line, with the features as subcommands.
    pub(crate) fn with_features() -> Command {
        features::with_features(with_joined_lines(Flags::command()))
    }
}

/// The subcommands that are not features.
#[derive(Debug, Subcommand)]
pub(crate) enum Subcommands {
    /// List, show, report again or remove earlier runs of all kinds
    History(Box<HistoryFlags>),
    /// Print the script for completion in a shell
    Completions(CompletionsFlags),
    /// Print a manual page, or write all of them to a directory
    Man(ManFlags),
}

const EXAMPLES_OF_COMPLETIONS: &str = "\
Examples:
  bash, for the current user
      mkdir -p ~/.local/share/bash-completion/completions
      cd ~/.local/share/bash-completion/completions
      steady completions bash >steady
  zsh, if $fpath contains the folder
      mkdir -p ~/.zfunc
      steady completions zsh >~/.zfunc/_steady
  fish
      mkdir -p ~/.config/fish/completions
      steady completions fish >~/.config/fish/completions/steady.fish";

/// The options of `steady completions`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES_OF_COMPLETIONS)]
pub(crate) struct CompletionsFlags {
    /// The shell of the completion script
    pub(crate) shell: Shell,
}

const EXAMPLES_OF_MAN: &str = "\
Examples:
  Read a page
      steady man compare | man -l -
  Install all pages: man(1) looks there if ~/.cargo/bin is in PATH
      steady man --dir ~/.cargo/share/man/man1";

/// The options of `steady man`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES_OF_MAN)]
pub(crate) struct ManFlags {
    /// Print the page of this subcommand [default: the page of steady itself]
    #[arg(value_name = "SUBCOMMAND")]
    pub(crate) subcommand: Vec<String>,

    /// Write all pages to this directory instead: steady.1, steady-compare.1, ... The directory is created if it
    /// does not exist
    #[arg(long, value_name = "DIR", conflicts_with = "subcommand")]
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
