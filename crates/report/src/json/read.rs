//! Reads a JSON export back into the record that it was made of.

use serde::Deserialize;
use serde_json::{Map, Value};
use steady_model::{Cold, Command, CounterScope, Ending, LeftOut, Metric, Record, Seed, Timestamp};

use super::object::Object;
use super::wire::{
    ActivityWire, CommandWire, HostWire, PlanWire, SamplesWire, Seconds, join, required, started, to_value,
};
use super::{ReadError, SCHEMA, check, commands};
use steady_render::json::{Schema, fields};

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
    #[serde(default)]
    warm_absent: Option<String>,
    #[serde(default)]
    cold_command: Option<usize>,
    samples: SamplesWire,
}

/// The record in a JSON export that was made with its samples, exactly as it was measured.
///
/// An error says what is wrong and where; no input makes it panic, and what it returns is consistent: every run is of a
/// command of the plan, and no sum of its times or counts overflows.
pub fn read_record(json: &str) -> Result<Record, ReadError> {
    read_record_of(&Schema { name: SCHEMA, what: "a comparison" }, json)
}

/// The record of a comparison in an export of another kind, which has the fields of [`record_fields`] among others.
///
/// # Errors
/// As [`read_record`].
pub fn read_record_of(schema: &Schema, json: &str) -> Result<Record, ReadError> {
    let value = schema.value(json)?;
    if value.get("samples").is_none_or(Value::is_null) {
        return Err(ReadError::WithoutSamples);
    }
    warm(&value)?;
    let record = assemble(fields(value)?)?;
    check::check(&record)?;
    Ok(record)
}

/// An error where it is told of snapshots and something of that is missing. Exports from before there were any tell nothing.
fn warm(value: &Value) -> Result<(), ReadError> {
    let told = ["warm", "warm_absent", "cold_command"].iter().any(|key| value.get(key).is_some());
    check::holds(!told || value["plan"]["warm"] == true, "plan.warm", "runs were to start from snapshots")?;
    let why = value.get("warm_absent").is_some();
    check::holds(!why || value.get("cold_command").is_some(), "cold_command", "missing beside the reason")?;
    let measured = value["plan"]["warm"] == true && !why;
    check::holds(!measured || value["samples"]["usual"].is_array(), "samples.usual", "missing")
}

/// The fields of a record of a comparison in an export of another kind, with the raw samples if `samples`: only then can it be
/// read back.
pub fn record_fields(record: &Record, samples: bool) -> Map<String, Value> {
    let mut fields = Object::new();
    fields.put("seed", record.plan.seed.to_string());
    fields.put("started", started(record.started));
    fields.put("elapsed_seconds", Seconds(record.elapsed).as_f64());
    let described = record.plan.commands.iter().map(|command| Value::from(commands::described(command)));
    fields.put("commands", described.collect::<Value>());
    fields.put("host", to_value(&HostWire::from(&record.host)));
    fields.text("revision", &record.revision);
    match &record.counters {
        Ok(scope) => fields.put("counters", to_value(scope)),
        Err(absent) => fields.absent("counters", &absent.0),
    }
    fields.put("load", to_value(&ActivityWire::from(&record.activity)));
    fields.put("primary", record.primary.name());
    fields.put("ending", to_value(&record.ending));
    fields.put("layouts_left_out", to_value(&record.left_out));
    fields.put("plan", to_value(&PlanWire::from(&record.plan)));
    if samples {
        fields.put("samples", to_value(&SamplesWire::from(record)));
    }
    fields.into()
}

/// The record that the wire carries.
fn assemble(wire: ExportWire) -> Result<Record, ReadError> {
    let commands = wire.commands.into_iter().map(Command::from).collect();
    let (samples, command) = (wire.samples.into_parts()?, wire.cold_command);
    Ok(Record {
        plan: wire.plan.into_plan(commands, wire.seed),
        started: wire.started,
        host: wire.host.into_host().map_err(|error| error.within("host"))?,
        revision: join("revision", wire.revision, wire.revision_absent)?,
        counters: join("counters", wire.counters, wire.counters_absent)?,
        primary: wire.primary,
        left_out: wire.layouts_left_out,
        blocks: samples.blocks,
        usual: samples.usual,
        cold: wire.warm_absent.map(|reason| Cold { command, reason }),
        looks: samples.looks,
        moments: samples.moments,
        activity: wire.load.into_activity().map_err(|error| error.within("load"))?,
        elapsed: wire.elapsed_seconds.0,
        ending: wire.ending,
    })
}
