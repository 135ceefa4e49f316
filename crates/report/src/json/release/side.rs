//! The two versions, and what the change comes to.

use serde::Deserialize;
use serde_json::Value;
use steady_model::{Interval, ReleaseSaving, ReleaseSide, UnexplainedCpu};

use crate::json::ReadError;
use crate::json::object::Object;
use crate::json::wire::{Seconds, join, required};

/// A version.
pub(super) fn value(side: &ReleaseSide) -> Value {
    let mut object = Object::new();
    object.put("version", side.version.as_str());
    object.put("requests", side.requests);
    object.put("failed", side.failed);
    object.put("warming", side.warming);
    match &side.processes {
        Ok(processes) => object.put("processes", *processes),
        Err(absent) => object.absent("processes", &absent.0),
    }
    object.put("hosts", side.hosts);
    object.put("served_seconds", side.seconds);
    object.time("cpu_mean_seconds", &side.cpu_mean);
    object.time("wall_mean_seconds", &side.wall_mean);
    object.into()
}

/// What the change comes to.
pub(super) fn saving(saving: &ReleaseSaving) -> Value {
    let mut object = Object::new();
    object.put("cpus_used", saving.cpus_used);
    object.put("cpus_saved", saving.cpus_saved);
    object.put("low", saving.interval.low);
    object.put("high", saving.interval.high);
    object.into()
}

/// CPU time of processes that is not that of requests.
pub(super) fn unexplained(unexplained: &UnexplainedCpu) -> Value {
    let mut object = Object::new();
    object.put("ratio", unexplained.ratio);
    for (side, name) in ["old_ratio", "new_ratio"].into_iter().enumerate() {
        match unexplained.sides {
            Some(sides) => object.put(name, sides[side]),
            None => object.absent(name, "versions share processes"),
        }
    }
    object.into()
}

/// The same, to be read.
#[derive(Deserialize)]
pub(super) struct UnexplainedWire {
    ratio: f64,
    #[serde(deserialize_with = "required")]
    old_ratio: Option<f64>,
    #[serde(deserialize_with = "required")]
    new_ratio: Option<f64>,
}

impl UnexplainedWire {
    pub(super) fn into_unexplained(self) -> UnexplainedCpu {
        UnexplainedCpu { ratio: self.ratio, sides: self.old_ratio.zip(self.new_ratio).map(|(old, new)| [old, new]) }
    }
}

/// A version, to be read.
#[derive(Deserialize)]
pub(super) struct SideWire {
    version: String,
    requests: u64,
    failed: u64,
    warming: u64,
    #[serde(deserialize_with = "required")]
    processes: Option<usize>,
    #[serde(default)]
    processes_absent: Option<String>,
    hosts: usize,
    served_seconds: u64,
    #[serde(deserialize_with = "required")]
    cpu_mean_seconds: Option<Seconds>,
    #[serde(default)]
    cpu_mean_seconds_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    wall_mean_seconds: Option<Seconds>,
    #[serde(default)]
    wall_mean_seconds_absent: Option<String>,
}

impl SideWire {
    pub(super) fn into_side(self) -> Result<ReleaseSide, ReadError> {
        let cpu = join("cpu_mean_seconds", self.cpu_mean_seconds, self.cpu_mean_seconds_absent)?;
        let wall = join("wall_mean_seconds", self.wall_mean_seconds, self.wall_mean_seconds_absent)?;
        Ok(ReleaseSide {
            version: self.version,
            requests: self.requests,
            failed: self.failed,
            warming: self.warming,
            processes: join("processes", self.processes, self.processes_absent)?,
            hosts: self.hosts,
            seconds: self.served_seconds,
            cpu_mean: cpu.map(|mean| mean.0),
            wall_mean: wall.map(|mean| mean.0),
        })
    }
}

/// What the change comes to, to be read.
#[derive(Deserialize)]
pub(super) struct SavingWire {
    cpus_used: f64,
    cpus_saved: f64,
    low: f64,
    high: f64,
}

impl From<SavingWire> for ReleaseSaving {
    fn from(wire: SavingWire) -> ReleaseSaving {
        let interval = Interval { low: wire.low, high: wire.high };
        ReleaseSaving { cpus_used: wire.cpus_used, cpus_saved: wire.cpus_saved, interval }
    }
}
