//! A command that is ended by the CPU time that it used.

use serde::{Deserialize, Serialize};

use crate::{Command, Nanos};

/// What is allowed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitPlan {
    /// The command.
    pub command: Command,
    /// The CPU time that its whole process tree may use.
    pub cpu: Nanos,
    /// The wall time that it may use, time spent waiting for a CPU not counted, over `cpu`.
    pub wall_factor: f64,
    /// How often to look; as often as exactness needs where it is not given.
    pub poll: Option<Nanos>,
    /// How long after the first signal the tree is killed.
    pub kill_after: Nanos,
}

/// What ended a limited command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
