//! The clock rate of the CPU in JSON: `alu_seconds` with its interval and the number of readings, for `#[serde(flatten,
//! with = "..")]`.

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use steady_model::{Absent, AluTime, Interval, Reading};

/// Upper limit of the time of one step of arithmetic, in seconds.
const LONGEST_STEP: f64 = 1.0;

/// The fields of a reading in JSON.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Fields {
    /// CPU time of one step of dependent arithmetic: the mean of the readings.
    alu_seconds: Reading<f64>,
    /// Lower end of its interval, from the spread of the readings.
    #[serde(skip_serializing_if = "Option::is_none")]
    alu_low_seconds: Option<f64>,
    /// Upper end of its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    alu_high_seconds: Option<f64>,
    /// Number of readings of the ruler.
    #[serde(skip_serializing_if = "Option::is_none")]
    alu_readings: Option<u32>,
}

/// The fields for deserialization, because flattened fields are read without the codec of readings.
#[derive(Deserialize)]
struct Read {
    #[serde(default)]
    alu_seconds: Option<f64>,
    #[serde(default)]
    alu_seconds_absent: Option<String>,
    #[serde(default)]
    alu_low_seconds: Option<f64>,
    #[serde(default)]
    alu_high_seconds: Option<f64>,
    #[serde(default)]
    alu_readings: Option<u32>,
}

/// Writes the fields of a reading.
///
/// # Errors
/// Errors of the serializer.
pub fn serialize<S: Serializer>(alu: &Reading<AluTime>, serializer: S) -> Result<S::Ok, S::Error> {
    let known = alu.as_ref().ok();
    let fields = Fields {
        alu_seconds: alu.clone().map(|alu| alu.seconds),
        alu_low_seconds: known.map(|alu| alu.interval.low),
        alu_high_seconds: known.map(|alu| alu.interval.high),
        alu_readings: known.map(|alu| alu.readings),
    };
    fields.serialize(serializer)
}

/// Reads the fields. Old exports have none of them.
///
/// # Errors
/// The interval is missing, or a value is out of range.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Reading<AluTime>, D::Error> {
    let read = Read::deserialize(deserializer)?;
    let Some(seconds) = read.alu_seconds else {
        let why =
            read.alu_seconds_absent.unwrap_or_else(|| "not measured by the version that wrote this record".to_owned());
        return Ok(Err(Absent(why)));
    };
    let end = |name: &'static str, end: Option<f64>| end.ok_or_else(|| D::Error::missing_field(name));
    let low = end("alu_low_seconds", read.alu_low_seconds)?;
    let high = end("alu_high_seconds", read.alu_high_seconds)?;
    if 0.0 < low && low <= seconds && seconds <= high && high < LONGEST_STEP {
        let readings = read.alu_readings.unwrap_or_default();
        Ok(Ok(AluTime { seconds, interval: Interval { low, high }, readings }))
    } else {
        Err(D::Error::custom("alu_seconds: out of range, or outside its interval"))
    }
}
