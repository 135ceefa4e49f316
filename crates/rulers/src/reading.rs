//! Readings of rulers in records.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steady_model::{Activity, Bytes, Nanos, Reading, Resource, required};

/// Reading of one ruler at one time, or its median over the rounds of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RulerReading {
    /// The resource that the ruler measures.
    pub resource: Resource,
    /// Size of the working set; null for rulers without one.
    #[serde(rename = "working_set_bytes", alias = "working_set", deserialize_with = "required")]
    pub working_set: Option<Bytes>,
    /// CPU time per unit of work (one operation, load or call), in seconds: the median of the repetitions.
    pub seconds_per_unit: f64,
    /// Interquartile range of the repetitions, or of the rounds of the row, divided by their median.
    pub spread_ratio: f64,
    /// `seconds_per_unit` divided by the best reading of this host so far, which may be of this run.
    pub slowdown_ratio: f64,
    /// CPU time of the reading, including the warm-up. For several readings, the maximum.
    #[serde(rename = "cost_seconds", alias = "cost")]
    pub cost: Nanos,
}

/// Kind of neighbour process, by the resource that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Neighbour {
    /// Keeps a CPU busy without using memory.
    Spin,
    /// Streams through more memory than the caches hold.
    Stream,
    /// Hashes data in the first-level cache.
    Hash,
}

impl Neighbour {
    /// Name on the command line, in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Neighbour::Spin => "spin",
            Neighbour::Stream => "stream",
            Neighbour::Hash => "hash",
        }
    }
}

/// Readings of all rulers while a number of neighbours run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RulerRow {
    /// Number of neighbours that ran at the same time.
    pub neighbours: u32,
    /// The readings: each ruler's median over the rounds of the row. Absent for a resource that this machine does not
    /// have, or whose size is not known.
    #[serde(with = "readings")]
    #[schemars(with = "Vec<readings::Form>")]
    pub readings: Vec<(Resource, Reading<RulerReading>)>,
    /// Load of the machine during the row.
    pub activity: Activity,
}

/// Readings in JSON: the fields of a reading, or the resource with `seconds_per_unit` null and the reason next to it.
mod readings {
    use schemars::JsonSchema;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use steady_model::{Absent, Reading, Resource};

    use super::RulerReading;

    type Readings = Vec<(Resource, Reading<RulerReading>)>;

    /// A reading, or the reason why there is none.
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
