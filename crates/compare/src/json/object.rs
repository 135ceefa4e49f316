//! Builds one JSON object, field by field, with absent readings as the contract has them.

use serde_json::{Map, Value};
use steady_model::{Interval, Reading, Spread};

/// A JSON object whose fields keep the order in which they were put.
pub(super) struct Object(Map<String, Value>);

impl Object {
    pub(super) fn new() -> Self {
        Object(Map::new())
    }

    /// A field that is always there.
    pub(super) fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// The fields of another object.
    pub(super) fn extend(&mut self, value: Value) {
        if let Value::Object(fields) = value {
            self.0.extend(fields);
        }
    }

    /// A null, and its reason beside it.
    pub(super) fn absent(&mut self, name: &str, reason: &str) {
        self.put(name, Value::Null);
        self.put(&format!("{name}_absent"), reason);
    }

    /// A number, or null with `otherwise` as its reason where it is infinite or no number: JSON has neither.
    pub(super) fn number(&mut self, name: &str, value: f64, otherwise: &str) {
        if value.is_finite() { self.put(name, value) } else { self.absent(name, otherwise) }
    }

    /// A reading: its value, or null with its reason.
    pub(super) fn reading<T: Copy + Into<f64>>(&mut self, name: &str, reading: &Reading<T>) {
        match reading {
            Ok(value) => self.number(name, (*value).into(), "not a number"),
            Err(absent) => self.absent(name, &absent.0),
        }
    }

    /// A text, or null with its reason.
    pub(super) fn text(&mut self, name: &str, reading: &Reading<String>) {
        match reading {
            Ok(text) => self.put(name, text.as_str()),
            Err(absent) => self.absent(name, &absent.0),
        }
    }

    /// Both ends of an interval, each absent where it has no end.
    pub(super) fn interval(&mut self, low: &str, high: &str, interval: &Reading<Interval>) {
        match interval {
            Ok(interval) => {
                self.number(low, interval.low, "no lower end");
                self.number(high, interval.high, "no upper end");
            }
            Err(absent) => {
                self.absent(low, &absent.0);
                self.absent(high, &absent.0);
            }
        }
    }

    /// A mean under `name`, its interval and range under the same name with endings.
    pub(super) fn spread(&mut self, name: &str, spread: &Reading<Spread>) {
        let part = |pick: fn(&Spread) -> f64| spread.as_ref().map(pick).map_err(Clone::clone);
        self.reading(name, &part(|spread| spread.mean));
        let interval = spread.as_ref().map(|spread| spread.interval).map_err(Clone::clone);
        self.interval(&format!("{name}_low"), &format!("{name}_high"), &interval);
        self.reading(&format!("{name}_median"), &part(|spread| spread.median));
        self.reading(&format!("{name}_min"), &part(|spread| spread.min));
        self.reading(&format!("{name}_max"), &part(|spread| spread.max));
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Value {
        Value::Object(object.0)
    }
}

impl From<Object> for Map<String, Value> {
    fn from(object: Object) -> Map<String, Value> {
        object.0
    }
}
