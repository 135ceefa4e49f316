//! The JSON of a host and its knobs.

use serde_json::Value;
use steady_model::{ConditionState, Deed, HostReport, JournalFacts, Knob, KnobState, QuietRun, RulerSpread};

use super::object::Object;
use super::wire::{self, HostWire, Seconds};
use super::{pretty, started};
use crate::words::host::worth;

/// The name and version of what [`host_json`] writes.
pub const HOST_SCHEMA: &str = "steady.host/1";

/// The report as JSON. A reading that is absent is null, with the reason in `<name>_absent` beside it.
pub fn host_json(report: &HostReport) -> Value {
    let mut top = Object::new();
    top.put("schema", HOST_SCHEMA);
    top.put("kind", report.question.name());
    top.put("started", started(report.started));
    top.put("host", wire::to_value(&HostWire::from(&report.host)));
    top.put("is_root", report.is_root);
    top.put("complete", report.is_complete());
    top.put("knobs", report.knobs.iter().map(knob).collect::<Value>());
    top.put("conditions", report.conditions.iter().map(condition).collect::<Value>());
    match &report.spreads {
        Ok(spreads) => top.put("spreads", spreads.iter().map(spread).collect::<Value>()),
        Err(absent) => top.absent("spreads", &absent.0),
    }
    top.put("set", report.set.iter().map(deed).collect::<Value>());
    top.put("left", report.left.iter().map(left).collect::<Value>());
    top.put("restored", report.restored.iter().map(deed).collect::<Value>());
    top.put("run", report.run.as_ref().map(run));
    match &report.journal {
        Ok(facts) => top.put("journal", facts.as_ref().map(journal)),
        Err(absent) => top.absent("journal", &absent.0),
    }
    top.put("notes", report.notes.iter().map(|note| Value::from(note.as_str())).collect::<Value>());
    top.into()
}

/// [`host_json`] as indented text that ends with a newline.
pub fn host_json_text(report: &HostReport) -> String {
    pretty::indented(&host_json(report))
}

fn knob(state: &KnobState) -> Value {
    let mut object = Object::new();
    object.put("name", state.knob.name());
    object.text("value", &state.value);
    object.text("quiet_value", &state.quiet_value);
    object.put("is_quiet", state.is_quiet);
    object.put("settable", state.settable.is_ok());
    object.put("reason", state.settable.as_ref().err().map(|absent| absent.0.clone()));
    let (what, source) = worth(state.knob);
    object.put("worth", what);
    object.put("source", source);
    object.put("files", state.files.len());
    object.into()
}

fn condition(state: &ConditionState) -> Value {
    let mut object = Object::new();
    object.put("name", state.condition.name());
    object.text("value", &state.value);
    object.put("disturbs", state.disturbs);
    object.into()
}

fn spread(spread: &RulerSpread) -> Value {
    let mut object = Object::new();
    object.put("ruler", spread.resource.name());
    object.put("readings", spread.readings);
    object.number("spread_ratio", spread.spread_ratio, "not a number");
    object.number("range_ratio", spread.range_ratio, "not a number");
    object.into()
}

fn deed(deed: &Deed) -> Value {
    let mut object = Object::new();
    object.put("name", deed.knob.name());
    object.put("file", deed.file.as_str());
    object.put("from", deed.from.as_str());
    object.put("to", deed.to.as_str());
    object.put("outcome", deed.outcome.name());
    object.put("reason", deed.outcome.reason().map(str::to_owned));
    object.into()
}

fn left((knob, why): &(Knob, String)) -> Value {
    let mut object = Object::new();
    object.put("name", knob.name());
    object.put("reason", why.as_str());
    object.into()
}

fn run(run: &QuietRun) -> Value {
    let mut object = Object::new();
    object.put("command", run.command.as_str());
    object.put("ended", wire::to_value(&run.ended));
    object.put("wall_seconds", Seconds(run.wall).as_f64());
    match &run.fixed_addresses {
        None => object.put("fixed_addresses", false),
        Some(Ok(())) => object.put("fixed_addresses", true),
        Some(Err(absent)) => object.absent("fixed_addresses", &absent.0),
    }
    object.put("left_behind", run.left_behind);
    object.into()
}

fn journal(facts: &JournalFacts) -> Value {
    let mut object = Object::new();
    object.put("file", facts.file.as_str());
    object.put("since", started(facts.since));
    object.put("knobs", facts.knobs.iter().map(|knob| Value::from(knob.name())).collect::<Value>());
    object.put("running", facts.running);
    object.put("stays", facts.stays);
    object.into()
}
