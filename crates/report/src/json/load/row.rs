//! One row: the figures first, then what they rest on.

use serde_json::Value;
use steady_model::{Absent, LoadPoint, LoadReport, LoadRow, Reading};

use super::wire::{CpuUseWire, LoadRunWire};
use crate::json::object::Object;
use crate::json::wire::{ActivityWire, RulerReadingWire, Seconds, to_value};

/// The row that was measured as number `order`, from 0.
pub(super) fn row(report: &LoadReport, (order, row): (usize, &LoadRow), samples: bool) -> Value {
    let found = report.points.iter().find(|point| point.procs == row.procs);
    let point = found.ok_or_else(|| Absent::because("no process of this row came to its end"));
    let mut object = Object::new();
    object.put("procs", row.procs);
    figures(&mut object, &point);
    object.put("run_count", found.map_or(0, |point| point.runs));
    object.put("order", order);
    object.put("started_seconds", Seconds(row.started).as_f64());
    object.put("elapsed_seconds", Seconds(row.elapsed).as_f64());
    object.time("others_cpu_seconds", &row.others_cpu);
    object.time("own_cpu_seconds", &row.own_cpu);
    object.put("cpus", row.cpus.iter().map(|cpu| to_value(&CpuUseWire::from(cpu))).collect::<Value>());
    object
        .put("rulers", row.rulers.iter().map(|reading| to_value(&RulerReadingWire::from(reading))).collect::<Value>());
    object.put("activity", to_value(&ActivityWire::from(&row.activity)));
    if samples {
        object.put("runs", row.runs.iter().map(|run| to_value(&LoadRunWire::from(run))).collect::<Value>());
    }
    object.into()
}

/// Means over the row's processes, or runs; the fields of the output contract first.
fn figures(object: &mut Object, point: &Reading<&LoadPoint>) {
    let sure = |pick: fn(&LoadPoint) -> f64| point.clone().map(pick);
    let maybe = |pick: fn(&LoadPoint) -> Reading<f64>| point.clone().and_then(pick);
    object.reading("cpu_seconds", &sure(|point| point.cpu_seconds));
    object.reading("wall_seconds", &sure(|point| point.wall_seconds));
    object.reading("work", &sure(|point| point.work));
    object.reading("work_per_cpu_second", &sure(|point| point.work_per_cpu_second));
    object.reading("work_per_wall_second", &sure(|point| point.work_per_wall_second));
    object.reading("overshoot_median_seconds", &maybe(|point| point.overshoot_median_seconds.clone()));
    object.reading("overshoot_max_seconds", &maybe(|point| point.overshoot_max_seconds.clone()));
    object.reading("user_seconds", &sure(|point| point.user_seconds));
    object.reading("throughput_per_second", &sure(|point| point.throughput_per_second));
    object.reading("waiting_ratio", &maybe(|point| point.waiting_ratio.clone()));
    object.reading("others_cpus", &maybe(|point| point.others_cpus.clone()));
    object.reading("own_ratio", &maybe(|point| point.own_ratio.clone()));
}
