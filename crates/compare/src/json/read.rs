//! Reads a JSON export back into the record that it was made of.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use steady_model::{
    Activity, Cold, Command, CounterScope, Ending, Host, LeftOut, Metric, Nanos, Plan, Reading, Record, Seed, Timestamp,
};
use steady_render::json::{Schema, fields, of_value, part};

use super::object::Object;
use super::{ReadError, SCHEMA, Samples, check, choices, commands, started};

/// What of an export makes up the record, besides the commands; all else is derived from it.
#[derive(Deserialize)]
struct Export<'a> {
    seed: Seed,
    #[serde(with = "steady_render::timestamp")]
    started: Timestamp,
    elapsed_seconds: Nanos,
    host: Host,
    revision: Reading<String>,
    counters: Reading<CounterScope>,
    load: Activity,
    primary: Metric,
    ending: Ending,
    layouts_left_out: Vec<LeftOut>,
    #[serde(default)]
    warm: Option<Reading<IgnoredAny>>,
    #[serde(default)]
    cold_command: Option<usize>,
    plan: Plan,
    samples: Samples<'a>,
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
    let mut value = schema.value(json)?;
    if value.get("samples").is_none_or(Value::is_null) {
        return Err(ReadError::WithoutSamples);
    }
    warm(&value)?;
    let commands = value.get_mut("commands").map(Value::take);
    let commands = commands.ok_or_else(|| ReadError::field("commands", "missing"))?;
    let commands = fields(commands).map_err(|error| error.within("commands"))?;
    let record = assemble(of_value(value)?, commands);
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

/// The fields of the record of a comparison in an export of another kind, with the raw samples if `samples`: only then can it
/// be read back.
pub fn record_fields(record: &Record, samples: bool) -> Map<String, Value> {
    let mut fields = Object::new();
    fields.put("seed", part(&record.plan.seed));
    fields.put("started", started(record.started));
    fields.put("elapsed_seconds", part(&record.elapsed));
    let described = record.plan.commands.iter().map(|command| Value::from(commands::described(command)));
    fields.put("commands", described.collect::<Value>());
    fields.put("host", part(&record.host));
    fields.text("revision", &record.revision);
    match &record.counters {
        Ok(scope) => fields.put("counters", part(scope)),
        Err(absent) => fields.absent("counters", &absent.0),
    }
    fields.put("load", part(&record.activity));
    fields.put("primary", record.primary.name());
    fields.put("ending", part(&record.ending));
    fields.put("layouts_left_out", part(&record.left_out));
    fields.put("plan", choices(&record.plan));
    if samples {
        fields.put("samples", part(&Samples::of(record)));
    }
    fields.into()
}

/// The record that an export of these commands holds.
fn assemble(export: Export<'_>, commands: Vec<Command>) -> Record {
    let (samples, command) = (export.samples, export.cold_command);
    Record {
        plan: Plan { commands, seed: export.seed, ..export.plan },
        started: export.started,
        host: export.host,
        revision: export.revision,
        counters: export.counters,
        primary: export.primary,
        left_out: export.layouts_left_out,
        blocks: samples.blocks.into_owned(),
        usual: samples.usual.unwrap_or_default().into_owned(),
        cold: export.warm.and_then(Result::err).map(|absent| Cold { command, reason: absent.0 }),
        looks: samples.looks.into_owned(),
        moments: samples.moments.into_owned(),
        activity: export.load,
        elapsed: export.elapsed_seconds,
        ending: export.ending,
    }
}
