//! Reads the JSON of what keeping programs warm gains back into the record that it was made of.

use serde::Deserialize;
use serde_json::Value;
use steady_model::{Command, CounterScope, Ending, Reading, Seed, Timestamp, WarmBenchRecord, WarmTrial};

use super::wire::{BenchPlanWire, TrialWire};
use super::{BENCH, SCHEMA};
use crate::json::ReadError;
use crate::json::check::{LONGEST, holds};
use crate::json::wire::{HostWire, Seconds, join, read_started, required};
use steady_render::json::fields;

/// What of an export makes up the record; all else is derived from it.
#[derive(Deserialize)]
struct ExportWire {
    kind: String,
    seed: Seed,
    #[serde(deserialize_with = "read_started")]
    started: Timestamp,
    elapsed_seconds: Seconds,
    host: HostWire,
    #[serde(deserialize_with = "required")]
    revision: Option<String>,
    #[serde(default)]
    revision_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    counters: Option<CounterScope>,
    #[serde(default)]
    counters_absent: Option<String>,
    programs: Vec<ProgramWire>,
    ending: Ending,
    plan: BenchPlanWire,
}

#[derive(Deserialize)]
struct ProgramWire {
    #[serde(flatten)]
    command: Command,
    #[serde(deserialize_with = "required")]
    samples: Option<TrialWire>,
    #[serde(default)]
    samples_absent: Option<String>,
}

/// The record in a JSON export of a bench that was made with its samples, exactly as it was measured.
///
/// # Errors
/// What is wrong with it, and where; no input makes it panic.
pub fn read_warm_bench_record(json: &str) -> Result<WarmBenchRecord, ReadError> {
    let value = SCHEMA.value(json)?;
    let without = |program: &Value| program.is_object() && program.get("samples").is_none();
    if value.get("programs").and_then(Value::as_array).is_some_and(|programs| programs.iter().any(without)) {
        return Err(ReadError::WithoutSamples);
    }
    let wire: ExportWire = fields(value)?;
    holds(wire.kind == BENCH, "kind", "it is not that of a bench")?;
    holds(wire.elapsed_seconds.0 < LONGEST, "elapsed_seconds", "longer than any measuring")?;
    let programs = wire
        .programs
        .into_iter()
        .enumerate()
        .map(|(at, program)| program.into_parts().map_err(|error| error.within(&format!("programs[{at}]"))));
    let (commands, trials) = programs.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    Ok(WarmBenchRecord {
        plan: wire.plan.into_plan(commands, wire.seed),
        started: wire.started,
        host: wire.host.into_host().map_err(|error| error.within("host"))?,
        revision: join("revision", wire.revision, wire.revision_absent)?,
        counters: join("counters", wire.counters, wire.counters_absent)?,
        trials,
        elapsed: wire.elapsed_seconds.0,
        ending: wire.ending,
    })
}

impl ProgramWire {
    fn into_parts(self) -> Result<(Command, Reading<WarmTrial>), ReadError> {
        let trial = join("samples", self.samples, self.samples_absent)?;
        let trial = match trial {
            Ok(trial) => Ok(trial.into_trial().map_err(|error| error.within("samples"))?),
            Err(absent) => Err(absent),
        };
        Ok((self.command, trial))
    }
}
