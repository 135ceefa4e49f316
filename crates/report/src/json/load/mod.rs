//! The JSON of a load experiment.

mod check;
mod read;
mod row;
mod scaling;
mod wire;

use serde_json::{Value, json as literal};
use steady_model::{LoadPlan, LoadReport, LoadRow, LoadWork, Machine};

pub use read::read_load_record;

use super::object::Object;
use super::wire::{HostWire, MachineWire, Seconds, started, to_value};
use super::{commands, pretty};
use steady_render::json::Schema;

/// The name and version of what [`load_json`] writes.
pub const LOAD_SCHEMA: &str = "steady.load/1";

/// The same, to be read.
const SCHEMA: Schema = Schema { name: LOAD_SCHEMA, what: "a load experiment" };

/// A load experiment as JSON, each row with its runs where `samples` says so: only then can it be judged again.
///
/// Rows come by number of processes; `order` tells which of them was measured first. A reading that is absent is null,
/// with the reason in `<name>_absent` beside it.
pub fn load_json(report: &LoadReport, samples: bool) -> Value {
    let record = &report.record;
    let mut top = Object::new();
    top.put("schema", LOAD_SCHEMA);
    top.put("seed", record.plan.seed.to_string());
    top.put("started", started(record.started));
    top.put("elapsed_seconds", Seconds(record.elapsed).as_f64());
    top.put("workload", record.workload());
    top.put("unit", record.unit());
    top.put("host", to_value(&HostWire::from(&record.host)));
    top.put("machine", machine(&record.machine));
    top.text("revision", &record.revision);
    top.reading("poll_cost_ratio", &record.poll_cost);
    let mut rows: Vec<(usize, &LoadRow)> = record.rows.iter().enumerate().collect();
    rows.sort_by_key(|(_, row)| row.procs);
    top.put("rows", rows.into_iter().map(|(order, row)| row::row(report, (order, row), samples)).collect::<Value>());
    match &report.scaling {
        Ok(scaling) => top.put("scaling", scaling::scaling(scaling)),
        Err(absent) => top.absent("scaling", &absent.0),
    }
    top.put("ending", to_value(&record.ending));
    top.put("failure", record.failure.clone());
    top.put("plan", plan(&record.plan));
    top.into()
}

/// [`load_json`] as indented text that ends with a newline; what is small enough, and every run, stays on one line.
pub fn load_json_text(report: &LoadReport, samples: bool) -> String {
    pretty::indented_but(&load_json(report, samples), "runs")
}

/// The machine's CPUs, and how many of them are worth how much.
fn machine(machine: &Machine) -> Value {
    let mut value = to_value(&MachineWire::from(machine));
    if let Value::Object(fields) = &mut value {
        fields.insert("usable_cpus".into(), machine.usable_cpus().into());
    }
    value
}

/// The plan, less the seed: that stands at the top.
fn plan(plan: &LoadPlan) -> Value {
    let work = match &plan.work {
        LoadWork::Hash { cpu_time, poll } => {
            let poll = poll.map(|every| Seconds(every).as_f64());
            literal!({ "hash": { "cpu_time_seconds": Seconds(*cpu_time).as_f64(), "poll_seconds": poll } })
        }
        LoadWork::Sum { work } => literal!({ "sum": { "work": work } }),
        LoadWork::Command { command, window } => {
            let command = Value::from(commands::described(command));
            literal!({ "command": { "command": command, "window_seconds": Seconds(*window).as_f64() } })
        }
    };
    literal!({ "work": work, "procs": plan.procs, "cpus": plan.cpus })
}
