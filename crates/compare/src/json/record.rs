//! The record in a JSON export, and how it is read back.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use steady_model::{
    Activity, Block, Cold, Command, CounterScope, Ending, Host, LeftOut, Look, Metric, Moment, Nanos, Plan, Reading,
    Record, Seed, Timestamp,
};
use steady_render::json::{Schema, of_value};

use super::{ReadError, SCHEMA, check};

/// The fields of an export that belong to the record. All other fields are derived from these.
#[derive(Deserialize)]
struct Export<'a> {
    seed: Seed,
    #[serde(with = "steady_render::timestamp")]
    started: Timestamp,
    elapsed_seconds: Nanos,
    commands: Vec<Command>,
    host: Host,
    revision: Reading<String>,
    counters: Reading<CounterScope>,
    #[serde(default = "Record::tick_not_recorded")]
    tick_seconds: Reading<Nanos>,
    load: Activity,
    primary: Metric,
    ending: Ending,
    #[serde(default)]
    unfinished_command: Option<usize>,
    #[serde(default)]
    unused_revisions: bool,
    layouts_left_out: Vec<LeftOut>,
    #[serde(default)]
    warm: Option<Reading<IgnoredAny>>,
    #[serde(default)]
    cold_command: Option<usize>,
    plan: Plan,
    samples: Samples<'a>,
}

/// Reads the record in a JSON export with samples, exactly as it was measured.
///
/// No input makes it panic. The record is consistent: every run belongs to a command of the plan, and no sum of times
/// or counts overflows. An error says what is wrong, and where.
pub fn read_record(json: &str) -> Result<Record, ReadError> {
    read_record_of(&SCHEMA, json)
}

