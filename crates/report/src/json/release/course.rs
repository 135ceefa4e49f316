//! The course of the window, and the looks at it.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use steady_model::{Absent, Interval, Nanos, Reading, ReleaseCourse, ReleaseMoment, ReleaseSight, Timestamp};

use super::change::EndsWire;
use crate::json::ReadError;
use crate::json::object::Object;
use crate::json::wire::{self, Seconds, read_started, required};

/// Why readings of a moment are absent.
const NOT_SERVED: &str = "it served nothing";
const NOT_READ: &str = "not read";
/// Why a look tells nothing.
const NOT_YET: &str = "too little was known";

/// The course. A moment is named by its second since 1970.
pub(super) fn value(course: &ReleaseCourse) -> Value {
    let mut object = Object::new();
    object.put("step_seconds", course.step_seconds);
    object.put("moments", course.moments.iter().map(moment).collect::<Vec<_>>());
    object.into()
}

fn moment(moment: &ReleaseMoment) -> Value {
    let mut object = Object::new();
    object.put("at_seconds", moment.second);
    for (side, name) in ["old", "new"].iter().enumerate() {
        object.put(&format!("{name}_requests"), moment.requests[side]);
        object.time(&format!("{name}_raw_seconds"), &told(moment.raw[side], NOT_SERVED));
        object.time(&format!("{name}_adjusted_seconds"), &told(moment.adjusted[side], NOT_SERVED));
    }
    object.reading("busy_ratio", &told(moment.busy, NOT_READ));
    object.reading("rulers_ratio", &told(moment.rulers, NOT_READ));
    object.into()
}

fn told<T>(value: Option<T>, otherwise: &str) -> Reading<T> {
    value.ok_or_else(|| Absent::because(otherwise))
}

/// A look.
pub(super) fn look(sight: &ReleaseSight) -> Value {
    let mut object = Object::new();
    object.put("to", wire::started(Timestamp(sight.to)));
    object.put("old_requests", sight.requests[0]);
    object.put("new_requests", sight.requests[1]);
    object.reading("change", &told(sight.change, NOT_YET));
    object.interval("low", "high", &told(sight.interval, NOT_YET));
    object.into()
}

/// The course, to be read.
#[derive(Deserialize)]
pub(super) struct CourseWire {
    step_seconds: u64,
    moments: Vec<MomentWire>,
}

#[derive(Deserialize)]
struct MomentWire {
    at_seconds: u64,
    old_requests: u64,
    new_requests: u64,
    #[serde(deserialize_with = "required")]
    old_raw_seconds: Option<Seconds>,
    #[serde(deserialize_with = "required")]
    new_raw_seconds: Option<Seconds>,
    #[serde(deserialize_with = "required")]
    old_adjusted_seconds: Option<Seconds>,
    #[serde(deserialize_with = "required")]
    new_adjusted_seconds: Option<Seconds>,
    #[serde(deserialize_with = "required")]
    busy_ratio: Option<f64>,
    #[serde(deserialize_with = "required")]
    rulers_ratio: Option<f64>,
}

impl From<CourseWire> for ReleaseCourse {
    fn from(wire: CourseWire) -> ReleaseCourse {
        let moments = wire.moments.into_iter().map(ReleaseMoment::from).collect();
        ReleaseCourse { step_seconds: wire.step_seconds, moments }
    }
}

impl From<MomentWire> for ReleaseMoment {
    fn from(wire: MomentWire) -> ReleaseMoment {
        let times = |times: [Option<Seconds>; 2]| times.map(|time| time.map(|time| time.0));
        ReleaseMoment {
            second: wire.at_seconds,
            requests: [wire.old_requests, wire.new_requests],
            raw: times([wire.old_raw_seconds, wire.new_raw_seconds]),
            adjusted: times([wire.old_adjusted_seconds, wire.new_adjusted_seconds]),
            busy: wire.busy_ratio,
            rulers: wire.rulers_ratio,
        }
    }
}

/// A look, to be read.
#[derive(Deserialize)]
pub(super) struct LookWire {
    #[serde(deserialize_with = "second")]
    to: u64,
    old_requests: u64,
    new_requests: u64,
    #[serde(deserialize_with = "required")]
    change: Option<f64>,
    #[serde(flatten)]
    ends: EndsWire,
}

/// A second since 1970, written as a time of day.
pub(super) fn second<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    read_started(deserializer).map(|at| at.0)
}

impl LookWire {
    pub(super) fn into_look(self) -> Result<ReleaseSight, ReadError> {
        let interval: Option<Interval> = self.ends.into_interval()?.ok();
        let requests = [self.old_requests, self.new_requests];
        Ok(ReleaseSight { to: self.to, requests, change: self.change, interval })
    }
}

/// No time is longer than what seconds in JSON hold exactly.
pub(super) const LONGEST: Nanos = crate::json::check::LONGEST;
