//! The JSON of what a release changed, and the way back.

mod change;
mod check;
mod course;
mod read;
mod refusal;
mod side;
mod wall;

use serde_json::Value;
use steady_model::{Absent, Reading, ReleaseReport, Timestamp, Verdict};

pub use read::read_release_report;

use super::object::Object;
use super::wire::{self, to_value};
use crate::words::release::{sentences, warnings};
use steady_render::json::Schema;
use steady_render::json::pretty;

/// The name and version of what [`release_json`] makes.
pub const RELEASE_SCHEMA: &str = "steady.release/1";

/// The same, to be read.
const SCHEMA: Schema = Schema { name: RELEASE_SCHEMA, what: "what a release changed" };

/// Minutes are told in seconds.
const MINUTE: f64 = 60.0;

/// The report as JSON: nothing of it is left out, so that it can be read back. Changes are NEW / OLD - 1.
pub fn release_json(report: &ReleaseReport) -> Value {
    let question = &report.question;
    let mut top = Object::new();
    top.put("schema", RELEASE_SCHEMA);
    top.put("service", question.service.as_str());
    top.put("old", question.old.as_str());
    top.put("new", question.new.as_str());
    match question.asked {
        Some(asked) => top.put("asked", wire::started(asked)),
        None => top.absent("asked", "it was not told before"),
    }
    top.put("from", wire::started(Timestamp(question.from)));
    top.put("to", wire::started(Timestamp(question.to)));
    top.put("window_seconds", question.to.saturating_sub(question.from));
    top.put("by_route", question.by_route);
    top.put("confidence", question.confidence);
    top.put("resolution", question.resolution);
    top.put("fail_if", to_value(&question.fail_if));
    top.put("design", report.design.name());
    top.put("model_based", !report.design.is_randomised());
    top.put("rests_on", to_value(&report.rests_on));
    top.put("from_outside", report.from_outside);
    top.put("has_classes", report.has_classes);
    top.put("refused", !report.refused.is_empty());
    top.put("refusals", report.refused.iter().map(refusal::value).collect::<Vec<_>>());
    match &report.settle {
        Some(settle) => {
            let mut object = Object::new();
            object.put("design", settle.design.name());
            object.number("seconds", settle.minutes * MINUTE, "longer than can be told");
            top.put("settle", Value::from(object));
        }
        None => top.absent("settle", unsettled(report)),
    }
    top.put("answer", said(report));
    top.put("total", change::value(&report.total));
    top.put("usual", change::usual(&report.usual));
    top.put("tails", report.tails.iter().map(change::tail).collect::<Vec<_>>());
    top.put("routes", report.routes.iter().map(change::route).collect::<Vec<_>>());
    top.put("hosts", report.hosts.iter().map(change::host).collect::<Vec<_>>());
    top.put("sides", report.sides.iter().map(side::value).collect::<Vec<_>>());
    part(&mut top, "wall", &report.wall.as_ref().map(wall::value).map_err(Clone::clone));
    part(&mut top, "saving", &report.saving.as_ref().map(side::saving).map_err(Clone::clone));
    part(&mut top, "unexplained", &report.unexplained.as_ref().map(side::unexplained).map_err(Clone::clone));
    top.put("course", course::value(&report.course));
    top.put("looks", report.looks.iter().map(course::look).collect::<Vec<_>>());
    top.put("warnings", warned(report));
    top.into()
}

/// Why nothing is said about what would settle it.
fn unsettled(report: &ReleaseReport) -> &'static str {
    match (report.total.verdict, report.total.minutes_to_settle) {
        (_, Some(_)) => "no other design is advised; total.settle_seconds says how long this one takes",
        (Verdict::Undecided, None) => "neither another design nor more of the same traffic is known to settle it",
        _ => "it is decided",
    }
}

/// The report as indented JSON that ends with a newline. A reading that is absent is null, with the reason in
/// `<name>_absent` beside it.
pub fn release_json_text(report: &ReleaseReport) -> String {
    pretty::indented_but(&release_json(report), "moments")
}

/// The answer in words, for those that only pass it on.
fn said(report: &ReleaseReport) -> String {
    let text = |sentence: Vec<crate::text::Span>| sentence.into_iter().map(|(_, text)| text).collect::<String>();
    sentences(report).into_iter().map(text).collect::<Vec<_>>().join(" ").replace('\u{a0}', " ")
}

/// The warnings, each with its words.
fn warned(report: &ReleaseReport) -> Vec<Value> {
    let words = warnings(report).into_iter().map(|text| text.replace('\u{a0}', " "));
    let with = |(warning, text): (&_, String)| {
        let mut value = refusal::warning(warning);
        value.put("text", text);
        Value::from(value)
    };
    report.warnings.iter().zip(words).map(with).collect()
}

fn part(top: &mut Object, name: &str, reading: &Reading<Value>) {
    match reading {
        Ok(value) => top.put(name, value.clone()),
        Err(Absent(reason)) => top.absent(name, reason),
    }
}
