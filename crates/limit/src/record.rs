//! What is kept of a limited command.

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use steady_feature::attended::AttendedCommand;
use steady_model::{Absent, Host, Nanos, Outcome, Reading, Timestamp};
use steady_render::json::{self, ReadError, Schema};

use crate::plan::LimitPlan;

/// The schema of [`LimitRecord`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.limit/1", what: "a limited command" };

/// A limited command that has ended. Its fields are those of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitRecord {
    /// When it was begun.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// The command.
    pub command: AttendedCommand,
    /// Where.
    pub host: Host,
    /// The git revision of the directory that it ran in.
    pub revision: Reading<String>,
    /// The CPU time that its whole process tree might use.
    pub cpu_limit_seconds: Nanos,
    /// The wall time that it might use, waiting for a CPU and stops not counted, over `cpu_limit_seconds`.
    #[serde(deserialize_with = "positive")]
    pub wall_factor: f64,
    /// The same as a time.
    pub wall_limit_seconds: Nanos,
    /// How often its CPU time was read; absent where that was as often as exactness needs.
    pub poll_seconds: Reading<Nanos>,
    /// How long after SIGTERM what was left got SIGKILL.
    pub kill_after_seconds: Nanos,
    /// What ended it.
    pub outcome: LimitOutcome,
    /// How the command itself ended.
    pub ended: Outcome,
    /// CPU time of the whole tree.
    pub cpu_seconds: Nanos,
    /// From its start to its end.
    pub wall_seconds: Nanos,
    /// Of that, time spent waiting for a CPU: it does not count towards the wall limit.
    pub waiting_seconds: Reading<Nanos>,
    /// Of that, time in which it was stopped (job control): it does not count either.
    pub stopped_seconds: Nanos,
    /// CPU time used beyond the limit; absent where the limit was not reached.
    pub overshoot_seconds: Reading<Nanos>,
    /// Share of the time that the hypervisor gave to other guests meanwhile.
    pub steal_ratio: Reading<f64>,
    /// Where the CPU time was read while it ran.
    pub source: CpuSource,
    /// Why better sources were not used, best first.
    pub passed_over: Vec<String>,
    /// Processes that it left behind, and that were ended.
    pub left_behind: u32,
}

impl LimitRecord {
    /// The wall time that a plan allows.
    pub fn wall_limit(plan: &LimitPlan) -> Nanos {
        Nanos::from_seconds(plan.wall_factor * plan.cpu.seconds())
    }

    /// How often a plan has the CPU time read.
    ///
    /// # Errors
    /// It leaves that open.
    pub fn poll(plan: &LimitPlan) -> Reading<Nanos> {
        plan.poll.ok_or_else(|| Absent::because("it was looked as often as exactness needs"))
    }

    /// The record in a JSON text, exactly as it was.
    ///
    /// # Errors
    /// What is wrong with it, and where; no input makes it panic.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        json::record(&SCHEMA, text)
    }
}

/// What ended a limited command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitOutcome {
    /// It ended by itself, within both limits.
    Ok,
    /// It had used its CPU time.
    CpuLimit,
    /// It had used its wall time.
    WallLimit,
}

impl LimitOutcome {
    /// Its name in reports: `ok`, `cpu-limit`, `wall-limit`.
    pub fn name(self) -> &'static str {
        match self {
            LimitOutcome::Ok => "ok",
            LimitOutcome::CpuLimit => "cpu-limit",
            LimitOutcome::WallLimit => "wall-limit",
        }
    }
}

/// Where the CPU time of the tree was read while it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuSource {
    /// A control group of its own, version 2.
    CgroupV2,
    /// A control group of its own, version 1 (cpuacct).
    CgroupV1,
    /// A task-clock event that its descendants inherit.
    TaskClock,
    /// The processes of the tree in /proc, one by one.
    Proc,
}

impl CpuSource {
    /// What it is called: a noun.
    pub fn name(self) -> &'static str {
        match self {
            CpuSource::CgroupV2 => "a control group (version 2)",
            CpuSource::CgroupV1 => "a control group (version 1)",
            CpuSource::TaskClock => "an inherited task-clock event",
            CpuSource::Proc => "the process tree in /proc",
        }
    }
}

/// A finite number above zero.
fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if number.is_finite() && number > 0.0 { Ok(number) } else { Err(D::Error::custom("it must be above zero")) }
}
