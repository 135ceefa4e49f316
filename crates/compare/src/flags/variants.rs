//! What is compared, where that is more than the commands as they stand: parameters, revisions, one thing changed.

use std::path::PathBuf;

use clap::{ArgAction, Args};

use crate::plan::ParameterList;

/// The options that make several commands of one.
#[derive(Debug, Args)]
pub(crate) struct VariantFlags {
    /// Run each command with every value for {NAME} in it, in its name, its scripts and its --output; several lists
    /// give all combinations. '\,' is a comma within a value, and {{NAME}} stands for the text {NAME}
    #[arg(help_heading = HEADING, short = 'L', long, value_name = "NAME=A,B,...", action = ArgAction::Append)]
    pub(crate) parameter_list: Vec<ParameterList>,

    /// The same with the numbers from MIN to MAX
    #[arg(help_heading = HEADING, short = 'P', long, value_names = ["NAME", "MIN", "MAX"], num_args = 3, action = ArgAction::Append, allow_negative_numbers = true)]
    pub(crate) parameter_scan: Vec<String>,

    /// The step from one number to the next: once for all scans, or once per scan [default: 1]
    #[arg(help_heading = HEADING, short = 'D', long, value_name = "STEP", action = ArgAction::Append, requires = "parameter_scan", allow_negative_numbers = true)]
    pub(crate) parameter_step_size: Vec<String>,

    /// Run the one command with this variable set beside the same without it; several are set together
    #[arg(help_heading = HEADING, long, value_name = "NAME=VALUE", action = ArgAction::Append, value_parser = variable, conflicts_with_all = VARIED)]
    pub(crate) env_new: Vec<(String, String)>,

    /// Run the one command with this library preloaded beside the same without it: another allocator, for example
    #[arg(help_heading = HEADING, long, value_name = "LIB", action = ArgAction::Append, conflicts_with_all = VARIED)]
    pub(crate) preload_new: Vec<PathBuf>,

    /// Run the one command in these revisions of the git repository at hand: A..B, or --rev once per revision, the
    /// first being the base. WORK is the working tree as it is
    #[arg(help_heading = HEADING, long, value_name = "REVISION", action = ArgAction::Append, conflicts_with_all = VARIED, conflicts_with_all = CHANGED)]
    pub(crate) rev: Vec<String>,

    /// The shell command that builds a revision; it finds the commit in STEADY_REVISION
    #[arg(help_heading = HEADING, long, value_name = "COMMAND", requires = "rev")]
    pub(crate) build: Option<String>,

    /// What reports call a command: once per command
    #[arg(help_heading = HEADING, short = 'n', long, value_name = "NAME", action = ArgAction::Append)]
    pub(crate) command_name: Vec<String>,
}

/// Where the help lists them.
const HEADING: &str = "What is compared";

/// What takes one command as it is, and does not go with these.
const VARIED: [&str; 2] = ["parameter_list", "parameter_scan"];

/// What changes one thing in it, and does not go with revisions.
const CHANGED: [&str; 2] = ["env_new", "preload_new"];

/// Variables that every run gets from `steady` itself.
const OURS: [&str; 3] = ["STEADY_RUN", "STEADY_COMMAND", "STEADY_PADDING"];

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, _)) if OURS.contains(&name) => Err(format!("{name} is set by steady, for every run")),
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_have_a_name_and_any_value() {
        assert_eq!(variable("A="), Ok(("A".to_owned(), String::new())));
        assert_eq!(variable("A=b=c"), Ok(("A".to_owned(), "b=c".to_owned())));
        for wrong in ["", "A", "=b", "STEADY_RUN=1"] {
            assert!(variable(wrong).is_err(), "{wrong}");
        }
    }
}
