//! The table of features: all that the command line knows of them.

use clap::ArgMatches;
use steady_feature::{Feature, RecordKind};
use steady_model::RunKind;

/// Every feature.
pub(crate) static FEATURES: [Feature; 1] = [steady_limit::FEATURE];

/// The feature that a command line names, and its part of it.
pub(crate) fn named(matches: &ArgMatches) -> Option<(&'static Feature, &ArgMatches)> {
    let (name, matches) = matches.subcommand()?;
    FEATURES.iter().find(|feature| feature.name == name).map(|feature| (feature, matches))
}

/// How records of a kind are read.
pub(crate) fn record_kind(kind: RunKind) -> Option<&'static RecordKind> {
    FEATURES.iter().flat_map(|feature| feature.records).find(|record| record.kind == kind)
}
