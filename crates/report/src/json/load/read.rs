//! Reads the JSON of a load experiment back into the record that it was made of.

use serde::Deserialize;
use serde_json::Value;
use steady_model::{Ending, LoadRecord, LoadRow, Seed, Timestamp};

use super::wire::{LoadPlanWire, LoadRowWire};
use super::{SCHEMA, check};
use crate::json::ReadError;
use crate::json::wire::{HostWire, MachineWire, Seconds, join, read_started, required};
use steady_render::json::fields;

/// What of an export makes up the record; all else is derived from it.
#[derive(Deserialize)]
struct ExportWire {
    seed: Seed,
    #[serde(deserialize_with = "read_started")]
    started: Timestamp,
    elapsed_seconds: Seconds,
    host: HostWire,
    machine: MachineWire,
    #[serde(deserialize_with = "required")]
    revision: Option<String>,
    #[serde(default)]
    revision_absent: Option<String>,
    #[serde(deserialize_with = "required")]
    poll_cost_ratio: Option<f64>,
    #[serde(default)]
    poll_cost_ratio_absent: Option<String>,
    rows: Vec<LoadRowWire>,
    ending: Ending,
    #[serde(deserialize_with = "required")]
    failure: Option<String>,
    plan: LoadPlanWire,
}

/// The record in a JSON export of a load experiment that was made with its samples, exactly as it was measured.
///
/// An error says what is wrong and where; no input makes it panic, and what it returns is consistent: no number of
/// processes stands there twice, and no sum of its times or of its work overflows.
pub fn read_load_record(json: &str) -> Result<LoadRecord, ReadError> {
    let value = SCHEMA.value(json)?;
    let without = |row: &Value| row.is_object() && row.get("runs").is_none_or(Value::is_null);
    if value.get("rows").and_then(Value::as_array).is_some_and(|rows| rows.iter().any(without)) {
        return Err(ReadError::WithoutSamples);
    }
    let record = assemble(fields(value)?)?;
    check::check(&record)?;
    Ok(record)
}

/// The record that the wire carries.
fn assemble(wire: ExportWire) -> Result<LoadRecord, ReadError> {
    Ok(LoadRecord {
        plan: wire.plan.into_plan(wire.seed),
        started: wire.started,
        host: wire.host.into_host().map_err(|error| error.within("host"))?,
        machine: wire.machine.into_machine().map_err(|error| error.within("machine"))?,
        revision: join("revision", wire.revision, wire.revision_absent)?,
        poll_cost: join("poll_cost_ratio", wire.poll_cost_ratio, wire.poll_cost_ratio_absent)?,
        rows: rows(wire.rows)?,
        elapsed: wire.elapsed_seconds.0,
        ending: wire.ending,
        failure: wire.failure,
    })
}

/// The rows in the order in which they were measured.
fn rows(wires: Vec<LoadRowWire>) -> Result<Vec<LoadRow>, ReadError> {
    let mut rows: Vec<Option<LoadRow>> = wires.iter().map(|_| None).collect();
    for (index, wire) in wires.into_iter().enumerate() {
        let order = wire.order;
        let row = wire.into_row().map_err(|error| error.within(&format!("rows[{index}]")))?;
        match rows.get_mut(order) {
            Some(place @ None) => *place = Some(row),
            _ => {
                let problem = format!("{order} is the place of another row, or of none");
                return Err(ReadError::inconsistent(format!("rows[{index}].order"), problem));
            }
        }
    }
    Ok(rows.into_iter().flatten().collect())
}
