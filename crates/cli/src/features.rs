//! The table of features: all that the command line knows of them.

use std::ffi::{OsStr, OsString};

use clap::{ArgMatches, Command};
use steady_feature::{Feature, LogKind, RecordKind, Status};
use steady_model::RunKind;

/// Every feature.
pub(crate) static FEATURES: [Feature; 8] = [
    steady_load::FEATURE,
    steady_limit::FEATURE,
    steady_costs::FEATURE,
    steady_locks::FEATURE,
    steady_host::FEATURE,
    steady_signature::FEATURE,
    steady_agent::FEATURE,
    steady_release::FEATURE,
];

/// The subcommands in the order of the help, features or not. One that is missing here comes last.
const ORDER: [&str; 15] = [
    "compare",
    "load",
    "judge",
    "limit",
    "costs",
    "explain",
    "locks",
    "warm",
    "host",
    "agent",
    "signature",
    "release",
    "history",
    "completions",
    "man",
];

/// Adds the features to the subcommands of `steady`, and puts all of them in order.
pub(crate) fn with_features(steady: Command) -> Command {
    let mut steady = FEATURES.iter().fold(steady, |steady, feature| steady.subcommand(feature.command()));
    let mut subcommands: Vec<Command> = steady.get_subcommands_mut().map(std::mem::take).collect();
    let place = |command: &Command| ORDER.iter().position(|name| *name == command.get_name()).unwrap_or(ORDER.len());
    subcommands.sort_by_key(place);
    for (at, (slot, subcommand)) in steady.get_subcommands_mut().zip(subcommands).enumerate() {
        *slot = subcommand.display_order(at);
    }
    steady
}

/// The feature that a command line names, and its part of it.
pub(crate) fn named(matches: &ArgMatches) -> Option<(&'static Feature, &ArgMatches)> {
    let (name, matches) = matches.subcommand()?;
    FEATURES.iter().find(|feature| feature.name == name).map(|feature| (feature, matches))
}

/// Whose status a call returns, by the name of its subcommand and the words behind it.
pub(crate) fn status(name: &OsStr, words: &[OsString]) -> Status {
    let feature = FEATURES.iter().find(|feature| name == feature.name);
    feature.map_or(Status::Own, |feature| (feature.status)(words))
}

/// How records of a kind are read.
pub(crate) fn record_kind(kind: RunKind) -> Option<&'static RecordKind> {
    FEATURES.iter().flat_map(|feature| feature.records).find(|record| record.kind == kind)
}

/// How the logs of features are read.
pub(crate) fn logs() -> impl Iterator<Item = LogKind> {
    FEATURES.iter().flat_map(|feature| feature.records).filter_map(|record| record.log)
}

#[cfg(test)]
mod tests {
    use crate::flags::Flags;

    use super::*;

    #[test]
    fn the_help_lists_every_subcommand_in_order() {
        let mut steady = Flags::with_features().disable_help_subcommand(true);
        let names: Vec<&str> = steady.get_subcommands().map(Command::get_name).collect();
        assert_eq!(names, ORDER);
        let help = steady.render_help().to_string();
        let listed: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
        assert_eq!(listed.into_iter().filter(|name| ORDER.contains(name)).collect::<Vec<_>>(), ORDER);
    }
}
