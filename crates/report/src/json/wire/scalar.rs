//! Single values: times.

use std::time::{Duration, UNIX_EPOCH};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use steady_model::{Nanos, Timestamp};

/// A time, written in seconds.
///
/// Below 2^23 s (97 days) neighbouring doubles are less than a nanosecond apart, so every count of nanoseconds comes
/// back as it was; above, whole seconds do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::json) struct Seconds(pub(in crate::json) Nanos);

impl Seconds {
    /// The time in seconds, rounded once where a double holds the count of nanoseconds.
    pub(in crate::json) fn as_f64(self) -> f64 {
        let nanos = self.0.0;
        if nanos < 1 << 53 {
            nanos as f64 / 1e9
        } else {
            (nanos / 1_000_000_000) as f64 + (nanos % 1_000_000_000) as f64 / 1e9
        }
    }

    /// The time that `seconds` stands for; `None` where it is negative or more than the counter holds.
    fn of(seconds: f64) -> Option<Self> {
        let whole = seconds.trunc();
        if !(0.0..1.8e10).contains(&seconds) {
            return None;
        }
        // Apart, both products are exact to well below a nanosecond.
        let fraction = ((seconds - whole) * 1e9).round() as u64;
        Some(Seconds(Nanos(whole as u64 * 1_000_000_000 + fraction)))
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_f64())
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Seconds::of(seconds).ok_or_else(|| D::Error::custom(format!("{seconds} s is no time span that can be")))
    }
}

/// A time of day as RFC 3339 has it, in UTC.
pub(crate) fn started(at: Timestamp) -> String {
    /// The end of the year 9999, behind which the format has no room.
    const LAST: u64 = 253_402_300_799;
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(at.0.min(LAST))).to_string()
}

/// Reads what [`started`] wrote.
pub(in crate::json) fn read_started<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(deserializer)?;
    let at = humantime::parse_rfc3339(&text).map_err(D::Error::custom)?;
    Ok(Timestamp(at.duration_since(UNIX_EPOCH).map_err(D::Error::custom)?.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nanosecond_of_97_days_comes_back() {
        let last = (1 << 23) * 1_000_000_000 - 1;
        for start in [0, 999_999_990, 4_194_303_999_999_990, 8_388_606_123_456_700, last - 1000] {
            for nanos in start..start + 1000 {
                let seconds = Seconds(Nanos(nanos));
                assert_eq!(Seconds::of(seconds.as_f64()), Some(seconds));
            }
        }
        for whole in [1 << 23, 31_536_001, 17_999_999_999] {
            let seconds = Seconds(Nanos(whole * 1_000_000_000));
            assert_eq!(Seconds::of(seconds.as_f64()), Some(seconds));
        }
    }

    #[test]
    fn impossible_times_are_refused() {
        for seconds in [-1e-9, f64::NAN, f64::INFINITY, 1.9e10] {
            assert_eq!(Seconds::of(seconds), None, "{seconds}");
        }
    }
}
