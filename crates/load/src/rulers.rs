//! What the rulers read, alone and beside neighbours: the record and its JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steady_model::{Ending, Host, Machine, Nanos, Reading, Seed, Timestamp, required};
use steady_render::json::{self, ReadError, Schema};
use steady_rulers::{Neighbour, RulerRow};

/// The schema of [`RulerRecord`] in JSON.
pub const RULERS_SCHEMA: Schema = Schema { name: "steady.rulers/1", what: "readings of rulers" };

/// Everything that `steady load --rulers` measured. Its fields are those of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RulerRecord {
    /// The seed of the order of the rows and rulers.
    pub seed: Seed,
    /// When it was begun: a label.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// From the first reading to the end.
    #[serde(rename = "elapsed_seconds")]
    pub elapsed: Nanos,
    /// What the neighbours did; none where none were asked for.
    #[serde(deserialize_with = "required")]
    pub neighbour: Option<Neighbour>,
    /// Where.
    pub host: Host,
    /// Its CPUs.
    pub machine: Machine,
    /// The git revision of the directory that it was done in.
    pub revision: Reading<String>,
    /// The rows by number of neighbours.
    pub rows: Vec<RulerRow>,
    /// Why it ended.
    pub ending: Ending,
    /// Why it ended early, where neighbours were lost or could not be had; the rows that are whole are there.
    #[serde(deserialize_with = "required")]
    pub failure: Option<String>,
}

impl RulerRecord {
    /// The record in a JSON text, exactly as it was.
    ///
    /// # Errors
    /// What is wrong with it, and where; no input makes it panic.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        json::record(&RULERS_SCHEMA, text)
    }
}
