//! The rows of a load experiment as comma-separated values.

use steady_model::{LoadPoint, LoadReport, LoadRow, Reading, Resource};

use super::{field, number, seconds};

/// The columns before those of the rulers; those with a unit end with it.
const COLUMNS: [&str; 18] = [
    "procs",
    "run_count",
    "cpu_seconds",
    "user_seconds",
    "wall_seconds",
    "work",
    "work_per_cpu_second",
    "work_per_wall_second",
    "throughput_per_second",
    "waiting_ratio",
    "overshoot_median_seconds",
    "overshoot_max_seconds",
    "others_cpus",
    "own_ratio",
    "elapsed_seconds",
    "busy_ratio",
    "steal_ratio",
    "pressure",
];

/// One line per row, by number of processes, below a line of names; a field is empty where there is no such reading.
/// `work` is counted in hashes, numbers or runs; the last columns are the slowdowns that the rulers read.
pub fn load_csv(report: &LoadReport) -> String {
    let rulers = Resource::ALL.map(|resource| format!("{}_slowdown_ratio", resource.name()));
    let names: Vec<&str> = COLUMNS.into_iter().chain(rulers.iter().map(String::as_str)).collect();
    let mut out = names.join(",") + "\n";
    for point in &report.points {
        let row = report.record.rows.iter().find(|row| row.procs == point.procs);
        let mut fields = figures(point);
        fields.extend(row.map_or_else(|| vec![String::new(); 4 + rulers.len()], machine));
        out.push_str(&(fields.join(",") + "\n"));
    }
    out
}

/// What the processes did.
fn figures(point: &LoadPoint) -> Vec<String> {
    vec![
        point.procs.to_string(),
        point.runs.to_string(),
        number(point.cpu_seconds),
        number(point.user_seconds),
        number(point.wall_seconds),
        number(point.work),
        number(point.work_per_cpu_second),
        number(point.work_per_wall_second),
        number(point.throughput_per_second),
        reading(&point.waiting_ratio),
        reading(&point.overshoot_median_seconds),
        reading(&point.overshoot_max_seconds),
        reading(&point.others_cpus),
        reading(&point.own_ratio),
    ]
}

/// What the machine did meanwhile.
fn machine(row: &LoadRow) -> Vec<String> {
    let activity = &row.activity;
    let shares = [&activity.busy_ratio, &activity.steal_ratio, &activity.pressure].map(reading);
    let slowdowns = Resource::ALL.map(|resource| {
        let found = row.rulers.iter().find(|read| read.resource == resource);
        field(found.map(|read| read.slowdown_ratio).filter(|ratio| ratio.is_finite()))
    });
    std::iter::once(seconds(row.elapsed)).chain(shares).chain(slowdowns).collect()
}

fn reading(reading: &Reading<f64>) -> String {
    reading.as_ref().map_or_else(|_| String::new(), |value| number(*value))
}
