//! The JSON of what primitives cost.

mod check;
mod figures;
mod read;
mod wire;

use serde_json::{Value, json as literal};
use steady_model::{ClockFacts, CostsPlan, CostsReport, Reading};

pub use read::read_costs_record;

use super::object::Object;
use super::wire::{HostWire, MachineWire, Seconds, started, to_value};
use crate::words::clocks::clock_words;
use steady_render::json::Schema;
use steady_render::json::pretty;

/// The name and version of what [`costs_json`] writes.
pub const COSTS_SCHEMA: &str = "steady.costs/1";

/// The same, to be read.
const SCHEMA: Schema = Schema { name: COSTS_SCHEMA, what: "what primitives cost" };

/// What primitives cost as JSON, each probe with its repetitions where `samples` says so: only then can it be judged again.
///
/// Probes come in the order in which they are shown; in a sweep a probe stands there once for each length of its loop. A
/// reading that is absent is null, with the reason in `<name>_absent` beside it.
pub fn costs_json(report: &CostsReport, samples: bool) -> Value {
    let record = &report.record;
    let mut top = Object::new();
    top.put("schema", COSTS_SCHEMA);
    top.put("seed", record.plan.seed.to_string());
    top.put("started", started(record.started));
    top.put("elapsed_seconds", Seconds(record.elapsed).as_f64());
    top.put("host", to_value(&HostWire::from(&record.host)));
    top.put("machine", to_value(&MachineWire::from(&record.machine)));
    top.text("revision", &record.revision);
    top.put("affinity", affinity(&record.plan));
    let probes = (0..record.measured.len()).map(|at| figures::probe(report, at, samples));
    top.put("probes", probes.collect::<Vec<Value>>());
    top.put("clocks", record.clocks.iter().map(clock).collect::<Vec<Value>>());
    top.put("ending", to_value(&record.ending));
    top.put("plan", plan(&record.plan));
    top.into()
}

/// [`costs_json`] as indented text that ends with a newline; what is small enough, and every repetition, stays on one line.
pub fn costs_json_text(report: &CostsReport, samples: bool) -> String {
    pretty::indented_but(&costs_json(report, samples), "samples")
}

/// The CPU that all is pinned to, and that of those who need another.
fn affinity(plan: &CostsPlan) -> Value {
    let (cpu, other) = &plan.cpus;
    let mut object = Object::new();
    object.put("cpu", *cpu);
    whole(&mut object, "other_cpu", &other.as_ref().map(|cpu| *cpu as u64).map_err(Clone::clone));
    object.into()
}

/// A clock: what was measured of it, and what is known of it.
fn clock(clock: &ClockFacts) -> Value {
    let mut object = Object::new();
    object.put("name", clock.name.as_str());
    object.put("probe", clock.probe.name());
    object.put("stated_resolution_seconds", Seconds(clock.stated_resolution).as_f64());
    object.time("smallest_step_seconds", &clock.smallest_step);
    if let Some(words) = clock_words(clock.probe) {
        object.put("can_be_set", words.steppable);
        object.put("measures", words.measures);
        object.put("use", words.when);
    }
    object.into()
}

/// The plan, less the seed and the CPUs: those stand at the top.
fn plan(plan: &CostsPlan) -> Value {
    let probes: Vec<&str> = plan.probes.iter().map(|probe| probe.name()).collect();
    let budget = Seconds(plan.budget).as_f64();
    literal!({ "probes": probes, "repetitions": plan.repetitions, "budget_seconds": budget, "sweep": plan.sweep })
}

/// A whole number, or null with its reason: through a double it would lose digits.
fn whole(object: &mut Object, name: &str, reading: &Reading<u64>) {
    match reading {
        Ok(number) => object.put(name, *number),
        Err(absent) => object.absent(name, &absent.0),
    }
}
