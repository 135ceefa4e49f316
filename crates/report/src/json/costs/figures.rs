//! One probe: the figures first, then what they rest on.

use serde_json::Value;
use steady_model::{Absent, Cost, CostsReport, Measured, Mode, Reading};

use super::whole;
use super::wire::RepetitionWire;
use crate::json::object::Object;
use crate::json::wire::to_value;
use crate::words::costs::reason;

/// The probe at this place of the record.
pub(super) fn probe(report: &CostsReport, at: usize, samples: bool) -> Value {
    let (probe, measured) = &report.record.measured[at];
    let cost = match report.costs.get(at) {
        Some((_, cost)) => cost.as_ref().map_err(Clone::clone),
        None => Err(Absent::because("nothing was judged")),
    };
    let mut object = Object::new();
    object.put("name", probe.name());
    object.put("unit", probe.unit());
    whole(&mut object, "loops", &measured.as_ref().map(|measured| measured.loops).map_err(Clone::clone));
    figures(&mut object, &cost);
    if let Some(why) = report.reasons.get(at) {
        object.put("against_longest", reason(*why));
    }
    object.put("clock", if probe.costs_cpu_time() { "cpu" } else { "wall" });
    rests_on(&mut object, measured, samples);
    object.into()
}

/// What it costs; the fields of the output contract.
fn figures(object: &mut Object, cost: &Reading<&Cost>) {
    let number = |pick: fn(&Cost) -> f64| cost.as_ref().map(|cost| pick(cost)).map_err(Clone::clone);
    object.reading("median_seconds", &number(|cost| cost.median));
    object.interval("low_seconds", "high_seconds", &cost.as_ref().map(|cost| cost.interval).map_err(Clone::clone));
    object.reading("spread_seconds", &number(|cost| cost.spread));
    object.reading("resolution_seconds", &number(|cost| cost.resolution));
    match cost {
        Ok(cost) => object.put("below_resolution", cost.below_resolution),
        Err(absent) => object.absent("below_resolution", &absent.0),
    }
    let found = cost.as_ref().ok();
    object.put("modes", found.map_or_else(Vec::new, |cost| cost.modes.iter().map(mode).collect()));
    object.put("repetitions", found.map_or(0, |cost| cost.repetitions));
    object.put("set_apart", found.map_or(0, |cost| cost.set_apart));
    object.put("all_disturbed", found.is_some_and(|cost| cost.all_disturbed));
    object.reading("expected_events", &number(|cost| cost.expected_events));
    whole(object, "counted_events", &cost.as_ref().map(|cost| cost.counted_events).map_err(Clone::clone));
    match cost {
        Ok(cost) => object.put("histogram", histogram(cost)),
        Err(absent) => object.absent("histogram", &absent.0),
    }
    object.put("notes", found.map_or_else(Vec::new, |cost| cost.notes.clone()));
}

fn mode(mode: &Mode) -> Value {
    let mut object = Object::new();
    object.number("median_seconds", mode.median, "not a number");
    object.number("share_ratio", mode.share, "not a number");
    object.into()
}

fn histogram(cost: &Cost) -> Value {
    let histogram = &cost.histogram;
    let mut object = Object::new();
    object.number("low_seconds", histogram.low, "not a number");
    object.number("width_seconds", histogram.width, "not a number");
    object.put("counts", histogram.counts.clone());
    object.put("below", histogram.outside.0);
    object.put("above", histogram.outside.1);
    object.into()
}

/// What the figures rest on: nothing of it is left out but the repetitions, where they are not wanted.
fn rests_on(object: &mut Object, measured: &Reading<Measured>, samples: bool) {
    let number = |pick: fn(&Measured) -> Reading<f64>| measured.as_ref().map_err(Clone::clone).and_then(pick);
    object.reading("events_per_loop", &number(|measured| Ok(measured.events_per_loop)));
    object.text("subtracted", &measured.as_ref().map(|measured| measured.subtracted.clone()).map_err(Clone::clone));
    let calls = |pick: fn(&(f64, f64)) -> f64| {
        let found = measured.as_ref().map_err(Clone::clone);
        found.and_then(|measured| measured.calls_per_loop.as_ref().map(pick).map_err(Clone::clone))
    };
    object.reading("calls_per_loop", &calls(|(counted, _)| *counted));
    object.reading("expected_calls_per_loop", &calls(|(_, expected)| *expected));
    object.reading("alu_seconds", &number(|measured| measured.alu_seconds.clone()));
    match measured {
        Ok(measured) if samples => {
            let all = measured.repetitions.iter().map(|one| to_value(&RepetitionWire::from(one)));
            object.put("samples", all.collect::<Vec<Value>>());
        }
        Err(absent) if samples => object.absent("samples", &absent.0),
        _ => {}
    }
}
