//! The JSON of a comparison, as the output contract has it; that of other experiments and of the history in modules of
//! their own.

mod check;
mod commands;
mod joined;
mod object;
mod read;
mod verdicts;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json as literal};
use steady_model::{Block, Cold, Effort, Layout, Look, Moment, Plan, Record, Report};
use steady_render::json::part;

pub use joined::{JOINED_SCHEMA, joined_json, joined_json_text};
pub use read::{read_record, read_record_of, record_fields};

use crate::document::sentence;
use crate::words::warning_message;
use object::Object;
pub(crate) use steady_render::json::{ReadError, pretty};
pub(crate) use steady_render::timestamp::text as started;

/// The name and version of what [`json`] writes.
pub const SCHEMA: &str = "steady.compare/1";

/// The report as JSON, with the raw samples where `samples` says so: only then can it be judged again.
///
/// Fields come in the order of the output contract. A reading that is absent is null, with the reason in
/// `<name>_absent` beside it.
pub fn json(report: &Report, samples: bool) -> Value {
    let record = &report.record;
    let plan = &record.plan;
    let mut top = Object::new();
    top.put("schema", SCHEMA);
    top.put("seed", plan.seed.to_string());
    top.put("started", started(record.started));
    put_budget(&mut top, plan);
    top.put("elapsed_seconds", part(&record.elapsed));
    top.put("commands", commands::all(report));
    top.put("host", part(&record.host));
    top.text("revision", &record.revision);
    match &record.counters {
        Ok(scope) => top.put("counters", part(scope)),
        Err(absent) => top.absent("counters", &absent.0),
    }
    top.put("layouts", layouts(report));
    top.put("pairs", record.blocks.len());
    top.put("runs", report.runs());
    let unit = |judgement| verdicts::of(record, judgement);
    top.put("verdicts", report.judgements.iter().map(unit).collect::<Vec<_>>());
    top.put("load", load_during(report));
    top.put("warnings", warnings(report));
    top.put("primary", record.primary.name());
    top.put("ending", part(&record.ending));
    top.put("layouts_left_out", part(&record.left_out));
    warm(record, &mut top);
    top.put("plan", choices(plan));
    if samples {
        top.put("samples", part(&Samples::of(record)));
    }
    top.into()
}

/// [`json`] as indented text that ends with a newline; what is small enough, and every block, stays on one line.
pub fn json_text(report: &Report, samples: bool) -> String {
    pretty::indented(&json(report, samples))
}

/// The budget, unless the number of pairs was chosen.
fn put_budget(object: &mut Object, plan: &Plan) {
    match plan.effort {
        Effort::Budget(budget) => object.put("budget_seconds", part(&budget)),
        Effort::Pairs(_) => object.absent("budget_seconds", "the number of runs was limited instead"),
    }
}

/// A plan without its commands and its seed, which stand next to it.
fn choices(plan: &Plan) -> Value {
    let mut value = part(&Plan { commands: vec![], ..plan.clone() });
    if let Value::Object(fields) = &mut value {
        fields.retain(|name, _| name != "commands" && name != "seed");
    }
    value
}

/// The raw samples of a [`Record`].
#[derive(Serialize, Deserialize)]
struct Samples<'a> {
    looks: Cow<'a, [Look]>,
    moments: Cow<'a, [Moment]>,
    blocks: Cow<'a, [Block]>,
    /// Left out if runs did not start from snapshots.
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

/// The draws of snapshots, where such were asked for.
fn warm(record: &Record, top: &mut Object) {
    match &record.cold {
        _ if !record.plan.warm => {}
        Some(Cold { command, reason }) => {
            top.absent("warm", reason);
            top.put("cold_command", *command);
        }
        None => {
            let draws = record.draws();
            let per_draw = record.blocks.len() as f64 / draws as f64;
            let mut warm = Object::new();
            warm.put("draws", draws);
            warm.number("pairs_per_draw", per_draw, "there was no draw");
            warm.put("usual_pairs", record.usual.len());
            top.put("warm", Value::from(warm));
        }
    }
}

/// How many pairs each layout has, and how long they took.
fn layouts(report: &Report) -> Value {
    let mut all = Object::new();
    for layout in Layout::ALL {
        let seconds = part(&report.time_in(layout));
        all.put(layout.name(), literal!({ "pairs": report.blocks_of(layout), "measured_seconds": seconds }));
    }
    all.into()
}

/// What the load did to the pairs, and what the machine was doing.
fn load_during(report: &Report) -> Value {
    let mut object = Object::new();
    object.number("preempted_ratio", report.load.preempted_ratio, "no pairs");
    object.reading("run_delay_ratio", &report.load.run_delay_ratio);
    object.extend(part(&report.record.activity));
    object.into()
}

/// Every warning: its kind and facts, and the message in words.
fn warnings(report: &Report) -> Value {
    let one = |warning| {
        let mut value = part(warning);
        if let Value::Object(fields) = &mut value {
            fields.insert("message".into(), warning_message(report, warning).into());
        }
        value
    };
    report.warnings.iter().map(one).collect()
}

/// The primary verdicts of a comparison, each with its sentence.
pub fn verdicts_json(report: &Report) -> Value {
    let verdict = |judgement| {
        let mut value = verdicts::one(judgement);
        if let Value::Object(fields) = &mut value {
            fields.insert("sentence".into(), sentence(report, judgement).into());
        }
        value
    };
    report.primary().map(verdict).collect()
}
