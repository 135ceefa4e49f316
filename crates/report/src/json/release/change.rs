//! A change of CPU time per request.

use serde::Deserialize;
use serde_json::Value;
use steady_model::{
    Absent, ChangeEstimate, Interval, Nanos, Reading, ReleaseChange, ReleaseHost, ReleaseRoute, ReleaseTail, Verdict,
};

use super::MINUTE;
use crate::json::ReadError;
use crate::json::object::Object;
use crate::json::wire::{Seconds, join, required};

/// Why an interval has no end on a side.
const NO_LOW: &str = "no lower end";
const NO_HIGH: &str = "no upper end";
/// Why it is not told how long settling takes.
const NOT_KNOWN: &str = "it is decided, or more of the same traffic would not settle it";

/// The change of the whole.
pub(super) fn value(change: &ReleaseChange) -> Value {
    let mut object = Object::new();
    put(&mut object, change);
    object.into()
}

fn put(object: &mut Object, change: &ReleaseChange) {
    object.reading("change", &change.change);
    object.interval("low", "high", &change.interval);
    object.put("verdict", change.verdict.name());
    object.put("within_resolution", change.within_resolution);
    object.reading("raw_change", &change.raw_change);
    object.reading("load_shift", &change.load_shift);
    object.put("requests", change.requests[0].saturating_add(change.requests[1]));
    object.put("old_requests", change.requests[0]);
    object.put("new_requests", change.requests[1]);
    match change.minutes_to_settle {
        Some(minutes) => object.number("settle_seconds", minutes * MINUTE, "longer than can be told"),
        None => object.absent("settle_seconds", NOT_KNOWN),
    }
}

/// The change of the usual request.
pub(super) fn usual(estimate: &ChangeEstimate) -> Value {
    let mut object = Object::new();
    put_estimate(&mut object, "", estimate);
    object.into()
}

/// An estimate whose fields begin with `prefix`.
fn put_estimate(object: &mut Object, prefix: &str, estimate: &ChangeEstimate) {
    object.reading(&format!("{prefix}change"), &estimate.change);
    object.interval(&format!("{prefix}low"), &format!("{prefix}high"), &estimate.interval);
}

/// Requests of a route and class, split at a multiple of their usual cost.
pub(super) fn tail(tail: &ReleaseTail) -> Value {
    let mut object = Object::new();
    object.put("route", tail.route.as_str());
    object.put("class", tail.class.as_str());
    object.number("cpu_ratio", tail.cpu_ratio, "not a number");
    object.number("old_above_ratio", tail.above_ratio[0], "not a number");
    object.number("new_above_ratio", tail.above_ratio[1], "not a number");
    object.number("above_cpu_ratio", tail.above_cpu_ratio, "not a number");
    object.put("above", usual(&tail.above));
    object.put("below", usual(&tail.below));
    object.into()
}

/// The change of a route.
pub(super) fn route(route: &ReleaseRoute) -> Value {
    let mut object = Object::new();
    object.put("route", route.route.as_str());
    object.number("cpu_ratio", route.cpu_ratio, "not a number");
    put(&mut object, &route.change);
    object.put("usual", usual(&route.usual));
    let median = |side: usize| route.wall_median.as_ref().map(|times| times[side]).map_err(Clone::clone);
    object.time("old_wall_median_seconds", &median(0));
    object.time("new_wall_median_seconds", &median(1));
    object.into()
}

/// The change on a host.
pub(super) fn host(host: &ReleaseHost) -> Value {
    let mut object = Object::new();
    object.put("host", host.host.as_str());
    object.number("cpu_ratio", host.cpu_ratio, "not a number");
    put(&mut object, &host.change);
    object.put("outlying", host.outlying);
    object.into()
}

/// The two ends of an interval as they travel.
#[derive(Deserialize)]
pub(super) struct EndsWire {
    #[serde(deserialize_with = "required")]
    low: Option<f64>,
    #[serde(default)]
    low_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    high: Option<f64>,
    #[serde(default)]
    high_absent: Option<String>,
}

impl EndsWire {
    /// The interval; absent where both ends are for one reason.
    pub(super) fn into_interval(self) -> Result<Reading<Interval>, ReadError> {
        let low = join("low", self.low, self.low_absent)?;
        let high = join("high", self.high, self.high_absent)?;
        match (low, high) {
            (Err(Absent(one)), Err(Absent(other))) if one == other => Ok(Err(Absent(one))),
            (low, high) => {
                let low = end("low", low, (NO_LOW, f64::NEG_INFINITY))?;
                Ok(Ok(Interval { low, high: end("high", high, (NO_HIGH, f64::INFINITY))? }))
            }
        }
    }
}

fn end(name: &str, reading: Reading<f64>, (none, infinite): (&str, f64)) -> Result<f64, ReadError> {
    match reading {
        Ok(value) => Ok(value),
        Err(Absent(reason)) if reason == none => Ok(infinite),
        Err(_) => Err(ReadError::field(name, "absent, though the other end is there")),
    }
}

