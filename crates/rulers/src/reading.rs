//! What rulers read, as records have it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steady_model::{Activity, Bytes, Nanos, Reading, Resource, required};

/// What one ruler read at one time, or over the rounds of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RulerReading {
    /// The ruler.
    pub resource: Resource,
    /// How large its working set is, for those that have one.
    #[serde(rename = "working_set_bytes", alias = "working_set", deserialize_with = "required")]
    pub working_set: Option<Bytes>,
    /// CPU time per unit of work (one operation, load or call), in seconds: the median of its repetitions.
    pub seconds_per_unit: f64,
    /// How far the repetitions of this reading, or the rounds of the row, lay apart: their interquartile range over their median.
    pub spread_ratio: f64,
    /// `seconds_per_unit` over the best that this host has shown; 1 where it is the best.
    pub slowdown_ratio: f64,
    /// CPU time that the reading took, warming up included; of several, the most expensive.
    #[serde(rename = "cost_seconds", alias = "cost")]
    pub cost: Nanos,
}

/// Neighbours that take something from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Neighbour {
    /// Keeps a CPU busy, and no memory.
    Spin,
    /// Streams through more memory than the caches hold.
    Stream,
    /// Hashes, out of the first level of cache.
    Hash,
}

impl Neighbour {
    /// Its name on the command line, in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Neighbour::Spin => "spin",
            Neighbour::Stream => "stream",
            Neighbour::Hash => "hash",
        }
    }
}

/// What all rulers read beside so many neighbours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RulerRow {
    /// How many neighbours ran meanwhile.
    pub neighbours: u32,
    /// The readings, each ruler's median over the rounds of the row; absent for a resource that this machine does not
    /// have, or whose size it does not tell.
    #[serde(with = "readings")]
    #[schemars(with = "Vec<readings::Form>")]
    pub readings: Vec<(Resource, Reading<RulerReading>)>,
    /// What the machine was doing meanwhile.
    pub activity: Activity,
}

/// Readings in JSON: the fields of a reading, or the resource with `seconds_per_unit` null and the reason next to it.
mod readings {
    use schemars::JsonSchema;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use steady_model::{Absent, Reading, Resource};

    use super::RulerReading;

    type Readings = Vec<(Resource, Reading<RulerReading>)>;

    /// A ruler that was read, or could not be.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(untagged, expecting = "a reading, or a resource with the reason in seconds_per_unit_absent")]
    #[schemars(rename = "RulerReadingOrReason")]
    pub(super) enum Form {
        Read(RulerReading),
        Absent { resource: Resource, seconds_per_unit: (), seconds_per_unit_absent: Absent },
    }

    pub(super) fn serialize<S: Serializer>(readings: &Readings, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(readings.iter().map(|(resource, reading)| match reading {
            Ok(reading) => Form::Read(reading.clone()),
            Err(reason) => {
                Form::Absent { resource: *resource, seconds_per_unit: (), seconds_per_unit_absent: reason.clone() }
            }
        }))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Readings, D::Error> {
        let readings = Vec::<Form>::deserialize(deserializer)?;
        Ok(readings.into_iter().map(Form::into_pair).collect())
    }

    impl Form {
        fn into_pair(self) -> (Resource, Reading<RulerReading>) {
            match self {
                Form::Read(reading) => (reading.resource, Ok(reading)),
                Form::Absent { resource, seconds_per_unit_absent, .. } => (resource, Err(seconds_per_unit_absent)),
            }
        }
    }
}