/// Reads the record of a comparison in an export of another kind, which contains the fields of [`RecordBegin`] and
/// [`RecordEnd`].
///
/// # Errors
/// As [`read_record`].
pub fn read_record_of(schema: &Schema, json: &str) -> Result<Record, ReadError> {
    let value = schema.value(json)?;
    if value.get("samples").is_none_or(Value::is_null) {
        return Err(ReadError::WithoutSamples);
    }
    warm(&value)?;
    let record = Record::from(of_value::<Export<'_>>(value)?).resolved();
    let record = record.ok_or_else(|| ReadError::inconsistent("primary", "it is not a metric of the plan"))?;
    check::check(&record)?;
    Ok(record)
}

/// Refuses an export with only a part of the fields about snapshots. Older exports have none of these fields.
fn warm(value: &Value) -> Result<(), ReadError> {
    let has_any = ["warm", "warm_absent", "cold_command"].iter().any(|key| value.get(key).is_some());
    let problem = "it is not true, but there are fields about snapshots";
    check::holds(!has_any || value["plan"]["warm"] == true, "plan.warm", problem)?;
    let why = value.get("warm_absent").is_some();
    check::holds(!why || value.get("cold_command").is_some(), "cold_command", "missing, but there is 'warm_absent'")?;
    check::holds(!why || value.get("warm").is_some(), "warm", "missing, but there is 'warm_absent'")?;
    let measured = value["plan"]["warm"] == true && !why;
    check::holds(!measured || value["samples"]["usual"].is_array(), "samples.usual", "missing")
}

/// The first fields of a comparison's record in an export, which flattens them (`#[serde(flatten)]`).
#[derive(Serialize, JsonSchema)]
pub struct RecordBegin<'a, C = &'a [Command]> {
    /// The seed of all random choices, in decimal.
    seed: Seed,
    /// The time of day when the comparison started. It is only a label.
    #[serde(serialize_with = "steady_render::timestamp::serialize")]
    #[schemars(with = "String")]
    started: Timestamp,
    /// The time from the first warm-up run to the end of the pairs.
    elapsed_seconds: Nanos,
    /// The commands. Other fields name a command by its index here, from 0.
    commands: C,
    /// Facts about the machine.
    host: &'a Host,
    /// The git revision of the working directory.
    revision: &'a Reading<String>,
    /// Which events the CPU's counters counted.
    counters: &'a Reading<CounterScope>,
    /// Length of the ticks at which the kernel samples user and system time; absent if both are exact.
    tick_seconds: &'a Reading<Nanos>,
}

/// The last fields of a comparison's record in an export.
#[derive(Serialize, JsonSchema)]
pub struct RecordEnd<'a, L = &'a Activity> {
    /// The load during the measuring.
    load: L,
    /// The metric that stopped the measuring and carries the error guarantee.
    primary: Metric,
    /// Why the measuring ended.
    ending: Ending,
    /// The command of a run that did not end within the budget and was killed. Missing if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    unfinished_command: Option<usize>,
    /// Whether no run opened a file of its revision. Missing if a run did, and if that could not be watched.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unused_revisions: bool,
    /// Layouts that were not used.
    layouts_left_out: &'a [LeftOut],
    /// The options of the comparison.
    plan: Plan,
    /// The raw samples. Missing unless they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<Samples<'a>>,
}

impl<'a> RecordBegin<'a> {
    /// Returns these fields of a record.
    pub fn of(record: &'a Record) -> Self {
        RecordBegin::with(record, &record.plan.commands)
    }
}

impl<'a, C> RecordBegin<'a, C> {
    /// Returns these fields of a record, with `commands` in another form.
    pub(super) fn with(record: &'a Record, commands: C) -> Self {
        RecordBegin {
            seed: record.plan.seed,
            started: record.started,
            elapsed_seconds: record.elapsed,
            commands,
            host: &record.host,
            revision: &record.revision,
            counters: &record.counters,
            tick_seconds: &record.tick,
        }
    }
}

impl<'a> RecordEnd<'a> {
    /// Returns these fields of a record. `samples` adds the raw samples, without which the record cannot be read back.
    pub fn of(record: &'a Record, samples: bool) -> Self {
        RecordEnd::with(record, &record.activity, samples)
    }
}

impl<'a, L> RecordEnd<'a, L> {
    /// Returns these fields of a record, with the `load` in another form.
    pub(super) fn with(record: &'a Record, load: L, samples: bool) -> Self {
        RecordEnd {
            load,
            primary: record.primary,
            ending: record.ending,
            unfinished_command: record.unfinished,
            unused_revisions: record.unused_revisions,
            layouts_left_out: &record.left_out,
            plan: choices(&record.plan),
            samples: samples.then(|| Samples::of(record)),
        }
    }
}

/// The raw samples of a [`Record`].
#[derive(Serialize, Deserialize, JsonSchema)]
struct Samples<'a> {
    /// The looks: when the data were evaluated.
    looks: Cow<'a, [Look]>,
    /// The activity of the machine over time.
    moments: Cow<'a, [Moment]>,
    /// The pairs, in the order of time.
    blocks: Cow<'a, [Block]>,
    /// Pairs in the same draws whose runs started as usual. Missing if runs did not start from snapshots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usual: Option<Cow<'a, [Block]>>,
}

impl<'a> Samples<'a> {
    fn of(record: &'a Record) -> Self {
        Samples {
            looks: Cow::Borrowed(&record.looks),
            moments: Cow::Borrowed(&record.moments),
            blocks: Cow::Borrowed(&record.blocks),
            usual: record.is_warm().then_some(Cow::Borrowed(&record.usual)),
        }
    }
}

/// A plan without its commands and its seed, which are separate fields.
fn choices(plan: &Plan) -> Plan {
    Plan { commands: vec![], seed: Seed::default(), ..plan.clone() }
}

impl From<Export<'_>> for Record {
    fn from(export: Export<'_>) -> Self {
        let (samples, command) = (export.samples, export.cold_command);
        Record {
            plan: Plan { commands: export.commands, seed: export.seed, ..export.plan },
            started: export.started,
            host: export.host,
            revision: export.revision,
            counters: export.counters,
            tick: export.tick_seconds,
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
            unfinished: export.unfinished_command,
            unused_revisions: export.unused_revisions,
        }
    }
}
