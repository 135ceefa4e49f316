//! Options that make several commands of one: parameters, revisions, an added variable or library.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgAction, Args};

use crate::plan::Given;

/// The options that make several commands of one.
#[derive(Debug, Args)]
pub(crate) struct VariantFlags {
    /// Run each command once for every value. The value replaces {NAME} in the command, its name, its scripts and its
    /// --output. Several lists give all combinations. '\,' is a comma within a value, and {{NAME}} is the text {NAME}.
    /// NAME A,B,... is accepted, too
    #[arg(help_heading = HEADING, short = 'L', long, value_name = "NAME=A,B,...", action = ArgAction::Append)]
    pub(crate) parameter_list: Vec<Given>,

    /// As --parameter-list, with the numbers from MIN to MAX
    #[arg(help_heading = HEADING, short = 'P', long, value_names = ["NAME", "MIN", "MAX"], num_args = 3, action = ArgAction::Append, allow_negative_numbers = true)]
    pub(crate) parameter_scan: Vec<String>,

    /// The step from one number to the next. Give it once for all scans, or once per scan [default: 1]
    #[arg(help_heading = HEADING, short = 'D', long, value_name = "STEP", action = ArgAction::Append, requires = "parameter_scan", allow_negative_numbers = true)]
    pub(crate) parameter_step_size: Vec<String>,

    /// Compare the command without and with this environment variable. Several variables are set together
    #[arg(help_heading = HEADING, long, value_name = "NAME=VALUE", action = ArgAction::Append, value_parser = variable, conflicts_with_all = VARIED)]
    pub(crate) env_new: Vec<(String, String)>,

    /// Compare the command without and with this library preloaded, such as another allocator
    #[arg(help_heading = HEADING, long, value_name = "LIB", action = ArgAction::Append, conflicts_with_all = VARIED)]
    pub(crate) preload_new: Vec<PathBuf>,

    /// Compare the command in these revisions of the current git repository: A..B, or --rev once per revision with the
    /// base first. A...B compares B with the merge base of both, which leaves out later changes of A. WORK is the
    /// working tree as it is
    #[arg(help_heading = HEADING, long, value_name = "REVISION", action = ArgAction::Append, allow_hyphen_values = true, conflicts_with_all = VARIED, conflicts_with_all = CHANGED)]
    pub(crate) rev: Vec<String>,

    /// The shell command that builds a revision. The variable STEADY_REVISION contains the commit
    #[arg(help_heading = HEADING, long, value_name = "COMMAND", requires = "rev", conflicts_with_all = VARIED, conflicts_with_all = CHANGED, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) build: Option<String>,

    /// A shell command that links the program again, with another memory layout for each draw of layouts. It runs in
    /// the directory of each command, and STEADY_LAYOUT contains a random number. Draws are then the units of the test,
    /// so that a difference which only the positions of functions cause is not reported. Give it once for all commands,
    /// or once per command
    #[arg(help_heading = HEADING, long, value_name = "COMMAND", action = ArgAction::Append, conflicts_with = "warm")]
    pub(crate) relink: Vec<String>,

    /// The name of a command in reports. Give it once per command
    #[arg(help_heading = HEADING, short = 'n', long, value_name = "NAME", action = ArgAction::Append)]
    pub(crate) command_name: Vec<String>,

    /// The command with which all others are compared: the name or number of one of them, or one more command [default:
    /// the first]
    #[arg(help_heading = HEADING, long, value_name = "NAME")]
    pub(crate) reference: Option<String>,
}

/// The heading of these options in the help.
const HEADING: &str = "What is compared";

/// Options that revisions, variables and libraries exclude, because they need one command without parameters.
const VARIED: [&str; 2] = ["parameter_list", "parameter_scan"];

/// Options that add a variable or a library, and exclude revisions.
const CHANGED: [&str; 2] = ["env_new", "preload_new"];

/// Variables that `steady` sets for every run.
const OURS: [&str; 3] = ["STEADY_RUN", "STEADY_COMMAND", "STEADY_PADDING"];

/// Parses `NAME=VALUE`, a variable of the environment of commands.
///
/// # Errors
/// The text has another form, or `steady` sets this variable itself.
pub fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, _)) if OURS.contains(&name) => Err(format!("steady sets {name} itself, for every run")),
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
