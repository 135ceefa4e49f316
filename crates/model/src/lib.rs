//! The contract that every crate of Steadyhand shares: units, the plan of an experiment, the samples it yields,
//! the verdicts made of them and the report that is shown. Types and their rules only: no clock, no files, no output.
#![forbid(unsafe_code)]

mod plan;
mod report;
mod samples;
mod units;
mod verdict;

pub use plan::{Command, Effort, FailIf, FailureRule, Metric, Output, Plan, Seed, parse_percent};
pub use report::{Breakdown, Judgement, LayoutEffect, Load, Report, Spread, Undecided, Warning};
pub use samples::{Activity, Block, Ending, Host, LeftOut, Look, Outcome, Quota, Record, Run};
pub use units::{Absent, Bytes, Nanos, Reading};
pub use verdict::{Interval, Layout, Verdict};
