//! The record as it travels: what of an export is read back.

use serde::{Deserialize, Serialize};
use steady_model::{Command, CpuUse, LoadPlan, LoadRow, LoadRun, LoadWork, Outcome, RulerReading, Seed};

use crate::json::ReadError;
use crate::json::wire::{ActivityWire, RulerReadingWire, Seconds, join, required, split, split_ratio};

/// [`LoadPlan`] in JSON, less the seed.
#[derive(Deserialize)]
pub(super) struct LoadPlanWire {
    work: WorkWire,
    procs: Vec<u32>,
    #[serde(deserialize_with = "required")]
    cpus: Option<Vec<usize>>,
}

/// [`LoadWork`] in JSON.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum WorkWire {
    Hash {
        cpu_time_seconds: Seconds,
        #[serde(deserialize_with = "required")]
        poll_seconds: Option<Seconds>,
    },
    Sum {
        work: u64,
    },
    Command {
        command: Command,
        window_seconds: Seconds,
    },
}

impl LoadPlanWire {
    /// The plan, with the seed from the top.
    pub(super) fn into_plan(self, seed: Seed) -> LoadPlan {
        let work = match self.work {
            WorkWire::Hash { cpu_time_seconds, poll_seconds } => {
                LoadWork::Hash { cpu_time: cpu_time_seconds.0, poll: poll_seconds.map(|seconds| seconds.0) }
            }
            WorkWire::Sum { work } => LoadWork::Sum { work },
            WorkWire::Command { command, window_seconds } => LoadWork::Command { command, window: window_seconds.0 },
        };
        LoadPlan { work, procs: self.procs, cpus: self.cpus, seed }
    }
}

/// What of a row makes up [`LoadRow`]; all else is derived from it.
#[derive(Deserialize)]
pub(super) struct LoadRowWire {
    procs: u32,
    pub(super) order: usize,
    started_seconds: Seconds,
    elapsed_seconds: Seconds,
    #[serde(deserialize_with = "required")]
    others_cpu_seconds: Option<Seconds>,
    #[serde(default)]
    others_cpu_seconds_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    own_cpu_seconds: Option<Seconds>,
    #[serde(default)]
    own_cpu_seconds_absent: Option<String>,
    cpus: Vec<CpuUseWire>,
    rulers: Vec<RulerReadingWire>,
    activity: ActivityWire,
    runs: Vec<LoadRunWire>,
}

impl LoadRowWire {
    /// The row; an error where a reading has neither value nor reason.
    pub(super) fn into_row(self) -> Result<LoadRow, ReadError> {
        let others = join("others_cpu_seconds", self.others_cpu_seconds, self.others_cpu_seconds_absent)?;
        let own = join("own_cpu_seconds", self.own_cpu_seconds, self.own_cpu_seconds_absent)?;
        let numbered =
            |what: &'static str| move |(at, error): (usize, ReadError)| error.within(&format!("{what}[{at}]"));
        let runs = self.runs.into_iter().enumerate().map(|(at, run)| run.into_run().map_err(|error| (at, error)));
        let cpus = self.cpus.into_iter().enumerate().map(|(at, cpu)| cpu.into_use().map_err(|error| (at, error)));
        Ok(LoadRow {
            procs: self.procs,
            started: self.started_seconds.0,
            elapsed: self.elapsed_seconds.0,
            runs: runs.collect::<Result<_, _>>().map_err(numbered("runs"))?,
            cpus: cpus.collect::<Result<_, _>>().map_err(numbered("cpus"))?,
            others_cpu: others.map(|seconds| seconds.0),
            own_cpu: own.map(|seconds| seconds.0),
            activity: self.activity.into_activity().map_err(|error| error.within("activity"))?,
            rulers: self.rulers.into_iter().map(RulerReading::from).collect(),
        })
    }
}

/// [`CpuUse`] in JSON.
#[derive(Serialize, Deserialize)]
pub(super) struct CpuUseWire {
    cpu: usize,
    #[serde(deserialize_with = "required")]
    busy_ratio: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    busy_ratio_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    ours_ratio: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ours_ratio_absent: Option<String>,
}

impl From<&CpuUse> for CpuUseWire {
    fn from(cpu: &CpuUse) -> Self {
        let (busy_ratio, busy_ratio_absent) = split_ratio(&cpu.busy_ratio);
        let (ours_ratio, ours_ratio_absent) = split_ratio(&cpu.ours_ratio);
        CpuUseWire { cpu: cpu.cpu, busy_ratio, busy_ratio_absent, ours_ratio, ours_ratio_absent }
    }
}

impl CpuUseWire {
    fn into_use(self) -> Result<CpuUse, ReadError> {
        Ok(CpuUse {
            cpu: self.cpu,
            busy_ratio: join("busy_ratio", self.busy_ratio, self.busy_ratio_absent)?,
            ours_ratio: join("ours_ratio", self.ours_ratio, self.ours_ratio_absent)?,
        })
    }
}

/// [`LoadRun`] in JSON.
#[derive(Serialize, Deserialize)]
pub(super) struct LoadRunWire {
    user_seconds: Seconds,
    system_seconds: Seconds,
    wall_seconds: Seconds,
    #[serde(deserialize_with = "required")]
    run_delay_seconds: Option<Seconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run_delay_seconds_absent: Option<String>,
    work: u64,
    #[serde(deserialize_with = "required")]
    overshoot_seconds: Option<Seconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    overshoot_seconds_absent: Option<String>,
    outcome: Outcome,
}

impl From<&LoadRun> for LoadRunWire {
    fn from(run: &LoadRun) -> Self {
        let (run_delay_seconds, run_delay_seconds_absent) = split(&run.run_delay, Seconds);
        let (overshoot_seconds, overshoot_seconds_absent) = split(&run.overshoot, Seconds);
        LoadRunWire {
            user_seconds: Seconds(run.user),
            system_seconds: Seconds(run.system),
            wall_seconds: Seconds(run.wall),
            run_delay_seconds,
            run_delay_seconds_absent,
            work: run.work,
            overshoot_seconds,
            overshoot_seconds_absent,
            outcome: run.outcome,
        }
    }
}

impl LoadRunWire {
    fn into_run(self) -> Result<LoadRun, ReadError> {
        let delay = join("run_delay_seconds", self.run_delay_seconds, self.run_delay_seconds_absent)?;
        let overshoot = join("overshoot_seconds", self.overshoot_seconds, self.overshoot_seconds_absent)?;
        Ok(LoadRun {
            user: self.user_seconds.0,
            system: self.system_seconds.0,
            wall: self.wall_seconds.0,
            run_delay: delay.map(|seconds| seconds.0),
            work: self.work,
            overshoot: overshoot.map(|seconds| seconds.0),
            outcome: self.outcome,
        })
    }
}