/// A change, to be read.
#[derive(Deserialize)]
pub(super) struct ChangeWire {
    #[serde(deserialize_with = "required")]
    change: Option<f64>,
    #[serde(default)]
    change_absent: Option<String>,
    #[serde(flatten)]
    ends: EndsWire,
    verdict: Verdict,
    within_resolution: bool,
    #[serde(deserialize_with = "required")]
    raw_change: Option<f64>,
    #[serde(default)]
    raw_change_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    load_shift: Option<f64>,
    #[serde(default)]
    load_shift_absent: Option<String>,
    old_requests: u64,
    new_requests: u64,
    #[serde(deserialize_with = "required")]
    settle_seconds: Option<f64>,
    #[serde(default)]
    settle_seconds_absent: Option<String>,
}

impl ChangeWire {
    pub(super) fn into_change(self) -> Result<ReleaseChange, ReadError> {
        let settle = join("settle_seconds", self.settle_seconds, self.settle_seconds_absent)?;
        Ok(ReleaseChange {
            requests: [self.old_requests, self.new_requests],
            change: join("change", self.change, self.change_absent)?,
            interval: self.ends.into_interval()?,
            verdict: self.verdict,
            within_resolution: self.within_resolution,
            raw_change: join("raw_change", self.raw_change, self.raw_change_absent)?,
            load_shift: join("load_shift", self.load_shift, self.load_shift_absent)?,
            minutes_to_settle: settle.ok().map(|seconds| seconds / MINUTE),
        })
    }
}

/// An estimate, to be read.
#[derive(Deserialize)]
pub(super) struct EstimateWire {
    #[serde(deserialize_with = "required")]
    change: Option<f64>,
    #[serde(default)]
    change_absent: Option<String>,
    #[serde(flatten)]
    ends: EndsWire,
}

impl EstimateWire {
    /// The estimate; reports of earlier versions have none.
    pub(super) fn read(wire: Option<EstimateWire>) -> Result<ChangeEstimate, ReadError> {
        let Some(wire) = wire else {
            let why = Absent::because("reports of earlier versions have none");
            return Ok(ChangeEstimate { change: Err(why.clone()), interval: Err(why) });
        };
        Ok(ChangeEstimate {
            change: join("change", wire.change, wire.change_absent)?,
            interval: wire.ends.into_interval()?,
        })
    }
}

/// A split of requests, to be read.
#[derive(Deserialize)]
pub(super) struct TailWire {
    route: String,
    class: String,
    cpu_ratio: f64,
    old_above_ratio: f64,
    new_above_ratio: f64,
    above_cpu_ratio: f64,
    above: EstimateWire,
    below: EstimateWire,
}

impl TailWire {
    pub(super) fn into_tail(self) -> Result<ReleaseTail, ReadError> {
        Ok(ReleaseTail {
            route: self.route,
            class: self.class,
            cpu_ratio: self.cpu_ratio,
            above_ratio: [self.old_above_ratio, self.new_above_ratio],
            above_cpu_ratio: self.above_cpu_ratio,
            above: EstimateWire::read(Some(self.above)).map_err(|error| error.within("above"))?,
            below: EstimateWire::read(Some(self.below)).map_err(|error| error.within("below"))?,
        })
    }
}

/// A route, to be read.
#[derive(Deserialize)]
pub(super) struct RouteWire {
    route: String,
    cpu_ratio: f64,
    #[serde(default)]
    usual: Option<EstimateWire>,
    #[serde(flatten)]
    change: ChangeWire,
    #[serde(deserialize_with = "required")]
    old_wall_median_seconds: Option<Seconds>,
    #[serde(default)]
    old_wall_median_seconds_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    new_wall_median_seconds: Option<Seconds>,
}

impl RouteWire {
    pub(super) fn into_route(self) -> Result<ReleaseRoute, ReadError> {
        let old = join("old_wall_median_seconds", self.old_wall_median_seconds, self.old_wall_median_seconds_absent)?;
        let wall_median: Reading<[Nanos; 2]> = match (old, self.new_wall_median_seconds) {
            (Err(absent), None) => Err(absent),
            (Ok(old), Some(new)) => Ok([old.0, new.0]),
            _ => return Err(ReadError::field("new_wall_median_seconds", "one is there, and the other is absent")),
        };
        Ok(ReleaseRoute {
            route: self.route,
            cpu_ratio: self.cpu_ratio,
            change: self.change.into_change()?,
            usual: EstimateWire::read(self.usual).map_err(|error| error.within("usual"))?,
            wall_median,
        })
    }
}

/// A host, to be read.
#[derive(Deserialize)]
pub(super) struct HostWire {
    host: String,
    cpu_ratio: f64,
    #[serde(flatten)]
    change: ChangeWire,
    outlying: bool,
}

impl HostWire {
    pub(super) fn into_host(self) -> Result<ReleaseHost, ReadError> {
        let change = self.change.into_change()?;
        Ok(ReleaseHost { host: self.host, cpu_ratio: self.cpu_ratio, change, outlying: self.outlying })
    }
}
