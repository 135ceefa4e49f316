//! The verdicts.

use serde_json::Value;
use steady_model::{Judgement, LayoutEffect, Record};
use steady_render::json::part;

use super::object::Object;

/// One verdict: the fields of the output contract first, then what explains them.
pub(super) fn one(judgement: &Judgement) -> Value {
    let mut object = Object::new();
    object.put("metric", judgement.metric.name());
    object.put("command", judgement.command);
    object.put("primary", judgement.primary);
    object.put("verdict", judgement.verdict.name());
    object.put("within_resolution", judgement.within_resolution);
    object.put("decided_by", judgement.decided_by.name());
    object.reading("change", &judgement.change);
    object.interval("low", "high", &judgement.interval);
    object.interval("verdict_low", "verdict_high", &judgement.verdict_interval);
    object.reading("usual_change", &judgement.usual.change);
    object.interval("usual_low", "usual_high", &judgement.usual.interval);
    object.reading("mean_change", &judgement.mean.change);
    object.interval("mean_low", "mean_high", &judgement.mean.interval);
    object.number("confidence", judgement.confidence, "not a number");
    object.put("pairs", judgement.pairs);
    object.put("undecided", judgement.undecided.map_or(Value::Null, |reason| part(&reason)));
    let settle = judgement.effort_to_settle.unwrap_or(f64::NAN);
    let why = if judgement.undecided.is_some() { "no effort is known to settle it" } else { "the verdict is in" };
    object.number("effort_to_settle_ratio", settle, why);
    object.number("widening_ratio", judgement.widening.unwrap_or(f64::NAN), "too few pairs to tell");
    object.put("layouts", judgement.layouts.iter().map(layout).collect::<Value>());
    object.into()
}

/// The same, of a record: what `pairs` counts is told where it is draws of snapshots.
pub(super) fn of(record: &Record, judgement: &Judgement) -> Value {
    let mut value = one(judgement);
    if let (true, Value::Object(fields)) = (record.is_warm(), &mut value) {
        fields.insert("unit".to_owned(), "draw".into());
    }
    value
}

/// The effect as one layout saw it.
fn layout(effect: &LayoutEffect) -> Value {
    let mut object = Object::new();
    object.put("layout", effect.layout.name());
    object.number("change", effect.change, "not a number");
    object.interval("low", "high", &Ok(effect.interval));
    object.put("pairs", effect.pairs);
    object.into()
}
