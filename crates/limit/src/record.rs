//! The record of a limited command.

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use steady_feature::attended::AttendedCommand;
use steady_model::{Absent, Host, Nanos, Outcome, Reading, RunKind, Timestamp};
use steady_render::json::{self, ReadError, Schema};

use crate::plan::LimitPlan;

/// The schema of [`LimitRecord`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.limit/1", what: "a limited command" };
/// The kind of this record in the history.
pub(crate) const KIND: RunKind = RunKind::new("limit");

/// A limited command that has ended. Its fields are those of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitRecord {
    /// Time at which the command started.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// The command and its arguments.
    pub command: AttendedCommand,
    /// The machine on which the command ran.
    pub host: Host,
    /// Git revision of the working directory of the command.
    pub revision: Reading<String>,
    /// CPU time that the whole process tree may use.
    pub cpu_limit_seconds: Nanos,
    /// Wall limit divided by `cpu_limit_seconds`. Waiting for a CPU and stops do not count.
    #[serde(deserialize_with = "positive")]
    pub wall_factor: f64,
    /// Wall limit: `wall_factor` times `cpu_limit_seconds`.
    pub wall_limit_seconds: Nanos,
    /// Interval at which CPU time was read; not available if it was read as often as precision requires.
    pub poll_seconds: Reading<Nanos>,
    /// Time between SIGTERM and SIGKILL at a limit.
    pub kill_after_seconds: Nanos,
    /// Limit that was reached, or `ok` if the command ended within its limits.
    pub outcome: LimitOutcome,
    /// Exit status of the command, or the signal that ended it.
    pub ended: Outcome,
    /// Whether the command was killed, `kill_after_seconds` after SIGTERM at a limit. Missing in records of earlier
    /// versions.
    #[serde(default)]
    pub killed: bool,
    /// CPU time of the whole process tree.
    pub cpu_seconds: Nanos,
    /// Wall time from the start of the command to its end.
    pub wall_seconds: Nanos,
    /// Part of the wall time spent waiting for a CPU. It does not count towards the wall limit.
    pub waiting_seconds: Reading<Nanos>,
    /// Part of the wall time in which the command was stopped (job control). It does not count towards the wall limit.
    pub stopped_seconds: Nanos,
    /// CPU time used beyond the limit; not available if the limit was not reached.
    pub overshoot_seconds: Reading<Nanos>,
    /// Share of the CPU time that the hypervisor gave to other guests during the run.
    pub steal_ratio: Reading<f64>,
    /// Source from which the CPU time was read while the command ran.
    pub source: CpuSource,
    /// Sources that are better than the one used, best first, each with the reason why it could not be used.
    pub passed_over: Vec<String>,
    /// Number of processes that the command left behind. They were killed.
    pub left_behind: u32,
}

impl LimitRecord {
    /// Returns the wall time that a plan allows.
    pub fn wall_limit(plan: &LimitPlan) -> Nanos {
        Nanos::from_seconds(plan.wall_factor * plan.cpu.seconds())
    }

    /// Returns the interval at which a plan requires the CPU time to be read.
    ///
    /// # Errors
    /// The plan has no fixed interval.
    pub fn poll(plan: &LimitPlan) -> Reading<Nanos> {
        plan.poll.ok_or_else(|| Absent::because("CPU time was read as often as precision requires"))
    }

    /// Parses a record from its JSON text.
    ///
    /// # Errors
    /// What is wrong with the text, and where. No input makes it panic.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        json::record(&SCHEMA, text)
    }
}

/// How a limited command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitOutcome {
    /// It ended by itself, within both limits.
    Ok,
    /// It used all of its CPU time.
    CpuLimit,
    /// It used all of its wall time.
    WallLimit,
}

impl LimitOutcome {
    /// Name of the outcome in reports: `ok`, `cpu-limit`, `wall-limit`.
    pub fn name(self) -> &'static str {
        match self {
            LimitOutcome::Ok => "ok",
            LimitOutcome::CpuLimit => "cpu-limit",
            LimitOutcome::WallLimit => "wall-limit",
        }
    }
}

/// Sources of the CPU time of a process tree while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuSource {
    /// Control group of the command, version 2.
    CgroupV2,
    /// Control group of the command, version 1 (cpuacct).
    CgroupV1,
    /// A perf task-clock event that descendants inherit.
    TaskClock,
    /// The processes of the tree in /proc, read one by one.
    Proc,
}

impl CpuSource {
    /// Name of the source in reports: a noun phrase.
    pub fn name(self) -> &'static str {
        match self {
            CpuSource::CgroupV2 => "a control group (version 2)",
            CpuSource::CgroupV1 => "a control group (version 1)",
            CpuSource::TaskClock => "an inherited task-clock event",
            CpuSource::Proc => "the process tree in /proc",
        }
    }
}

/// Deserializes a finite number above zero.
fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if number.is_finite() && number > 0.0 { Ok(number) } else { Err(D::Error::custom("it must be above zero")) }
}
