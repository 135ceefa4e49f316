//! Times of day in the format of RFC 3339, in UTC.

use std::time::{Duration, UNIX_EPOCH};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};
use steady_model::Timestamp;

/// The end of the year 9999, the last second that the format can represent.
const LAST: u64 = 253_402_300_799;

/// Formats a time to the second: `2026-11-20T10:40:42Z`.
pub fn text(at: Timestamp) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(at.0.min(LAST))).to_string()
}

/// Writes a time of day, for `#[serde(with = "steady_render::timestamp")]`.
///
/// # Errors
/// The errors of the serializer.
pub fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text(*at))
}

/// Reads a time of day, for `#[serde(with = "steady_render::timestamp")]`.
///
/// # Errors
/// The text is not a time of day in RFC 3339, or it is before 1970.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(deserializer)?;
    let at = humantime::parse_rfc3339(&text).map_err(D::Error::custom)?;
    Ok(Timestamp(at.duration_since(UNIX_EPOCH).map_err(D::Error::custom)?.as_secs()))
}
