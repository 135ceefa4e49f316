//! Serialisation of parts of the record: values of OLD and NEW as two fields, seconds as timestamps, intervals as two
//! ends.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use steady_model::{Absent, Interval, Nanos, Reading, Timestamp};
use steady_render::timestamp;

use super::ChangeEstimate;

/// Reasons in JSON for an infinite end of an interval. Reading compares with them, so they must not change.
const NO_LOW: &str = "no lower end";
const NO_HIGH: &str = "no upper end";
/// Reason for readings that earlier versions of steady did not report.
const NONE_BEFORE: &str = "reports of earlier versions do not have it";

/// Defines a module for `#[serde(flatten, with = "..")]` that writes a value of OLD and one of NEW as two fields.
macro_rules! both {
    ($module:ident, $value:ty, $old:literal, $new:literal $(, $default:ident)?) => {
        pub(super) mod $module {
            use super::*;

            #[derive(Serialize, Deserialize, JsonSchema)]
            pub(crate) struct Form {
                #[serde(rename = $old)]
                $(#[serde($default)])?
                old: $value,
                #[serde(rename = $new)]
                $(#[serde($default)])?
                new: $value,
            }

            pub(crate) fn serialize<S: Serializer>(both: &[$value; 2], serializer: S) -> Result<S::Ok, S::Error> {
                Form { old: both[0], new: both[1] }.serialize(serializer)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[$value; 2], D::Error> {
                Form::deserialize(deserializer).map(|both| [both.old, both.new])
            }
        }
    };
}

both!(flat_requests, u64, "old_requests", "new_requests");
both!(watched_requests, u64, "old_watched_requests", "new_watched_requests", default);
both!(above_ratio, f64, "old_above_ratio", "new_above_ratio");
both!(processes, usize, "old_processes", "new_processes");
both!(failed_ratio, f64, "old_failed_ratio", "new_failed_ratio");
both!(served_seconds, u64, "old_served_seconds", "new_served_seconds");
both!(ratio, f64, "old_ratio", "new_ratio");
both!(seconds, Nanos, "old_seconds", "new_seconds");
both!(cpu_seconds, Nanos, "old_cpu_seconds", "new_cpu_seconds");
both!(waiting_seconds, Nanos, "old_waiting_seconds", "new_waiting_seconds");
both!(blocked_seconds, Nanos, "old_blocked_seconds", "new_blocked_seconds");

/// Numbers of requests of OLD and NEW, and their sum, as three fields. The sum is ignored when it is read.
pub(super) mod change_requests {
    use super::*;

    #[derive(Serialize, JsonSchema)]
    pub(crate) struct Form {
        requests: u64,
        old_requests: u64,
        new_requests: u64,
    }

    pub(crate) fn serialize<S: Serializer>(both: &[u64; 2], serializer: S) -> Result<S::Ok, S::Error> {
        let [old_requests, new_requests] = *both;
        Form { requests: old_requests.saturating_add(new_requests), old_requests, new_requests }.serialize(serializer)
    }

    pub(crate) use super::flat_requests::deserialize;
}

/// A second since 1970 as a timestamp.
pub(super) mod second {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(second: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        timestamp::serialize(&Timestamp(*second), serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        timestamp::deserialize(deserializer).map(|at| at.0)
    }
}

/// The time of the question, which reports of earlier versions do not have.
pub(super) mod asked {
    use serde::de::Error;

    use super::*;

    pub(crate) fn serialize<S: Serializer>(asked: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
        let asked: Reading<String> =
            asked.map(timestamp::text).ok_or_else(|| Absent::because("an earlier version of steady did not record it"));
        asked.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => timestamp::deserialize(Value::String(text)).map(Some).map_err(D::Error::custom),
            _ => Ok(None),
        }
    }
}

/// Deserialises a number. Null stands for infinity, which JSON does not have.
pub(super) fn or_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    match Value::deserialize(deserializer)? {
        number @ Value::Number(_) => f64::deserialize(number).map_err(serde::de::Error::custom),
        Value::Null | Value::Object(_) => Ok(f64::INFINITY),
        _ => Err(serde::de::Error::custom("it is not a number")),
    }
}

/// Splits an interval into its ends. An infinite end becomes a reading that is not available.
pub(super) fn ends(interval: Reading<Interval>) -> [Reading<f64>; 2] {
    let end = |value: f64, none: &str| if value.is_finite() { Ok(value) } else { Err(Absent::because(none)) };
    match interval {
        Ok(Interval { low, high }) => [end(low, NO_LOW), end(high, NO_HIGH)],
        Err(absent) => [Err(absent.clone()), Err(absent)],
    }
}

/// Joins two ends to an interval; the inverse of [`ends`].
pub(super) fn interval(low: &Reading<f64>, high: &Reading<f64>) -> Reading<Interval> {
    let end = |end: &Reading<f64>, none: &str, infinite: f64| match end {
        Ok(end) => Ok(*end),
        Err(absent) if absent.0 == none => Ok(infinite),
        Err(absent) => Err(absent.clone()),
    };
    Ok(Interval { low: end(low, NO_LOW, f64::NEG_INFINITY)?, high: end(high, NO_HIGH, f64::INFINITY)? })
}

/// Default of an estimate that reports of earlier versions do not have.
pub(super) fn not_before() -> ChangeEstimate {
    let why = Absent::because(NONE_BEFORE);
    ChangeEstimate::new(Err(why.clone()), Err(why))
}

/// Default of a reading that reports of earlier versions do not have.
pub(super) fn none_before<T>() -> Reading<T> {
    Err(Absent::because(NONE_BEFORE))
}
