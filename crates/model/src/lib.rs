//! Types that every crate of Steadyhand shares: units, plans of experiments, samples, verdicts and reports. Types and
//! their rules only: no clock, no files, no output.
#![forbid(unsafe_code)]

mod costs;
mod host;
mod joined;
mod kept;
mod machine;
mod metric;
mod overflow;
pub mod path;
mod plan;
mod release;
mod report;
mod samples;
pub mod split;
mod units;
mod verdict;

pub use costs::{CallCount, KernelCall, Probe, Timed};
pub use host::{Condition, ConditionState, Knob, KnobState};
pub use joined::{Agreement, Homogeneity, Joined, Source};
pub use kept::{Facts, Kept, RunKind};
pub use machine::{AluTime, Machine, Resource};
pub use metric::{CUSTOM_METRICS_MAX, CustomMetric, Metric, MetricInput, MetricSource, Pattern};
pub use overflow::OverflowCheck;
pub use plan::{
    Candidate, CandidateComparison, Command, Effort, FailIf, FailureRule, GateState, Hook, NotPercent, Output,
    PerCommand, Plan, Seed, parse_percent,
};
pub use release::{
    ALL_PROCESSES, Assignment, HostSecond, LevelSums, ProcessRow, ReleaseRow, ReleaseRows, ReleaseRulerRow, Request,
    RequestProcess, RequestRuler, RequestSums, RulerSums, TimeSlot, WALL_BUCKETS, WALL_SECONDS, WallRow, wall_bucket,
    wall_bucket_middle,
};
pub use report::{
    Breakdown, CounterMeans, DecidedBy, Judgement, LayoutEffect, Load, Rank, Report, Sight, Size, Spread, StartUp,
    Undecided, Warning,
};
pub use samples::{
    Activity, Block, Cold, CounterScope, Counters, Ending, Host, LeftOut, Look, Moment, Outcome, Quota, Record, Run,
};
pub use units::{Absent, Bytes, Nanos, Reading, Timestamp, ends, if_finite, required};
pub use verdict::{Interval, Layout, Verdict};
