//! Units, and readings that may be unavailable.

use std::borrow::Cow;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Interval;

/// A time span, or a point on a monotonic clock, in nanoseconds.
///
/// The JSON form is in seconds. Below 2^23 s (97 days), neighbouring doubles are less than a nanosecond apart, so every
/// value is restored exactly. Above that, whole seconds are. Negative and non-finite numbers are errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// A time span of zero.
    pub const ZERO: Nanos = Nanos(0);

    /// Converts from seconds; negative values and NaN become zero.
    pub fn from_seconds(seconds: f64) -> Self {
        Nanos((seconds * 1e9).round() as u64)
    }

    /// Converts from whole microseconds, the unit of `struct rusage`.
    pub fn from_micros(micros: u64) -> Self {
        Nanos(micros * 1_000)
    }

    /// Converts the time to seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the difference, or zero if `other` is later.
    pub fn since(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    /// Saturates, because values from files may be arbitrarily large.
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    /// Saturates, because clocks of different resolution may disagree by one step.
    fn sub(self, other: Nanos) -> Nanos {
        self.since(other)
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Nanos>>(iter: I) -> Nanos {
        iter.fold(Nanos::ZERO, Add::add)
    }
}

impl From<Duration> for Nanos {
    fn from(duration: Duration) -> Nanos {
        Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(nanos: Nanos) -> Duration {
        Duration::from_nanos(nanos.0)
    }
}

impl Serialize for Nanos {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Below 2^53 ns a double holds the value, and the division rounds only once.
        let seconds = if self.0 < 1 << 53 {
            self.0 as f64 / 1e9
        } else {
            (self.0 / 1_000_000_000) as f64 + (self.0 % 1_000_000_000) as f64 / 1e9
        };
        serializer.serialize_f64(seconds)
    }
}

impl<'de> Deserialize<'de> for Nanos {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        if !(0.0..1.8e10).contains(&seconds) {
            return Err(D::Error::custom(format!("{seconds} s is not a valid time span")));
        }
        // Separately, both products are exact to well below a nanosecond.
        let whole = seconds.trunc();
        let fraction = ((seconds - whole) * 1e9).round() as u64;
        Ok(Nanos(whole as u64 * 1_000_000_000 + fraction))
    }
}

impl JsonSchema for Nanos {
    fn schema_name() -> Cow<'static, str> {
        "Seconds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "description": "A span of time in seconds." })
    }
}

/// An amount of memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A time of day, in whole seconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

/// Why a reading is not available: a clause that completes "not measured: ..." or "not available: ...".
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Absent(pub String);

impl Absent {
    /// Creates the reason of a reading that is not available.
    pub fn because(reason: impl Into<String>) -> Self {
        Absent(reason.into())
    }
}

impl fmt::Display for Absent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Absent {}

/// Reads a field that may be null but must not be missing, because only an explicit null shows that there is no value.
/// For `#[serde(deserialize_with = "required")]`.
///
/// # Errors
/// The errors of the deserializer.
pub fn required<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

/// Returns the number, or the reason `otherwise` if it is infinite or NaN.
///
/// # Errors
/// The reason `otherwise`.
pub fn if_finite(value: f64, otherwise: &str) -> Reading<f64> {
    if value.is_finite() { Ok(value) } else { Err(Absent::because(otherwise)) }
}

/// Returns the lower and the upper end of an interval, each with a reason if there is none.
pub fn ends(interval: &Reading<Interval>) -> [Reading<f64>; 2] {
    match interval {
        Ok(interval) => [if_finite(interval.low, "no lower end"), if_finite(interval.high, "no upper end")],
        Err(absent) => [Err(absent.clone()), Err(absent.clone())],
    }
}

/// Writes infinities and NaN, which JSON cannot represent, as not available. For `#[serde(serialize_with = "finite")]`.
pub(crate) fn finite<S: Serializer>(reading: &Reading<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match reading {
        Ok(value) if !value.is_finite() => Err::<f64, _>(Absent::because("not a number")).serialize(serializer),
        reading => reading.serialize(serializer),
    }
}

/// A measured value, or the reason why it is not available. A missing value is never replaced by zero.
pub type Reading<T> = Result<T, Absent>;

#[cfg(test)]
mod tests {
    use super::*;

    fn through_json(nanos: Nanos) -> Nanos {
        serde_json::from_str(&serde_json::to_string(&nanos).unwrap()).unwrap()
    }

    #[test]
    fn every_nanosecond_below_97_days_is_restored() {
        let last = (1 << 23) * 1_000_000_000 - 1;
        for start in [0, 999_999_990, 4_194_303_999_999_990, 8_388_606_123_456_700, last - 1000] {
            for nanos in (start..start + 1000).map(Nanos) {
                assert_eq!(through_json(nanos), nanos);
            }
        }
        for whole in [1 << 23, 31_536_001, 17_999_999_999] {
            assert_eq!(through_json(Nanos(whole * 1_000_000_000)), Nanos(whole * 1_000_000_000));
        }
    }

    #[test]
    fn invalid_times_are_rejected() {
        for seconds in ["-1e-9", "null", "1.9e10", "-1"] {
            assert!(serde_json::from_str::<Nanos>(seconds).is_err(), "{seconds}");
        }
    }

    #[test]
    fn negative_and_undefined_seconds_become_zero() {
        assert_eq!(Nanos::from_seconds(-1.0), Nanos::ZERO);
        assert_eq!(Nanos::from_seconds(f64::NAN), Nanos::ZERO);
    }
}
