//! The contract that every crate of Steadyhand shares: units, the plan of an experiment, the samples it yields,
//! the verdicts made of them and the report that is shown. Types and their rules only: no clock, no files, no output.
#![forbid(unsafe_code)]

mod costs;
mod explain;
mod host;
mod joined;
mod kept;
mod load;
mod machine;
mod plan;
mod release;
mod report;
mod rulers;
mod samples;
mod units;
mod verdict;
mod warm;

pub use costs::{KernelCall, Probe, Timed};
pub use explain::{
    AluTime, CallCount, Counts, Difference, ExplainPairRecord, ExplainPairReport, ExplainPlan, ExplainRecord,
    ExplainReport, Line, Part, Price, Priced, Prices, ProcessUse, Progress,
};
pub use host::{Condition, ConditionState, Knob, KnobState};
pub use joined::{Agreement, Homogeneity, Joined, Source};
pub use kept::{Facts, Kept, RunKind};
pub use load::{
    CountRange, CpuUse, Fitted, LoadPlan, LoadPoint, LoadRecord, LoadReport, LoadRow, LoadRun, LoadWork,
    ScalabilityLaw, Scaling,
};
pub use machine::Machine;
pub use plan::{Command, Effort, FailIf, FailureRule, Hook, Metric, Output, PerCommand, Plan, Seed, parse_percent};
pub use release::{
    ALL_PROCESSES, Assignment, HostSecond, LevelSums, ProcessRow, ReleaseRow, ReleaseRows, ReleaseRulerRow, Request,
    RequestProcess, RequestRuler, RequestSums, RulerSums, TimeSlot, WALL_BUCKETS, WALL_SECONDS, WallRow, wall_bucket,
    wall_bucket_middle,
};
pub use report::{
    Breakdown, CounterMeans, DecidedBy, Judgement, LayoutEffect, Load, Report, Sight, Size, Spread, StartUp, Undecided,
    Warning,
};
pub use rulers::{Neighbour, Resource, RulerReading, RulerRecord, RulerRow};
pub use samples::{
    Activity, Block, Cold, CounterScope, Counters, Ending, Host, LeftOut, Look, Moment, Outcome, Quota, Record, Run,
};
pub use units::{Absent, Bytes, Nanos, Reading, Timestamp};
pub use verdict::{Interval, Layout, Verdict};
pub use warm::{
    BreakEven, PaidBack, WarmBenchPlan, WarmBenchRecord, WarmBenchReport, WarmCounts, WarmEffect, WarmFigures,
    WarmMean, WarmMeasure, WarmMode, WarmProgram, WarmRun, WarmSession, WarmSpent, WarmTrial,
};
pub use warm::{KeptProgram, LaunchOutcome, WarmQuestion, WarmReport, WarmState, WarmStore};
