//! The contract that every crate of Steadyhand shares: units, the plan of an experiment, the samples it yields,
//! the verdicts made of them and the report that is shown. Types and their rules only: no clock, no files, no output.
#![forbid(unsafe_code)]

mod joined;
mod kept;
mod plan;
mod report;
mod samples;
mod units;
mod verdict;

pub use joined::{Agreement, Homogeneity, Joined, Source};
pub use kept::{Facts, Kept};
pub use plan::{Command, Effort, FailIf, FailureRule, Hook, Metric, Output, PerCommand, Plan, Seed, parse_percent};
pub use report::{Breakdown, CounterMeans, Judgement, LayoutEffect, Load, Report, Sight, Spread, Undecided, Warning};
pub use samples::{
    Activity, Block, CounterScope, Counters, Ending, Host, LeftOut, Look, Moment, Outcome, Quota, Record, Run,
};
pub use units::{Absent, Bytes, Nanos, Reading, Timestamp};
pub use verdict::{Interval, Layout, Verdict};
