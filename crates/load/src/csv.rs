//! Rows as comma-separated values: of a load experiment, and of the rulers.

use steady_model::{LoadPoint, LoadReport, LoadRow, Reading, Resource, RulerReading, RulerRecord, RulerRow};
use steady_render::csv::{Column, seconds, table};

/// One line per row, by number of processes, below a line of names; a field is empty where there is no such reading.
/// `work` is counted in hashes, numbers or runs; the last columns are the slowdowns that the rulers read.
pub(crate) fn load(report: &LoadReport) -> String {
    let row = |point: &LoadPoint| report.record.rows.iter().find(|row| row.procs == point.procs);
    let items: Vec<Item<'_>> = report.points.iter().map(|point| Item { point, row: row(point) }).collect();
    let columns: [Column<Item<'_>>; 25] = [
        ("procs", |item| item.point.procs.to_string()),
        ("run_count", |item| item.point.runs.to_string()),
        ("cpu_seconds", |item| number(item.point.cpu_seconds)),
        ("user_seconds", |item| number(item.point.user_seconds)),
        ("wall_seconds", |item| number(item.point.wall_seconds)),
        ("work", |item| number(item.point.work)),
        ("work_per_cpu_second", |item| number(item.point.work_per_cpu_second)),
        ("work_per_wall_second", |item| number(item.point.work_per_wall_second)),
        ("throughput_per_second", |item| number(item.point.throughput_per_second)),
        ("waiting_ratio", |item| reading(&item.point.waiting_ratio)),
        ("overshoot_median_seconds", |item| reading(&item.point.overshoot_median_seconds)),
        ("overshoot_max_seconds", |item| reading(&item.point.overshoot_max_seconds)),
        ("others_cpus", |item| reading(&item.point.others_cpus)),
        ("own_ratio", |item| reading(&item.point.own_ratio)),
        ("elapsed_seconds", |item| item.row.map_or_else(String::new, |row| seconds(row.elapsed))),
        ("busy_ratio", |item| item.share(|row| &row.activity.busy_ratio)),
        ("steal_ratio", |item| item.share(|row| &row.activity.steal_ratio)),
        ("pressure", |item| item.share(|row| &row.activity.pressure)),
        ("alu_slowdown_ratio", |item| item.slowdown(Resource::Alu)),
        ("l1_slowdown_ratio", |item| item.slowdown(Resource::L1)),
        ("l2_slowdown_ratio", |item| item.slowdown(Resource::L2)),
        ("shared_slowdown_ratio", |item| item.slowdown(Resource::Shared)),
        ("memory_slowdown_ratio", |item| item.slowdown(Resource::Memory)),
        ("fetch_slowdown_ratio", |item| item.slowdown(Resource::Fetch)),
        ("system_call_slowdown_ratio", |item| item.slowdown(Resource::SystemCall)),
    ];
    table(&columns, &items)
}

/// A point and the row that it is of.
struct Item<'a> {
    point: &'a LoadPoint,
    row: Option<&'a LoadRow>,
}

impl Item<'_> {
    fn share(&self, pick: fn(&LoadRow) -> &Reading<f64>) -> String {
        self.row.map_or_else(String::new, |row| reading(pick(row)))
    }

    fn slowdown(&self, resource: Resource) -> String {
        let found = self.row.and_then(|row| row.rulers.iter().find(|read| read.resource == resource));
        found.map_or_else(String::new, |read| number(read.slowdown_ratio))
    }
}

/// One line per row and ruler; a field is empty where there is no such reading, and `absent` has the reason why a ruler could
/// not be read.
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

/// A number, or nothing where it is none.
fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

fn reading(reading: &Reading<f64>) -> String {
    reading.as_ref().map_or_else(|_| String::new(), |value| number(*value))
}
