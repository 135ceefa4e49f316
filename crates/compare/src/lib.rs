//! `steady compare` and `steady judge`: what to run, in which random order, when to look and when to stop; and the verdicts.
//!
//! A comparison drives a [`Runner`](steady_process::runner::Runner), the one effect it has, and reports what happens as events. It
//! yields a record of raw facts, which [`judge()`] turns into verdicts, now or again later.
#![forbid(unsafe_code)]

mod coins;
mod commands;
mod compare;
mod csv;
mod document;
mod failure;
mod flags;
pub mod json;
pub mod judge;
mod plan;
mod report;
mod revisions;
pub mod run;
mod words;
mod workspace;

use steady_feature::{Feature, Status};

pub use commands::CommandRunner;
pub use csv::csv;
pub use document::{document, joined_document, summary};
pub use failure::failure;
pub use judge::{JoinError, join, judge};
pub use report::Compared;
pub(crate) use steady_render::units;

/// The feature `compare`.
pub const FEATURE: Feature = Feature {
    name: "compare",
    about: "Tell whether a command costs less than another, on this machine as it is",
    flags: Feature::flags_of::<flags::CompareFlags>,
    run: compare::run,
    status: |_| Status::Own,
    records: &[report::COMPARISONS],
    helpers: &[],
};

/// The feature `judge`.
pub const JUDGE: Feature = Feature {
    name: "judge",
    about: "Judge saved samples again, to the same digits; join those of several runs",
    flags: Feature::flags_of::<flags::JudgeFlags>,
    run: judge::files::run,
    status: |_| Status::Own,
    records: &[],
    helpers: &[],
};
