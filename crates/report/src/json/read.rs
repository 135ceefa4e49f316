//! Reads a JSON export back into the record that it was made of.

use serde::Deserialize;
use serde_json::Value;
use steady_model::{Command, CounterScope, Ending, LeftOut, Metric, Record, Seed, Timestamp};

use super::wire::{ActivityWire, CommandWire, HostWire, PlanWire, SamplesWire, Seconds, join, required};
use super::{ReadError, SCHEMA, check};

/// What of an export makes up the record; all else is derived from it.
#[derive(Deserialize)]
struct ExportWire {
    seed: Seed,
    #[serde(deserialize_with = "super::wire::read_started")]
    started: Timestamp,
    #[serde(deserialize_with = "required")]
    revision: Option<String>,
    #[serde(default)]
    revision_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    counters: Option<CounterScope>,
    #[serde(default)]
    counters_absent: Option<String>,
    elapsed_seconds: Seconds,
    commands: Vec<CommandWire>,
    host: HostWire,
    load: ActivityWire,
    primary: Metric,
    ending: Ending,
    layouts_left_out: Vec<LeftOut>,
    plan: PlanWire,
    samples: SamplesWire,
}

/// The record in a JSON export that was made with its samples, exactly as it was measured.
///
/// An error says what is wrong and where; no input makes it panic, and what it returns is consistent: every run is of a
/// command of the plan, and no sum of its times or counts overflows.
pub fn read_record(json: &str) -> Result<Record, ReadError> {
    let value: Value = serde_json::from_str(json).map_err(|error| ReadError::NotJson(error.to_string()))?;
    check_schema(&value)?;
    if value.get("samples").is_none_or(Value::is_null) {
        return Err(ReadError::WithoutSamples);
    }
    let wire: ExportWire = serde_path_to_error::deserialize(value)
        .map_err(|error| ReadError::field(&error.path().to_string(), error.inner().to_string()))?;
    let record = assemble(wire)?;
    check::check(&record)?;
    Ok(record)
}

/// Whether the value says that it is of the one schema that can be read.
fn check_schema(value: &Value) -> Result<(), ReadError> {
    let schema = match value.get("schema") {
        Some(Value::String(schema)) => schema,
        Some(other) => return Err(ReadError::OtherSchema(other.to_string())),
        None => return Err(ReadError::OtherSchema("missing".to_owned())),
    };
    let version = |schema: &str| schema.strip_prefix("steady.compare/").and_then(|number| number.parse::<u64>().ok());
    match version(schema) {
        _ if schema == SCHEMA => Ok(()),
        found if found > version(SCHEMA) => Err(ReadError::NewerVersion(schema.clone())),
        _ => Err(ReadError::OtherSchema(format!("{schema:?}"))),
    }
}

/// The record that the wire carries.
fn assemble(wire: ExportWire) -> Result<Record, ReadError> {
    let commands = wire.commands.into_iter().map(Command::from).collect();
    let samples = wire.samples.into_parts()?;
    Ok(Record {
        plan: wire.plan.into_plan(commands, wire.seed),
        started: wire.started,
        host: wire.host.into_host().map_err(|error| error.within("host"))?,
        revision: join("revision", wire.revision, wire.revision_absent)?,
        counters: join("counters", wire.counters, wire.counters_absent)?,
        primary: wire.primary,
        left_out: wire.layouts_left_out,
        blocks: samples.blocks,
        looks: samples.looks,
        moments: samples.moments,
        activity: wire.load.into_activity().map_err(|error| error.within("load"))?,
        elapsed: wire.elapsed_seconds.0,
        ending: wire.ending,
    })
}
