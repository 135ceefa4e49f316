//! Reads the JSON of what primitives cost back into the record that it was made of.

use serde::Deserialize;
use serde_json::Value;
use steady_model::{CostsRecord, Ending, Seed, Timestamp};

use super::wire::{AffinityWire, ClockWire, CostsPlanWire, ProbeWire};
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
    affinity: AffinityWire,
    probes: Vec<ProbeWire>,
    clocks: Vec<ClockWire>,
    ending: Ending,
    plan: CostsPlanWire,
}

/// The record in a JSON export of what primitives cost that was made with its samples, exactly as it was measured.
///
/// An error says what is wrong and where; no input makes it panic, and no sum of the times or counts of what it returns
/// overflows.
pub fn read_costs_record(json: &str) -> Result<CostsRecord, ReadError> {
    let value = SCHEMA.value(json)?;
    let without = |probe: &Value| probe.is_object() && probe.get("samples").is_none();
    if value.get("probes").and_then(Value::as_array).is_some_and(|probes| probes.iter().any(without)) {
        return Err(ReadError::WithoutSamples);
    }
    let record = assemble(fields(value)?)?;
    check::check(&record)?;
    Ok(record)
}

/// The record that the wire carries.
fn assemble(wire: ExportWire) -> Result<CostsRecord, ReadError> {
    let numbered = |what: &'static str| move |(at, error): (usize, ReadError)| error.within(&format!("{what}[{at}]"));
    let probes = wire.probes.into_iter().enumerate().map(|(at, one)| one.into_pair().map_err(|error| (at, error)));
    let clocks = wire.clocks.into_iter().enumerate().map(|(at, one)| one.into_clock().map_err(|error| (at, error)));
    Ok(CostsRecord {
        plan: wire.plan.into_plan(wire.seed, wire.affinity)?,
        started: wire.started,
        host: wire.host.into_host().map_err(|error| error.within("host"))?,
        machine: wire.machine.into_machine().map_err(|error| error.within("machine"))?,
        revision: join("revision", wire.revision, wire.revision_absent)?,
        measured: probes.collect::<Result<_, _>>().map_err(numbered("probes"))?,
        clocks: clocks.collect::<Result<_, _>>().map_err(numbered("clocks"))?,
        elapsed: wire.elapsed_seconds.0,
        ending: wire.ending,
    })
}
