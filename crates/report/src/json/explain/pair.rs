//! The difference of two commands: the fields of the comparison that their pairs are, and the lines.

use serde::Deserialize;
use serde_json::{Value, json};
use steady_model::{Counts, Difference, ExplainPairRecord, ExplainPairReport, Line, Reading};

use super::one::EXACT;
use super::wire::{AluWire, CountsWire, PricesWire, list, priced_name};
use super::{EXPLAIN_SCHEMA, SCHEMA, missing, put_alu, with_interval};
use crate::json::object::Object;
use crate::json::read::{read_record_of, record_fields};
use crate::json::wire::{Seconds, required, to_value};
use crate::json::{ReadError, pretty};
use steady_render::json::fields;

/// The fields of the comparison that stand first.
const FIRST: [&str; 9] = [
    "seed",
    "started",
    "elapsed_seconds",
    "commands",
    "host",
    "revision",
    "revision_absent",
    "counters",
    "counters_absent",
];

/// The report as JSON, with the raw samples where `samples` says so: only then can it be read back.
pub fn explain_pair_json(report: &ExplainPairReport, samples: bool) -> Value {
    let pair = &report.record;
    let record = &pair.record;
    let mut top = Object::new();
    top.put("schema", EXPLAIN_SCHEMA);
    let shared = record_fields(record, samples);
    let (first, last): (Vec<_>, Vec<_>) = shared.into_iter().partition(|field| FIRST.contains(&field.0.as_str()));
    top.extend(first.into_iter().collect());
    top.put("pairs", report.pairs);
    top.put("confidence", 0.95);
    top.put("lines", report.lines.iter().map(line).collect::<Value>());
    top.put("missing", missing(&report.missing));
    top.put("notes", report.notes.clone());
    top.put("sources", pair.sources.clone());
    top.put("counted", pair.counted.iter().map(counted).collect::<Value>());
    match pair.tick {
        Some(tick) => top.put("tick_seconds", Seconds(tick).as_f64()),
        None => top.absent("tick_seconds", EXACT),
    }
    put_alu(&mut top, &pair.alu);
    top.put("prices", to_value(&PricesWire::from(&pair.prices)));
    top.extend(last.into_iter().collect());
    top.into()
}

fn line(line: &Difference) -> Value {
    let mut object = Object::new();
    let (kind, event) = match line.line {
        Line::Part(priced) => (Value::from("part"), Value::from(priced_name(priced))),
        other => (to_value(&other), Value::Null),
    };
    object.put("line", kind);
    if !event.is_null() {
        object.put("event", event);
    }
    object.put("name", line.name.as_str());
    object.put("depth", line.depth);
    let of = |command: usize| line.seconds.clone().map(|all| all[command]);
    object.reading("old_seconds", &of(0));
    object.reading("new_seconds", &of(1));
    with_interval(&mut object, "difference", "_seconds", &line.difference);
    if let Some(counts) = line.counts {
        object.put("old_count", counts[0]);
        object.put("new_count", counts[1]);
        object.put("at_least", line.at_least);
    }
    if let Some((more, interval)) = line.more {
        with_interval(&mut object, "difference", "_count", &Ok((more, interval)));
    }
    object.into()
}

/// What the runs of a command were counted to do.
fn counted(counted: &Reading<Vec<Counts>>) -> Value {
    match counted {
        Ok(runs) => json!({ "runs": runs.iter().map(|run| to_value(&CountsWire::from(run))).collect::<Value>() }),
        Err(absent) => json!({ "runs": null, "runs_absent": absent.0 }),
    }
}

/// [`explain_pair_json`] as indented text that ends with a newline; every line, and every block, stays on one.
pub fn explain_pair_json_text(report: &ExplainPairReport, samples: bool) -> String {
    pretty::indented(&explain_pair_json(report, samples))
}

/// What of an export makes up the record, beside what a comparison's does.
#[derive(Deserialize)]
struct ExportWire {
    sources: Vec<String>,
    counted: [CountedWire; 2],
    #[serde(deserialize_with = "required")]
    tick_seconds: Option<Seconds>,
    #[serde(flatten)]
    alu: AluWire,
    prices: PricesWire,
}

#[derive(Deserialize)]
struct CountedWire {
    #[serde(deserialize_with = "required")]
    runs: Option<Vec<CountsWire>>,
    #[serde(default)]
    runs_absent: Option<String>,
}

/// The record in a JSON export of two explained commands that was made with its samples, exactly as it was measured.
///
/// # Errors
/// What is wrong with it, and where; no input makes it panic.
pub fn read_explain_pair_record(json: &str) -> Result<ExplainPairRecord, ReadError> {
    let record = read_record_of(&SCHEMA, json)?;
    let wire: ExportWire = fields(SCHEMA.value(json)?)?;
    crate::json::check::holds(record.plan.commands.len() == 2, "commands", "not two")?;
    crate::json::check::holds(wire.tick_seconds != Some(Seconds(steady_model::Nanos::ZERO)), "tick_seconds", "zero")?;
    let [old, new] = wire.counted;
    Ok(ExplainPairRecord {
        record,
        counted: [old.into_counts("counted[0]")?, new.into_counts("counted[1]")?],
        sources: wire.sources,
        tick: wire.tick_seconds.map(|seconds| seconds.0),
        alu: wire.alu.into_alu()?,
        prices: wire.prices.into_prices().map_err(|error| error.within("prices"))?,
    })
}

impl CountedWire {
    fn into_counts(self, path: &str) -> Result<Reading<Vec<Counts>>, ReadError> {
        list("runs", (self.runs, self.runs_absent), CountsWire::into_counts).map_err(|error| error.within(path))
    }
}
