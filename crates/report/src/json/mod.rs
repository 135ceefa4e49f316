//! The JSON of a comparison, as the output contract has it; that of other experiments and of the history in modules of
//! their own.

mod check;
mod commands;
mod explain;
mod history;
mod joined;
mod load;
mod meanwhile;
mod object;
mod read;
mod rulers;
mod verdicts;
mod warm;
mod wire;

use serde_json::{Value, json as literal};
use steady_model::{Cold, Effort, Layout, Record, Report};

pub use explain::{
    EXPLAIN_SCHEMA, explain_json, explain_json_text, explain_pair_json, explain_pair_json_text, explains_a_pair,
    read_explain_pair_record, read_explain_record,
};
pub use history::{HISTORY_SCHEMA, run_json_text, runs_json_text, said_run_json_text};
pub use joined::{JOINED_SCHEMA, joined_json, joined_json_text};
pub use load::{LOAD_SCHEMA, load_json, load_json_text, read_load_record};
pub use read::read_record;
pub use rulers::{RULERS_SCHEMA, read_ruler_record, rulers_json, rulers_json_text};
pub use warm::{
    WARM_SCHEMA, read_warm_bench_record, warm_bench_json, warm_bench_json_text, warm_status_json, warm_status_json_text,
};

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
    top.put("started", wire::started(record.started));
    match plan.effort {
        Effort::Budget(budget) => top.put("budget_seconds", wire::Seconds(budget).as_f64()),
        Effort::Pairs(_) => top.absent("budget_seconds", "the number of runs was limited instead"),
    }
    top.put("elapsed_seconds", wire::Seconds(record.elapsed).as_f64());
    top.put("commands", commands::all(report));
    top.put("host", wire::to_value(&wire::HostWire::from(&record.host)));
    match &record.revision {
        Ok(revision) => top.put("revision", revision.as_str()),
        Err(absent) => top.absent("revision", &absent.0),
    }
    match &record.counters {
        Ok(scope) => top.put("counters", wire::to_value(scope)),
        Err(absent) => top.absent("counters", &absent.0),
    }
    top.put("layouts", layouts(report));
    top.put("pairs", record.blocks.len());
    top.put("runs", report.runs());
    let unit = |judgement| verdicts::of(record, judgement);
    top.put("verdicts", report.judgements.iter().map(unit).collect::<Vec<_>>());
    top.put("load", meanwhile::load(report));
    top.put("warnings", warnings(report));
    top.put("primary", record.primary.name());
    top.put("ending", wire::to_value(&record.ending));
    top.put("layouts_left_out", wire::to_value(&record.left_out));
    warm(record, &mut top);
    top.put("plan", wire::to_value(&wire::PlanWire::from(plan)));
    if samples {
        top.put("samples", wire::to_value(&wire::SamplesWire::from(record)));
    }
    top.into()
}

/// [`json`] as indented text that ends with a newline; what is small enough, and every block, stays on one line.
pub fn json_text(report: &Report, samples: bool) -> String {
    pretty::indented(&json(report, samples))
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
        let seconds = wire::Seconds(report.time_in(layout)).as_f64();
        all.put(layout.name(), literal!({ "pairs": report.blocks_of(layout), "measured_seconds": seconds }));
    }
    all.into()
}

/// Every warning: its kind and facts, and the message in words.
fn warnings(report: &Report) -> Value {
    let one = |warning| {
        let mut value = wire::to_value(warning);
        if let Value::Object(fields) = &mut value {
            fields.insert("message".into(), warning_message(report, warning).into());
        }
        value
    };
    report.warnings.iter().map(one).collect()
}
