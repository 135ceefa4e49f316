//! The record as it travels: apart from the model's types, so that either may change without the other.

mod host;
mod scalar;

pub(crate) use scalar::started;
pub(super) use scalar::{Seconds, read_started};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use steady_model::{Absent, Reading};

use super::ReadError;

/// `value` as JSON. Wire types have text for keys and nothing that can fail.
pub(super) fn to_value<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

/// A reading as the two fields that carry it: the value, or null and the reason.
pub(super) fn split<T: Clone, U>(reading: &Reading<T>, convert: impl FnOnce(T) -> U) -> (Option<U>, Option<String>) {
    match reading {
        Ok(value) => (Some(convert(value.clone())), None),
        Err(Absent(reason)) => (None, Some(reason.clone())),
    }
}

/// A share as the two fields that carry it; an infinite or meaningless one is absent, for JSON has none.
pub(super) fn split_ratio(reading: &Reading<f64>) -> (Option<f64>, Option<String>) {
    match reading {
        Ok(ratio) if !ratio.is_finite() => (None, Some("not a number".to_owned())),
        reading => split(reading, |ratio| ratio),
    }
}

/// The reading that two fields carry. `name` is the first one's.
pub(super) fn join<T>(name: &str, value: Option<T>, absent: Option<String>) -> Result<Reading<T>, ReadError> {
    match (value, absent) {
        (Some(value), None) => Ok(Ok(value)),
        (None, Some(reason)) => Ok(Err(Absent(reason))),
        (Some(_), Some(_)) => Err(ReadError::field(name, format!("both a value and a reason in {name}_absent"))),
        (None, None) => Err(ReadError::field(name, format!("neither a value nor a reason in {name}_absent"))),
    }
}

/// Reads a field that may be null but must not be missing: what is lost was not chosen, or read, to be null.
pub(super) fn required<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}
