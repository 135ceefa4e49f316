//! One command.

use serde::Deserialize;
use serde_json::Value;
use steady_model::{Command, ExplainPlan, ExplainRecord, ExplainReport, Nanos, Outcome, Part, Reading, Timestamp};

use super::wire::{AluWire, CountsWire, PricesWire, ProcessWire, ProgressWire, list, priced_name};
use super::{EXPLAIN_SCHEMA, SCHEMA, missing, put_alu, with_interval};
use crate::json::check::{LONGEST, holds};
use crate::json::object::Object;
use crate::json::wire::{ActivityWire, HostWire, Seconds, join, read_started, required, started, to_value};
use crate::json::{ReadError, commands, pretty};
use steady_render::json::fields;

/// The report as JSON: nothing of the record is left out, so that it can be read back.
///
/// A reading that is absent is null, with the reason in `<name>_absent` beside it.
pub fn explain_json(report: &ExplainReport) -> Value {
    let record = &report.record;
    let mut top = Object::new();
    top.put("schema", EXPLAIN_SCHEMA);
    top.put("started", started(record.started));
    top.put("command", Value::from(commands::described(&record.plan.command)));
    top.put("trace", record.plan.trace);
    top.put("by_process", record.plan.by_process);
    top.put("host", to_value(&HostWire::from(&record.host)));
    top.text("revision", &record.revision);
    top.put("ended", to_value(&record.ended));
    times(&mut top, report);
    top.put("counts", to_value(&CountsWire::from(&record.counts)));
    top.put("parts", report.parts.iter().map(part).collect::<Value>());
    with_interval(&mut top, "unexplained", "_seconds", &report.unexplained);
    top.put("missing", missing(&report.missing));
    top.put("notes", report.notes.clone());
    top.put("sources", record.sources.clone());
    top.time("counting_cost_seconds", &record.counting_cost);
    match &record.processes {
        Ok(all) => top.put("processes", all.iter().map(|one| to_value(&ProcessWire::from(one))).collect::<Value>()),
        Err(absent) => top.absent("processes", &absent.0),
    }
    top.put("progress", record.progress.iter().map(|one| to_value(&ProgressWire::from(one))).collect::<Value>());
    top.put("load", to_value(&ActivityWire::from(&record.activity)));
    put_alu(&mut top, &record.alu);
    top.put("left_behind", record.left_behind);
    top.put("prices", to_value(&PricesWire::from(&record.prices)));
    top.into()
}

/// The times, from the wall to what it went into.
fn times(top: &mut Object, report: &ExplainReport) {
    let record = &report.record;
    top.put("wall_seconds", Seconds(record.wall).as_f64());
    top.put("cpu_seconds", Seconds(record.user + record.system).as_f64());
    top.put("user_seconds", Seconds(record.user).as_f64());
    top.put("system_seconds", Seconds(record.system).as_f64());
    top.interval("system_low_seconds", "system_high_seconds", &report.system_interval);
    match record.tick {
        Some(tick) => top.put("tick_seconds", Seconds(tick).as_f64()),
        None => top.absent("tick_seconds", EXACT),
    }
    top.time("thread_seconds", &record.thread_time);
    top.time("waiting_seconds", &record.waiting);
    top.reading("blocked_seconds", &report.blocked);
    top.put("stopped_seconds", Seconds(record.stopped).as_f64());
}

/// Why there is no tick.
pub(super) const EXACT: &str = "user and system time are exact";

fn part(part: &Part) -> Value {
    let mut object = Object::new();
    object.put("name", part.name.as_str());
    object.put("event", priced_name(part.priced));
    object.put("at_least", part.at_least);
    object.number("count", part.count, "not a number");
    with_interval(&mut object, "price", "_seconds", &Ok((part.price.seconds, part.price.interval)));
    object.number("seconds", part.seconds, "not a number");
    object.interval("low_seconds", "high_seconds", &Ok(part.interval));
    object.into()
}

