//! `steady compare` and `steady judge`: the plan of a comparison, the random order of its runs, the looks, and the
//! verdicts.
//!
//! A comparison runs commands through a [`Runner`](steady_process::runner::Runner), which is its only effect, and
//! reports its progress as events. It returns a record of raw data. [`judge()`] is a pure function from the record to
//! verdicts.
#![forbid(unsafe_code)]

pub mod again;
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
pub mod ratchet;
mod report;
pub mod revisions;
pub mod run;
mod words;
mod workspace;

use steady_feature::{Feature, Status};

pub use commands::{CommandRunner, layout_number};
pub use compare::measure_plan;
pub use csv::{csv, joined_csv};
pub use document::{document, joined_document, summary};
pub use failure::failure;
pub use flags::{RunFlags, variable};
pub use judge::{JoinError, join, judge};
pub use plan::plan_of_runs;
pub use report::Compared;
pub(crate) use steady_render::units;
pub use words::{RATIO_MAX, TOO_CLOSE, about_runs, more_pairs, roughness};
pub use workspace::{Workspace, renew};

/// The feature `compare`, which runs and compares commands.
pub const FEATURE: Feature = Feature {
    name: "compare",
    about: "Compare the costs of commands, on this machine as it is",
    flags: Feature::flags_of::<flags::CompareFlags>,
    run: compare::run,
    status: |_| Status::Own,
    records: &[report::COMPARISONS],
    helpers: &[],
};

/// The feature `judge`, which evaluates saved samples.
pub const JUDGE: Feature = Feature {
    name: "judge",
    about: "Evaluate saved samples again, to the same digits; join the samples of several runs",
    flags: Feature::flags_of::<flags::JudgeFlags>,
    run: judge::files::run,
    status: |_| Status::Own,
    records: &[],
    helpers: &[],
};
