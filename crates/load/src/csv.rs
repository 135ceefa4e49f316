//! Load experiments and readings of rulers as CSV.

use steady_model::{Reading, Resource};
use steady_render::csv::{Column, seconds, table};
use steady_rulers::{RulerReading, RulerRow};

use crate::{LoadRecord, Point, RulerRecord};

/// Formats a load experiment: one line for each row, by number of processes, after a header line. A field is empty if
/// the row has no such reading. `work` is the number of hashes, numbers or runs. The last columns are the slowdowns
/// that the rulers read.
pub(crate) fn load(record: &LoadRecord) -> String {
    let columns: [Column<Point<'_>>; 26] = [
        ("procs", |point| point.procs.to_string()),
        ("run_count", |point| point.row.run_count.to_string()),
        ("cpu_seconds", |point| number(point.figures.cpu_seconds)),
        ("user_seconds", |point| number(point.figures.user_seconds)),
        ("system_seconds", |point| number(point.figures.system_seconds)),
        ("wall_seconds", |point| number(point.figures.wall_seconds)),
        ("work", |point| number(point.figures.work)),
        ("work_per_cpu_second", |point| number(point.figures.work_per_cpu_second)),
        ("work_per_wall_second", |point| number(point.figures.work_per_wall_second)),
        ("throughput_per_second", |point| number(point.figures.throughput_per_second)),
        ("waiting_ratio", |point| reading(&point.figures.waiting_ratio)),
        ("overshoot_median_seconds", |point| reading(&point.figures.overshoot_median_seconds)),
        ("overshoot_max_seconds", |point| reading(&point.figures.overshoot_max_seconds)),
        ("others_cpus", |point| reading(&point.figures.others_cpus)),
        ("own_ratio", |point| reading(&point.figures.own_ratio)),
        ("elapsed_seconds", |point| seconds(point.row.elapsed)),
        ("busy_ratio", |point| reading(&point.row.activity.busy_ratio)),
        ("steal_ratio", |point| reading(&point.row.activity.steal_ratio)),
        ("pressure", |point| reading(&point.row.activity.pressure)),
        ("alu_slowdown_ratio", |point| slowdown(point, Resource::Alu)),
        ("l1_slowdown_ratio", |point| slowdown(point, Resource::L1)),
        ("l2_slowdown_ratio", |point| slowdown(point, Resource::L2)),
        ("shared_slowdown_ratio", |point| slowdown(point, Resource::Shared)),
        ("memory_slowdown_ratio", |point| slowdown(point, Resource::Memory)),
        ("fetch_slowdown_ratio", |point| slowdown(point, Resource::Fetch)),
        ("system_call_slowdown_ratio", |point| slowdown(point, Resource::SystemCall)),
    ];
    table(&columns, &record.points())
}

fn slowdown(point: &Point<'_>, resource: Resource) -> String {
    let found = point.row.rulers.iter().find(|read| read.resource == resource);
    found.map_or_else(String::new, |read| number(read.slowdown_ratio))
}

/// Formats readings of rulers: one line for each row and ruler, after a header line. A field is empty if there is no
/// such reading; `absent` has the reason.
pub(crate) fn rulers(record: &RulerRecord) -> String {
    let of_row =
        |row| move |(resource, reading): &'_ (Resource, Reading<RulerReading>)| (row, *resource, reading.clone());
    let items: Vec<(&RulerRow, Resource, Reading<RulerReading>)> =
        record.rows.iter().flat_map(|row| row.readings.iter().map(of_row(row))).collect();
    let columns: [Column<(&RulerRow, Resource, Reading<RulerReading>)>; 10] = [
        ("neighbours", |item| item.0.neighbours.to_string()),
        ("resource", |item| item.1.name().to_owned()),
        ("working_set_bytes", |item| {
            item.2.as_ref().ok().and_then(|read| read.working_set).map_or_else(String::new, |set| set.0.to_string())
        }),
        ("seconds_per_unit", |item| of(&item.2, |read| number(read.seconds_per_unit))),
        ("spread_ratio", |item| of(&item.2, |read| number(read.spread_ratio))),
        ("slowdown_ratio", |item| of(&item.2, |read| number(read.slowdown_ratio))),
        ("cost_seconds", |item| of(&item.2, |read| seconds(read.cost))),
        ("absent", |item| item.2.as_ref().err().map_or_else(String::new, |absent| absent.0.clone())),
        ("busy_ratio", |item| reading(&item.0.activity.busy_ratio)),
        ("steal_ratio", |item| reading(&item.0.activity.steal_ratio)),
    ];
    table(&columns, &items)
}

fn of(read: &Reading<RulerReading>, field: fn(&RulerReading) -> String) -> String {
    read.as_ref().map_or_else(|_| String::new(), field)
}

/// Formats a number; an infinite or undefined one is empty.
fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

fn reading(reading: &Reading<f64>) -> String {
    reading.as_ref().map_or_else(|_| String::new(), |value| number(*value))
}
