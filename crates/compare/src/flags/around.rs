//! What surrounds the runs: the user's own scripts, and the runs' streams.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use steady_model::Output;

use super::values::child_output;

/// The options about scripts and streams.
#[derive(Debug, Args)]
pub(crate) struct AroundFlags {
    /// A shell command to run once before a command's first run; once for all commands, or once per command, as with
    /// the three that follow
    #[arg(help_heading = HEADING, short, long, value_name = "COMMAND", action = ArgAction::Append)]
    pub(crate) setup: Vec<String>,

    /// A shell command to run before every run, unmeasured
    #[arg(help_heading = HEADING, short, long, value_name = "COMMAND", action = ArgAction::Append)]
    pub(crate) prepare: Vec<String>,

    /// A shell command to run after every run, unmeasured
    #[arg(help_heading = HEADING, short = 'C', long, value_name = "COMMAND", action = ArgAction::Append)]
    pub(crate) conclude: Vec<String>,

    /// A shell command to run once after a command's last run, however the comparison ended
    #[arg(help_heading = HEADING, short, long, value_name = "COMMAND", action = ArgAction::Append)]
    pub(crate) cleanup: Vec<String>,

    /// The file that every run reads as standard input [default: /dev/null]
    #[arg(help_heading = HEADING, long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,

    /// Show the commands' own output, on standard error [default: thrown away]
    #[arg(help_heading = HEADING, long)]
    pub(crate) show_output: bool,

    /// Where the commands' standard output goes: null, pipe (read and thrown away), inherit, or a file, written anew by
    /// every run; once for all commands, or once per command [default: null]
    #[arg(help_heading = HEADING, long = "output", value_name = "WHERE", value_parser = child_output, action = ArgAction::Append, conflicts_with = "show_output")]
    pub(crate) child_output: Vec<Output>,
}

/// Where the help lists them.
const HEADING: &str = "Around the runs";
