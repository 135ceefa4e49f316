//! What the rulers read as comma-separated values.

use steady_model::{Bytes, Reading, RulerReading, RulerRecord, RulerRow};

use super::{field, quoted, seconds};

/// The columns, in their order.
const COLUMNS: [&str; 10] = [
    "neighbours",
    "resource",
    "working_set_bytes",
    "seconds_per_unit",
    "spread_ratio",
    "slowdown_ratio",
    "cost_seconds",
    "absent",
    "busy_ratio",
    "steal_ratio",
];

/// One line per row and ruler, below a line of names; a field is empty where there is no such reading, and `absent` has
/// the reason why a ruler could not be read.
pub fn rulers_csv(record: &RulerRecord) -> String {
    let mut out = COLUMNS.join(",") + "\n";
    for row in &record.rows {
        for (resource, reading) in &row.readings {
            out.push_str(&line(row, resource.name(), reading));
        }
    }
    out
}

fn line(row: &RulerRow, resource: &str, reading: &Reading<RulerReading>) -> String {
    let read = reading.as_ref().ok();
    let number = |pick: fn(&RulerReading) -> f64| field(read.map(pick).filter(|value| value.is_finite()));
    let fields: [String; COLUMNS.len()] = [
        row.neighbours.to_string(),
        resource.to_owned(),
        field(read.and_then(|read| read.working_set).map(|Bytes(bytes)| bytes)),
        number(|read| read.seconds_per_unit),
        number(|read| read.spread_ratio),
        number(|read| read.slowdown_ratio),
        read.map_or_else(String::new, |read| seconds(read.cost)),
        reading.as_ref().err().map_or_else(String::new, |absent| quoted(&absent.0)),
        field(row.activity.busy_ratio.as_ref().ok()),
        field(row.activity.steal_ratio.as_ref().ok()),
    ];
    fields.join(",") + "\n"
}
