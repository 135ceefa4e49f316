//! The JSON of what the rulers read.

use serde::Deserialize;
use serde_json::Value;
use steady_model::{Ending, Neighbour, Reading, Resource, RulerReading, RulerRecord, RulerRow, Seed, Timestamp};

use super::object::Object;
use super::wire::{
    ActivityWire, HostWire, MachineWire, RulerReadingWire, Seconds, join, read_started, required, started, to_value,
};
use super::{ReadError, pretty};
use steady_render::json::{Schema, fields};

/// The name and version of what [`rulers_json`] writes.
pub const RULERS_SCHEMA: &str = "steady.rulers/1";

/// The same, to be read.
const SCHEMA: Schema = Schema { name: RULERS_SCHEMA, what: "readings of rulers" };

/// What the rulers read as JSON: nothing of it is left out, so that it can be read back.
///
/// A reading that is absent is null, with the reason in `<name>_absent` beside it.
pub fn rulers_json(record: &RulerRecord) -> Value {
    let mut top = Object::new();
    top.put("schema", RULERS_SCHEMA);
    top.put("seed", record.seed.to_string());
    top.put("started", started(record.started));
    top.put("elapsed_seconds", Seconds(record.elapsed).as_f64());
    top.put("neighbour", to_value(&record.neighbour));
    top.put("host", to_value(&HostWire::from(&record.host)));
    top.put("machine", to_value(&MachineWire::from(&record.machine)));
    top.text("revision", &record.revision);
    top.put("rows", record.rows.iter().map(row).collect::<Value>());
    top.put("ending", to_value(&record.ending));
    top.put("failure", record.failure.clone());
    top.into()
}

/// [`rulers_json`] as indented text that ends with a newline.
pub fn rulers_json_text(record: &RulerRecord) -> String {
    pretty::indented_but(&rulers_json(record), "readings")
}

fn row(row: &RulerRow) -> Value {
    let mut object = Object::new();
    object.put("neighbours", row.neighbours);
    object.put("readings", row.readings.iter().map(reading).collect::<Value>());
    object.put("activity", to_value(&ActivityWire::from(&row.activity)));
    object.into()
}

fn reading((resource, reading): &(Resource, Reading<RulerReading>)) -> Value {
    match reading {
        Ok(reading) => to_value(&RulerReadingWire::from(reading)),
        Err(absent) => {
            let mut object = Object::new();
            object.put("resource", resource.name());
            object.absent("seconds_per_unit", &absent.0);
            object.into()
        }
    }
}

/// What of an export makes up the record: all of it.
#[derive(Deserialize)]
struct ExportWire {
    seed: Seed,
    #[serde(deserialize_with = "read_started")]
    started: Timestamp,
    elapsed_seconds: Seconds,
    #[serde(deserialize_with = "required")]
    neighbour: Option<Neighbour>,
    host: HostWire,
    machine: MachineWire,
    #[serde(deserialize_with = "required")]
    revision: Option<String>,
    #[serde(default)]
    revision_absent: Option<String>,
    rows: Vec<RowWire>,
    ending: Ending,
    #[serde(deserialize_with = "required")]
    failure: Option<String>,
}

#[derive(Deserialize)]
struct RowWire {
    neighbours: u32,
    readings: Vec<EitherWire>,
    activity: ActivityWire,
}

/// A ruler that was read, or could not be.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a reading, or a resource with the reason in seconds_per_unit_absent")]
enum EitherWire {
    Read(RulerReadingWire),
    Absent { resource: Resource, seconds_per_unit_absent: String },
}

/// The record in a JSON export of what the rulers read, exactly as it was measured; no input makes it panic.
pub fn read_ruler_record(json: &str) -> Result<RulerRecord, ReadError> {
    let wire: ExportWire = fields(SCHEMA.value(json)?)?;
    let rows = wire.rows.into_iter().enumerate().map(|(index, row)| {
        let within = |error: ReadError| error.within(&format!("rows[{index}]"));
        let activity = row.activity.into_activity().map_err(within)?;
        let readings = row.readings.into_iter().map(EitherWire::into_pair).collect();
        Ok(RulerRow { neighbours: row.neighbours, readings, activity })
    });
    Ok(RulerRecord {
        started: wire.started,
        rows: rows.collect::<Result<_, ReadError>>()?,
        host: wire.host.into_host().map_err(|error| error.within("host"))?,
        machine: wire.machine.into_machine().map_err(|error| error.within("machine"))?,
        revision: join("revision", wire.revision, wire.revision_absent)?,
        neighbour: wire.neighbour,
        seed: wire.seed,
        elapsed: wire.elapsed_seconds.0,
        ending: wire.ending,
        failure: wire.failure,
    })
}

impl EitherWire {
    fn into_pair(self) -> (Resource, Reading<RulerReading>) {
        match self {
            EitherWire::Read(wire) => {
                let reading = RulerReading::from(wire);
                (reading.resource, Ok(reading))
            }
            EitherWire::Absent { resource, seconds_per_unit_absent } => {
                (resource, Err(steady_model::Absent(seconds_per_unit_absent)))
            }
        }
    }
}
