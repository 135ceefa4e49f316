//! The record as it travels: what of an export is read back.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use steady_model::{ClockFacts, CostsPlan, Measured, Probe, Reading, Repetition, Seed, Timed};

use crate::json::ReadError;
use crate::json::wire::{Seconds, join, required};

/// [`CostsPlan`] in JSON, less the seed and the CPUs.
#[derive(Deserialize)]
pub(super) struct CostsPlanWire {
    probes: Vec<ProbeName>,
    repetitions: u32,
    budget_seconds: Seconds,
    sweep: bool,
}

/// The CPUs that it ran on.
#[derive(Deserialize)]
pub(super) struct AffinityWire {
    cpu: usize,
    #[serde(deserialize_with = "required")]
    other_cpu: Option<usize>,
    #[serde(default)]
    other_cpu_absent: Option<String>,
}

impl CostsPlanWire {
    /// The plan, with the seed and the CPUs from the top.
    pub(super) fn into_plan(self, seed: Seed, affinity: AffinityWire) -> Result<CostsPlan, ReadError> {
        let other = join("other_cpu", affinity.other_cpu, affinity.other_cpu_absent);
        Ok(CostsPlan {
            probes: self.probes.into_iter().map(|name| name.0).collect(),
            repetitions: self.repetitions,
            budget: self.budget_seconds.0,
            cpus: (affinity.cpu, other.map_err(|error| error.within("affinity"))?),
            sweep: self.sweep,
            seed,
        })
    }
}

/// A probe by its name.
struct ProbeName(Probe);

impl<'de> Deserialize<'de> for ProbeName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = Probe::all().find(|probe| probe.name() == name);
        found.map(ProbeName).ok_or_else(|| D::Error::custom(format!("there is no probe '{name}'")))
    }
}

/// What of a clock makes up [`ClockFacts`]; all else is knowledge.
#[derive(Deserialize)]
pub(super) struct ClockWire {
    name: String,
    probe: ProbeName,
    stated_resolution_seconds: Seconds,
    #[serde(deserialize_with = "required")]
    smallest_step_seconds: Option<Seconds>,
    #[serde(default)]
    smallest_step_seconds_absent: Option<String>,
}

impl ClockWire {
    pub(super) fn into_clock(self) -> Result<ClockFacts, ReadError> {
        let step = join("smallest_step_seconds", self.smallest_step_seconds, self.smallest_step_seconds_absent)?;
        Ok(ClockFacts {
            probe: self.probe.0,
            name: self.name,
            stated_resolution: self.stated_resolution_seconds.0,
            smallest_step: step.map(|step| step.0),
        })
    }
}

/// What of a probe makes up [`Measured`], or why there is none; all else is derived from it.
#[derive(Deserialize)]
pub(super) struct ProbeWire {
    name: ProbeName,
    #[serde(deserialize_with = "required")]
    loops: Option<u64>,
    #[serde(deserialize_with = "required")]
    events_per_loop: Option<f64>,
    #[serde(deserialize_with = "required")]
    subtracted: Option<String>,
    #[serde(deserialize_with = "required")]
    calls_per_loop: Option<f64>,
    #[serde(default)]
    calls_per_loop_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    expected_calls_per_loop: Option<f64>,
    #[serde(deserialize_with = "required")]
    alu_seconds: Option<f64>,
    #[serde(default)]
    alu_seconds_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    samples: Option<Vec<RepetitionWire>>,
    #[serde(default)]
    samples_absent: Option<String>,
}

impl ProbeWire {
    /// The probe, with what was measured of it; an error where something has neither value nor reason.
    pub(super) fn into_pair(self) -> Result<(Probe, Reading<Measured>), ReadError> {
        let probe = self.name.0;
        let samples = match join("samples", self.samples, self.samples_absent)? {
            Ok(samples) => samples,
            Err(absent) => return Ok((probe, Err(absent))),
        };
        let there = |name: &str| ReadError::field(name, "null, and yet there are samples");
        let calls = match (
            join("calls_per_loop", self.calls_per_loop, self.calls_per_loop_absent)?,
            self.expected_calls_per_loop,
        ) {
            (Ok(counted), Some(expected)) => Ok((counted, expected)),
            (Ok(_), None) => return Err(there("expected_calls_per_loop")),
            (Err(absent), _) => Err(absent),
        };
        let measured = Measured {
            probe,
            loops: self.loops.ok_or_else(|| there("loops"))?,
            events_per_loop: self.events_per_loop.ok_or_else(|| there("events_per_loop"))?,
            subtracted: self.subtracted.ok_or_else(|| there("subtracted"))?,
            calls_per_loop: calls,
            alu_seconds: join("alu_seconds", self.alu_seconds, self.alu_seconds_absent)?,
            repetitions: samples.into_iter().map(Repetition::from).collect(),
        };
        Ok((probe, Ok(measured)))
    }
}

/// [`Repetition`] in JSON.
#[derive(Serialize, Deserialize)]
pub(super) struct RepetitionWire {
    started_seconds: Seconds,
    empty_first: bool,
    probe: TimedWire,
    empty: TimedWire,
}

/// [`Timed`] in JSON.
#[derive(Serialize, Deserialize)]
struct TimedWire {
    loops: u64,
    events: u64,
    wall_seconds: Seconds,
    cpu_seconds: Seconds,
    minor_faults: u64,
    voluntary_switches: u64,
    involuntary_switches: u64,
}

impl From<&Repetition> for RepetitionWire {
    fn from(one: &Repetition) -> Self {
        RepetitionWire {
            started_seconds: Seconds(one.started),
            empty_first: one.empty_first,
            probe: TimedWire::from(&one.probe),
            empty: TimedWire::from(&one.empty),
        }
    }
}

impl From<RepetitionWire> for Repetition {
    fn from(wire: RepetitionWire) -> Self {
        Repetition {
            started: wire.started_seconds.0,
            probe: wire.probe.into(),
            empty: wire.empty.into(),
            empty_first: wire.empty_first,
        }
    }
}

impl From<&Timed> for TimedWire {
    fn from(timed: &Timed) -> Self {
        let Timed { loops, events, wall, cpu, minor_faults, voluntary_switches, involuntary_switches } = *timed;
        let (wall_seconds, cpu_seconds) = (Seconds(wall), Seconds(cpu));
        TimedWire { loops, events, wall_seconds, cpu_seconds, minor_faults, voluntary_switches, involuntary_switches }
    }
}

impl From<TimedWire> for Timed {
    fn from(wire: TimedWire) -> Self {
        let TimedWire { loops, events, minor_faults, voluntary_switches, involuntary_switches, .. } = wire;
        let (wall, cpu) = (wire.wall_seconds.0, wire.cpu_seconds.0);
        Timed { loops, events, wall, cpu, minor_faults, voluntary_switches, involuntary_switches }
    }
}
