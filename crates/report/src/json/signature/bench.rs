//! The JSON of what an allocator's lock costs.

use serde_json::{Value, json as literal};
use steady_model::{
    Reading, SignatureAnswer, SignatureBenchReport, SignatureCondition, SignatureFigures, SignatureInput, SignatureRun,
};

use super::SIGNATURE_SCHEMA;
use crate::json::object::Object;
use crate::json::wire::{HostWire, Seconds, started, to_value};
use steady_render::json::pretty;

/// The report as JSON, with every run where `samples` says so.
pub fn signature_bench_json(report: &SignatureBenchReport, samples: bool) -> Value {
    let record = &report.record;
    let mut top = Object::new();
    top.put("schema", SIGNATURE_SCHEMA);
    top.put("kind", "bench");
    top.put("seed", record.plan.seed.to_string());
    top.put("started", started(record.started));
    top.put("budget_seconds", Seconds(record.plan.budget).as_f64());
    top.put("elapsed_seconds", Seconds(record.elapsed).as_f64());
    top.put("host", to_value(&HostWire::from(&record.host)));
    top.put("cpus", record.plan.cpus);
    let caches = record.plan.caches.iter().map(|(name, size)| literal!({ "name": name, "size_bytes": size.0 }));
    top.put("caches", caches.collect::<Value>());
    match &record.plan.input {
        SignatureInput::Made => top.put("input", "made"),
        SignatureInput::File(name) => top.put("input", literal!({ "file": name })),
    }
    top.put("rounds", record.rounds.len());
    top.put("confidence", 0.95);
    top.put("ending", to_value(&record.ending));
    let conditions = record.plan.conditions.iter().zip(&report.figures);
    top.put("conditions", conditions.map(|(condition, figures)| one(condition, figures)).collect::<Value>());
    top.put("answers", report.answers.iter().map(answer).collect::<Value>());
    if samples {
        let round = |runs: &Vec<SignatureRun>| runs.iter().map(run).collect::<Value>();
        top.put("samples", record.rounds.iter().map(round).collect::<Value>());
    }
    top.into()
}

/// [`signature_bench_json`] as indented text that ends with a newline; every run stays on one line.
pub fn signature_bench_json_text(report: &SignatureBenchReport, samples: bool) -> String {
    pretty::indented_but(&signature_bench_json(report, samples), "samples")
}

fn one(condition: &SignatureCondition, figures: &Reading<SignatureFigures>) -> Value {
    let mut object = Object::new();
    object.put("allocator", condition.allocator.name());
    object.put("workers", condition.workers);
    object.put("bytes", condition.bytes);
    match condition.pool {
        Some(pool) => object.put("pool_bytes", pool.0),
        None => object.absent("pool_bytes", "this allocator has no pools"),
    }
    object.put("kept", condition.kept);
    match figures {
        Ok(figures) => self::figures(condition, figures, &mut object),
        Err(absent) => object.absent("wall_seconds", &absent.0),
    }
    object.into()
}

fn figures(condition: &SignatureCondition, figures: &SignatureFigures, object: &mut Object) {
    object.put("runs", figures.runs);
    object.number("wall_seconds", figures.wall, "not a number");
    object.interval("wall_low_seconds", "wall_high_seconds", &figures.wall_interval);
    object.number("user_seconds", figures.user, "not a number");
    object.number("system_seconds", figures.system, "not a number");
    object.number("bytes_per_second", condition.bytes as f64 / figures.wall, "the clock did not move");
    object.reading("lock_acquisitions", &figures.acquisitions);
    object.reading("lock_waiting_ratio", &figures.waiting);
}

fn answer(answer: &SignatureAnswer) -> Value {
    let mut object = Object::new();
    object.put("question", answer.question.name());
    object.put("beside", answer.old);
    object.put("condition", answer.new);
    object.put("pairs", answer.pairs);
    object.put("verdict", answer.verdict.name());
    object.reading("factor", &answer.factor);
    object.interval("low", "high", &answer.interval);
    object.into()
}

fn run(run: &SignatureRun) -> Value {
    let mut object = Object::new();
    object.put("condition", run.condition);
    object.put("times", run.times);
    object.put("wall_seconds", Seconds(run.wall).as_f64());
    object.put("user_seconds", Seconds(run.user).as_f64());
    object.put("system_seconds", Seconds(run.system).as_f64());
    super::lock(&run.lock, &mut object);
    object.into()
}
