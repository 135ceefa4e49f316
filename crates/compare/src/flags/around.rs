//! Options about the user's scripts around the runs, and about input and output of the runs.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use steady_model::Output;

use super::values::child_output;

/// The options about scripts and streams.
#[derive(Debug, Args)]
pub(crate) struct AroundFlags {
    /// A shell command to run before the first run of a command. If several commands are given, this option and the next
    /// three can be given once for all, or once per command
    #[arg(help_heading = HEADING, short, long, value_name = "COMMAND", action = ArgAction::Append)]
    pub(crate) setup: Vec<String>,

    /// A shell command to run before every run. It is not measured
    #[arg(help_heading = HEADING, short, long, value_name = "COMMAND", action = ArgAction::Append)]
    pub(crate) prepare: Vec<String>,

    /// A shell command to run after every run. It is not measured
    #[arg(help_heading = HEADING, short = 'C', long, value_name = "COMMAND", action = ArgAction::Append)]
    pub(crate) conclude: Vec<String>,

    /// A shell command to run after the last run of a command, also if the comparison fails or is interrupted
    #[arg(help_heading = HEADING, short, long, value_name = "COMMAND", action = ArgAction::Append)]
    pub(crate) cleanup: Vec<String>,

    /// The file that every run reads as standard input [default: /dev/null]
    #[arg(help_heading = HEADING, long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,

    /// Show the output of the commands, on standard error [default: discarded]
    #[arg(help_heading = HEADING, long)]
    pub(crate) show_output: bool,

    /// Where the commands' standard output goes: null, pipe (read and discarded), inherit, or a file that every run
    /// overwrites. If several commands are given, once for all or once per command [default: null]
    #[arg(help_heading = HEADING, long = "output", value_name = "WHERE", value_parser = child_output, action = ArgAction::Append, conflicts_with = "show_output")]
    pub(crate) child_output: Vec<Output>,
}

/// The heading of these options in the help.
const HEADING: &str = "Around the runs";
