//! The table of features. The command line uses features only through this table.

use std::ffi::{OsStr, OsString};

use clap::{ArgMatches, Command};
use steady_feature::{Feature, LogKind, RecordKind, Status};

/// All features, in the order of the help.
pub(crate) static FEATURES: &[Feature] = &[
    steady_compare::FEATURE,
    steady_bench::FEATURE,
    steady_bisect::FEATURE,
    steady_load::FEATURE,
    steady_compare::JUDGE,
    steady_limit::FEATURE,
    steady_costs::FEATURE,
    steady_explain::FEATURE,
    steady_locks::FEATURE,
    steady_warm::FEATURE,
    steady_host::FEATURE,
    steady_agent::FEATURE,
    steady_signature::FEATURE,
    steady_release::FEATURE,
];

/// Adds the features as subcommands, before the other subcommands of `steady`.
pub(crate) fn with_features(steady: Command) -> Command {
    let mut steady = FEATURES.iter().fold(steady, |steady, feature| steady.subcommand(feature.command()));
    let mut subcommands: Vec<Command> = steady.get_subcommands_mut().map(std::mem::take).collect();
    let place = |command: &Command| FEATURES.iter().position(|feature| feature.name == command.get_name());
    subcommands.sort_by_key(|command| place(command).unwrap_or(FEATURES.len()));
    for (at, (slot, subcommand)) in steady.get_subcommands_mut().zip(subcommands).enumerate() {
        *slot = subcommand.display_order(at);
    }
    steady
}

/// The feature that the command line selects, and the matches of its flags.
pub(crate) fn named(matches: &ArgMatches) -> Option<(&'static Feature, &ArgMatches)> {
    let (name, matches) = matches.subcommand()?;
    FEATURES.iter().find(|feature| feature.name == name).map(|feature| (feature, matches))
}

/// Whose exit status a call returns, from the name of its subcommand and the words after it.
pub(crate) fn status(name: &OsStr, words: &[OsString]) -> Status {
    let feature = FEATURES.iter().find(|feature| name == feature.name);
    feature.map_or(Status::Own, |feature| (feature.status)(words))
}

/// The description of a kind of record. `None` if no feature has this kind.
pub(crate) fn record_kind(name: &str) -> Option<&'static RecordKind> {
    FEATURES.iter().flat_map(|feature| feature.records).find(|record| record.kind.name() == name)
}

/// The kinds of logs of all features.
pub(crate) fn logs() -> impl Iterator<Item = LogKind> {
    FEATURES.iter().flat_map(|feature| feature.records).filter_map(|record| record.log)
}

#[cfg(test)]
mod tests {
    use steady_model::RunKind;

    use crate::flags::Flags;

    use super::*;

    #[test]
    fn the_help_lists_every_subcommand_in_order() {
        let mut steady = Flags::with_features().disable_help_subcommand(true);
        let names: Vec<String> = steady.get_subcommands().map(|command| command.get_name().to_owned()).collect();
        let features: Vec<&str> = FEATURES.iter().map(|feature| feature.name).collect();
        assert_eq!(names, [&features[..], &["history", "completions", "man"]].concat());
        let help = steady.render_help().to_string();
        let listed: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
        assert_eq!(listed.into_iter().filter(|name| names.iter().any(|one| one == name)).collect::<Vec<_>>(), names);
    }

    #[test]
    fn kinds_of_records_are_distinct_names() {
        let kinds: Vec<&RecordKind> = FEATURES.iter().flat_map(|feature| feature.records).collect();
        for kind in &kinds {
            assert_eq!(kinds.iter().filter(|other| other.kind == kind.kind).count(), 1, "{:?}", kind.kind);
            assert_eq!(RunKind::parse(kind.kind.name()).as_ref(), Some(&kind.kind), "a database refuses this name");
        }
        assert!(record_kind("compare").is_some() && record_kind("novelty").is_none());
    }
}