/// [`explain_json`] as indented text that ends with a newline.
pub fn explain_json_text(report: &ExplainReport) -> String {
    pretty::indented_but(&explain_json(report), "parts")
}

/// What of an export makes up the record; all else is derived from it.
#[derive(Deserialize)]
struct ExportWire {
    #[serde(deserialize_with = "read_started")]
    started: Timestamp,
    command: Command,
    trace: bool,
    by_process: bool,
    host: HostWire,
    #[serde(deserialize_with = "required")]
    revision: Option<String>,
    #[serde(default)]
    revision_absent: Option<String>,
    ended: Outcome,
    wall_seconds: Seconds,
    user_seconds: Seconds,
    system_seconds: Seconds,
    #[serde(deserialize_with = "required")]
    tick_seconds: Option<Seconds>,
    #[serde(deserialize_with = "required")]
    thread_seconds: Option<Seconds>,
    #[serde(default)]
    thread_seconds_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    waiting_seconds: Option<Seconds>,
    #[serde(default)]
    waiting_seconds_absent: Option<String>,
    stopped_seconds: Seconds,
    counts: CountsWire,
    sources: Vec<String>,
    #[serde(deserialize_with = "required")]
    counting_cost_seconds: Option<Seconds>,
    #[serde(default)]
    counting_cost_seconds_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    processes: Option<Vec<ProcessWire>>,
    #[serde(default)]
    processes_absent: Option<String>,
    progress: Vec<ProgressWire>,
    load: ActivityWire,
    left_behind: u32,
    #[serde(flatten)]
    alu: AluWire,
    prices: PricesWire,
}

/// The record in a JSON export of one explained command, exactly as it was measured.
///
/// # Errors
/// What is wrong with it, and where; no input makes it panic.
pub fn read_explain_record(json: &str) -> Result<ExplainRecord, ReadError> {
    let wire: ExportWire = fields(SCHEMA.value(json)?)?;
    let seconds = |name, value: Option<Seconds>, absent| -> Result<Reading<Nanos>, ReadError> {
        Ok(join(name, value, absent)?.map(|seconds| seconds.0))
    };
    let record = ExplainRecord {
        plan: ExplainPlan { command: wire.command, trace: wire.trace, by_process: wire.by_process },
        started: wire.started,
        host: wire.host.into_host().map_err(|error| error.within("host"))?,
        revision: join("revision", wire.revision, wire.revision_absent)?,
        ended: wire.ended,
        wall: wire.wall_seconds.0,
        user: wire.user_seconds.0,
        system: wire.system_seconds.0,
        tick: wire.tick_seconds.map(|seconds| seconds.0),
        thread_time: seconds("thread_seconds", wire.thread_seconds, wire.thread_seconds_absent)?,
        waiting: seconds("waiting_seconds", wire.waiting_seconds, wire.waiting_seconds_absent)?,
        stopped: wire.stopped_seconds.0,
        counts: wire.counts.into_counts().map_err(|error| error.within("counts"))?,
        sources: wire.sources,
        counting_cost: seconds("counting_cost_seconds", wire.counting_cost_seconds, wire.counting_cost_seconds_absent)?,
        processes: list("processes", (wire.processes, wire.processes_absent), ProcessWire::into_process)?,
        progress: wire.progress.into_iter().map(Into::into).collect(),
        activity: wire.load.into_activity().map_err(|error| error.within("load"))?,
        left_behind: wire.left_behind,
        alu: wire.alu.into_alu()?,
        prices: wire.prices.into_prices().map_err(|error| error.within("prices"))?,
    };
    holds(!record.plan.command.argv.is_empty(), "command.argv", "empty")?;
    holds(record.user < LONGEST && record.system < LONGEST, "cpu_seconds", "longer than any measuring")?;
    holds(record.tick != Some(Nanos::ZERO), "tick_seconds", "zero")?;
    Ok(record)
}
