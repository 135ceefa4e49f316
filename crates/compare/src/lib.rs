//! The experiments of Steadyhand: what to run, in which random order, when to look and when to stop.
//!
//! An experiment drives a [`Runner`](steady_process::runner::Runner), the one effect it has, and tells what happens as events; it yields a record of
//! raw facts, which [`judge()`] turns into verdicts, now or again later.
#![forbid(unsafe_code)]

mod coins;
mod commands;
mod csv;
mod document;
mod flags;
pub mod json;
pub mod judge;
mod report;
pub mod run;
mod words;

use steady_feature::{Feature, Status};

pub use commands::CommandRunner;
pub use csv::csv;
pub use document::{document, headline, joined_document, sentence, summary};
pub use judge::{JoinError, join, judge, status};
pub use report::{COMPARISONS, Compared, Together};
pub(crate) use steady_render::units;
pub use words::warning_message;

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
