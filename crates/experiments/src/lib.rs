//! The experiments of Steadyhand: what to run, in which random order, when to look and when to stop.
//!
//! An experiment drives a [`Runner`](steady_process::runner::Runner), the one effect it has, and tells what happens as events; it yields a record of
//! raw facts, which [`judge()`] turns into verdicts, now or again later.
#![forbid(unsafe_code)]

mod coins;
mod commands;
pub mod compare;
mod flags;
pub mod judge;
mod report;

use steady_feature::{Feature, Status};

pub use commands::CommandRunner;
pub use judge::{JoinError, join, judge, status};
pub use report::{COMPARISONS, Compared, Together};

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
