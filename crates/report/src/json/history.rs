//! The JSON of the history.

use serde_json::{Value, json as literal};
use steady_model::{Kept, Report};

use super::object::Object;
use super::{pretty, started, verdicts};
use crate::document::sentence;

/// The name and version of what [`runs_json_text`] writes.
pub const HISTORY_SCHEMA: &str = "steady.history/1";

/// Runs of the history as indented text that ends with a newline. A reading that is absent is null, with the reason
/// beside it.
pub fn runs_json_text(runs: &[Kept]) -> String {
    of(runs.iter().map(|kept| fields(kept).into()).collect())
}

/// One run of the history, with its verdicts.
pub fn judged_run_json_text(kept: &Kept, verdicts: Value) -> String {
    let mut run = fields(kept);
    run.put("verdicts", verdicts);
    of(vec![run.into()])
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

/// One run of the history, with what it says in sentences.
pub fn said_run_json_text(kept: &Kept, sentences: &[String]) -> String {
    let mut run = fields(kept);
    run.put("sentences", sentences.iter().map(|text| text.replace('\u{a0}', " ")).collect::<Vec<_>>());
    of(vec![run.into()])
}

fn of(runs: Vec<Value>) -> String {
    pretty::indented(&literal!({ "schema": HISTORY_SCHEMA, "runs": runs }))
}

fn fields(kept: &Kept) -> Object {
    let facts = &kept.facts;
    let mut run = Object::new();
    run.put("id", kept.id);
    run.put("kind", facts.kind.name());
    run.put("started", started(facts.started));
    run.put("commands", facts.commands.clone());
    match &facts.pairs {
        Ok(pairs) => run.put("pairs", *pairs),
        Err(absent) => run.absent("pairs", &absent.0),
    }
    run.put("complete", facts.complete);
    run.text("metric", &facts.primary.as_ref().map(|metric| metric.name().to_owned()).map_err(Clone::clone));
    run.put("verdict", facts.verdict.as_str());
    run.text("hostname", &facts.hostname);
    run.text("kernel", &facts.kernel);
    run.text("revision", &facts.revision);
    run.text("seed", &facts.seed.as_ref().map(ToString::to_string).map_err(Clone::clone));
    run
}
