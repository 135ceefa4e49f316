//! The JSON of several comparisons joined into one.

use serde_json::{Value, json as literal};
use steady_model::{Agreement, Homogeneity, Joined, Judgement, Source};
use steady_render::json::part;

use super::object::Object;
use super::{layouts, pretty, put_budget, started, verdicts, warnings};

/// The name and version of what [`joined_json`] writes.
pub const JOINED_SCHEMA: &str = "steady.judge/1";

/// Comparisons joined, as JSON: the verdicts of all together as `steady.compare` has them, each source with its own,
/// and whether they agree.
pub fn joined_json(joined: &Joined) -> Value {
    let mut top = Object::new();
    top.put("schema", JOINED_SCHEMA);
    if let Some(plan) = joined.plan() {
        let commands = plan.commands.iter();
        let named = |command: &steady_model::Command| {
            let (name, argv) = (command.name.as_str(), &command.argv);
            literal!({ "name": name, "argv": argv, "revision": command.revision })
        };
        top.put("commands", commands.map(named).collect::<Value>());
        top.put("resolution_ratio", plan.resolution);
        top.put("confidence", plan.confidence);
    }
    top.put("elapsed_seconds", part(&joined.elapsed()));
    top.put("pairs", joined.blocks());
    top.put("runs", joined.sources.iter().map(|source| source.report.runs()).sum::<usize>());
    top.put("verdicts", joined.judgements.iter().map(verdict).collect::<Value>());
    top.put("agreement", agreement(joined));
    top.put("sources", joined.sources.iter().map(source).collect::<Value>());
    top.into()
}

/// [`joined_json`] as indented text that ends with a newline.
pub fn joined_json_text(joined: &Joined) -> String {
    pretty::indented(&joined_json(joined))
}

/// The verdict of all sources; by how much load widened an interval is each source's own.
fn verdict(judgement: &Judgement) -> Value {
    let mut verdict = verdicts::one(judgement);
    if let Value::Object(fields) = &mut verdict {
        fields.retain(|name, _| !name.starts_with("widening_ratio"));
    }
    verdict
}

/// Whether all sources tell of one effect, for every command; `agree` is null where that cannot be told of any.
fn agreement(joined: &Joined) -> Value {
    let tested: Vec<&Homogeneity> =
        joined.agreements.iter().filter_map(|agreement| agreement.homogeneity.as_ref().ok()).collect();
    let mut object = Object::new();
    if tested.is_empty() {
        object.absent("agree", "fewer than two sources have pairs enough to tell");
    } else {
        object.put("agree", tested.iter().all(|found| found.agrees));
    }
    object.put("commands", joined.agreements.iter().map(one).collect::<Value>());
    object.into()
}

fn one(agreement: &Agreement) -> Value {
    let mut object = Object::new();
    object.put("command", agreement.command);
    let found = &agreement.homogeneity;
    let number = |pick: fn(&Homogeneity) -> f64| found.as_ref().map(pick).map_err(Clone::clone);
    match found {
        Ok(found) => object.put("agree", found.agrees),
        Err(absent) => object.absent("agree", &absent.0),
    }
    object.reading("q", &number(|found| found.q));
    object.reading("degrees_of_freedom", &number(|found| found.degrees_of_freedom as f64));
    object.reading("p_value", &number(|found| found.p_value));
    object.reading("i_squared_ratio", &number(|found| found.i_squared));
    object.put("outlying", found.as_ref().map_or(vec![], |found| found.outlying.clone()));
    object.into()
}

/// One source: where and when, and what it says by itself.
fn source(source: &Source) -> Value {
    let (report, record) = (&source.report, &source.report.record);
    let mut object = Object::new();
    object.put("file", source.name.as_str());
    object.put("seed", record.plan.seed.to_string());
    object.put("started", started(record.started));
    object.put("host", part(&record.host));
    object.text("revision", &record.revision);
    put_budget(&mut object, &record.plan);
    object.put("elapsed_seconds", part(&record.elapsed));
    object.put("ending", part(&record.ending));
    object.put("layouts", layouts(report));
    object.put("pairs", record.blocks.len());
    object.put("runs", report.runs());
    object.put("verdicts", report.primary().map(verdicts::one).collect::<Value>());
    object.put("warnings", warnings(report));
    object.into()
}
