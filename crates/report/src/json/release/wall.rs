//! Wall time.

use serde::Deserialize;
use serde_json::Value;
use steady_model::{Nanos, Reading, ReleaseWall};

use super::change::EndsWire;
use crate::json::ReadError;
use crate::json::object::Object;
use crate::json::wire::{Seconds, join, required, to_value};

/// Names of the parts, in their order.
const PARTS: [&str; 3] = ["cpu", "waiting", "blocked"];

/// Wall time of both versions.
pub(super) fn value(wall: &ReleaseWall) -> Value {
    let mut object = Object::new();
    object.reading("median_change", &wall.median_change);
    object.interval("low", "high", &wall.median_interval);
    object.put("quantiles", wall.quantiles.iter().map(quantile).collect::<Vec<_>>());
    object.put("old_watched_requests", wall.watched[0]);
    object.put("new_watched_requests", wall.watched[1]);
    match &wall.parts {
        Ok(parts) => {
            let mut all = Object::new();
            for (name, times) in PARTS.iter().zip(parts) {
                both(&mut all, &format!("{name}_seconds"), *times);
            }
            object.put("parts", Value::from(all));
        }
        Err(absent) => object.absent("parts", &absent.0),
    }
    object.put("distribution", wall.distribution.iter().map(bar).collect::<Vec<_>>());
    object.into()
}

/// A time of each version.
fn both(object: &mut Object, name: &str, times: [Nanos; 2]) {
    for (version, time) in ["old", "new"].iter().zip(times) {
        object.put(&format!("{version}_{name}"), Seconds(time).as_f64());
    }
}

fn quantile((share, times): &(f64, [Nanos; 2])) -> Value {
    let mut object = Object::new();
    object.put("ratio", *share);
    both(&mut object, "seconds", *times);
    object.into()
}

fn bar((end, shares): &(Nanos, [f64; 2])) -> Value {
    let mut object = Object::new();
    object.put("below_seconds", to_value(&Seconds(*end)));
    object.put("old_ratio", shares[0]);
    object.put("new_ratio", shares[1]);
    object.into()
}

/// Wall time, to be read.
#[derive(Deserialize)]
pub(super) struct WallWire {
    #[serde(deserialize_with = "required")]
    median_change: Option<f64>,
    #[serde(default)]
    median_change_absent: Option<String>,
    #[serde(flatten)]
    ends: EndsWire,
    quantiles: Vec<QuantileWire>,
    #[serde(default)]
    old_watched_requests: u64,
    #[serde(default)]
    new_watched_requests: u64,
    #[serde(deserialize_with = "required")]
    parts: Option<PartsWire>,
    #[serde(default)]
    parts_absent: Option<String>,
    distribution: Vec<BarWire>,
}

#[derive(Deserialize)]
struct QuantileWire {
    ratio: f64,
    old_seconds: Seconds,
    new_seconds: Seconds,
}

#[derive(Deserialize)]
struct PartsWire {
    old_cpu_seconds: Seconds,
    new_cpu_seconds: Seconds,
    old_waiting_seconds: Seconds,
    new_waiting_seconds: Seconds,
    old_blocked_seconds: Seconds,
    new_blocked_seconds: Seconds,
}

#[derive(Deserialize)]
struct BarWire {
    below_seconds: Seconds,
    old_ratio: f64,
    new_ratio: f64,
}

impl WallWire {
    pub(super) fn into_wall(self) -> Result<ReleaseWall, ReadError> {
        let parts: Reading<PartsWire> = join("parts", self.parts, self.parts_absent)?;
        let quantile = |wire: QuantileWire| (wire.ratio, [wire.old_seconds.0, wire.new_seconds.0]);
        let bar = |wire: BarWire| (wire.below_seconds.0, [wire.old_ratio, wire.new_ratio]);
        Ok(ReleaseWall {
            quantiles: self.quantiles.into_iter().map(quantile).collect(),
            median_change: join("median_change", self.median_change, self.median_change_absent)?,
            median_interval: self.ends.into_interval()?,
            watched: [self.old_watched_requests, self.new_watched_requests],
            parts: parts.map(PartsWire::into_parts),
            distribution: self.distribution.into_iter().map(bar).collect(),
        })
    }
}

impl PartsWire {
    fn into_parts(self) -> [[Nanos; 2]; 3] {
        [
            [self.old_cpu_seconds.0, self.new_cpu_seconds.0],
            [self.old_waiting_seconds.0, self.new_waiting_seconds.0],
            [self.old_blocked_seconds.0, self.new_blocked_seconds.0],
        ]
    }
}
