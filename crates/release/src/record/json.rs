//! Writes the record as JSON with derived values, and reads it.

use serde_json::{Map, Value};
use steady_model::{Interval, Nanos, Reading};
use steady_render::json::{self, ReadError, pretty};

use super::{ReleaseReport, SCHEMA};
use crate::document::{sentences, warnings};

/// Upper bound of the time of a request: 2^23 s, 97 days. Below it, a number in JSON represents every nanosecond
/// exactly.
const LONGEST: Nanos = Nanos((1 << 23) * 1_000_000_000);

/// Kinds of warnings that earlier versions of steady wrote. Reports no longer have them.
const REMOVED: [&str; 2] = ["means-differ", "restarted-processes"];

impl ReleaseReport {
    /// Reads a report from a JSON export. The result equals the exported report.
    ///
    /// # Errors
    /// What is wrong with the JSON, and where. No input causes a panic.
    pub fn read(json: &str) -> Result<Self, ReadError> {
        let mut value = SCHEMA.value(json)?;
        if let Some(Value::Array(warnings)) = value.get_mut("warnings") {
            warnings.retain(|warning| warning.get("kind").is_none_or(|kind| !REMOVED.iter().any(|one| kind == one)));
        }
        value.get_mut("warnings").and_then(Value::as_array_mut).into_iter().flatten().for_each(with_named_sides);
        let [routes, hosts] = ["routes", "hosts"].map(|name| value.get(name).and_then(Value::as_array).cloned());
        let mut report: ReleaseReport = json::of_value(value)?;
        let change = |name: &str, at: usize, value| {
            json::of_value(value).map_err(|error: ReadError| error.within(&format!("{name}[{at}]")))
        };
        for (at, (route, value)) in report.routes.iter_mut().zip(routes.into_iter().flatten()).enumerate() {
            route.change = change("routes", at, value)?;
        }
        for (at, (host, value)) in report.hosts.iter_mut().zip(hosts.into_iter().flatten()).enumerate() {
            host.change = change("hosts", at, value)?;
        }
        report.check()?;
        Ok(report)
    }

    /// Returns the report as JSON: all fields, so that it can be read again, and derived values.
    /// Changes are NEW / OLD - 1.
    pub fn value(&self) -> Value {
        let Value::Object(mut top) = json::value(&SCHEMA, self) else { return Value::Null };
        let question = &self.question;
        put_before(&mut top, "by_route", "window_seconds", question.to.saturating_sub(question.from).into());
        put_before(&mut top, "rests_on", "model_based", (!self.design.is_randomised()).into());
        put_before(&mut top, "refusals", "refused", (!self.refused.is_empty()).into());
        put_before(&mut top, "total", "answer", self.answer_in_words().into());
        if let Some(Value::Array(all)) = top.get_mut("warnings") {
            for (warning, words) in all.iter_mut().filter_map(Value::as_object_mut).zip(warnings(self)) {
                warning.insert("text".to_owned(), words.replace('\u{a0}', " ").into());
            }
        }
        let mut value = Value::Object(top);
        explain(&mut value);
        value
    }

    /// Formats [`ReleaseReport::value`] as indented text that ends with a newline.
    pub(crate) fn json_text(&self) -> String {
        pretty::indented_but(&self.value(), "moments")
    }

    /// Returns the sentences of the answer as one text, for programs that only display it.
    fn answer_in_words(&self) -> String {
        let text = |sentence: Vec<(_, String)>| sentence.into_iter().map(|(_, text)| text).collect::<String>();
        sentences(self).into_iter().map(text).collect::<Vec<_>>().join(" ").replace('\u{a0}', " ")
    }

    /// Checks what the types do not guarantee: the order of times and of the ends of intervals, and the range of
    /// shares.
    fn check(&self) -> Result<(), ReadError> {
        let question = &self.question;
        holds(question.from <= question.to, "to", "the window ends before it begins")?;
        let share = |value: f64| value > 0.0 && value < 1.0;
        holds(share(question.confidence), "confidence", "it must lie between 0 and 1")?;
        holds(share(question.resolution), "resolution", "it must lie between 0 and 1")?;
        in_order(&self.total.interval(), "total")?;
        for (at, route) in self.routes.iter().enumerate() {
            in_order(&route.change.interval(), &format!("routes[{at}]"))?;
            in_order(&route.usual.interval(), &format!("routes[{at}].usual"))?;
        }
        for (at, host) in self.hosts.iter().enumerate() {
            in_order(&host.change.interval(), &format!("hosts[{at}]"))?;
        }
        in_order(&self.usual.interval(), "usual")?;
        for (at, tail) in self.tails.iter().enumerate() {
            in_order(&tail.above.interval(), &format!("tails[{at}].above"))?;
            in_order(&tail.below.interval(), &format!("tails[{at}].below"))?;
        }
        let moments = &self.course.moments;
        let steps = self.course.step_seconds > 0 || moments.is_empty();
        holds(steps, "course.step_seconds", "it must be above zero")?;
        let ordered = moments.windows(2).all(|pair| pair[0].at_seconds < pair[1].at_seconds);
        holds(ordered, "course.moments", "the steps are not in ascending order of time")?;
        let mut times = moments.iter().flat_map(|moment| moment.raw().into_iter().chain(moment.adjusted())).flatten();
        holds(times.all(|time| time < LONGEST), "course.moments", "the time of a request is longer than 97 days")
    }
}

fn in_order(interval: &Reading<Interval>, path: &str) -> Result<(), ReadError> {
    let ordered = |interval: &Interval| interval.low <= interval.high;
    holds(interval.as_ref().map_or(true, ordered), &format!("{path}.high"), "it is below the lower end")
}

fn holds(condition: bool, path: &str, problem: &str) -> Result<(), ReadError> {
    if condition { Ok(()) } else { Err(ReadError::inconsistent(path, problem)) }
}

/// Inserts a field before another one, or at the end if there is no such field.
fn put_before(fields: &mut Map<String, Value>, before: &str, name: &str, value: Value) {
    let place = fields.keys().position(|key| key == before).unwrap_or(fields.len());
    fields.shift_insert(place, name.to_owned(), value);
}

/// Replaces the pairs of a warning by named fields. Earlier versions of steady wrote pairs.
fn with_named_sides(warning: &mut Value) {
    let Some(fields) = warning.as_object_mut() else { return };
    for (pair, name) in [("processes", "processes"), ("shares", "failed_ratio"), ("seconds", "served_seconds")] {
        if let Some([old, new]) = fields.get(pair).and_then(Value::as_array).map(Vec::as_slice) {
            let (old, new) = (old.clone(), new.clone());
            fields.insert(format!("old_{name}"), old);
            fields.insert(format!("new_{name}"), new);
        }
    }
}

/// Adds a `_absent` field with the reason to each null that stands for an infinite number, because JSON has no
/// infinity.
fn explain(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let reason = |name: &String| format!("{name}_absent");
            let bare = |(name, field): &(&String, &Value)| {
                field.is_null() && name.as_str() != "fail_if" && !fields.contains_key(&reason(name))
            };
            let bare: Vec<String> = fields.iter().filter(bare).map(|(name, _)| name.clone()).collect();
            for name in bare {
                fields.insert(reason(&name), "infinite".into());
            }
            fields.values_mut().for_each(explain);
        }
        Value::Array(elements) => elements.iter_mut().for_each(explain),
        _ => {}
    }
}
