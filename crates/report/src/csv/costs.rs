//! What primitives cost as comma-separated values.

use steady_model::{Cost, CostsReport, Probe, Reading};

use super::{field, number, quoted};
use crate::words::costs::reason;

/// The columns, in their order; those with a unit end with it.
const COLUMNS: [&str; 21] = [
    "name",
    "unit",
    "clock",
    "loops",
    "median_seconds",
    "low_seconds",
    "high_seconds",
    "spread_seconds",
    "resolution_seconds",
    "below_resolution",
    "first_mode_seconds",
    "first_mode_ratio",
    "second_mode_seconds",
    "second_mode_ratio",
    "repetitions",
    "set_apart",
    "all_disturbed",
    "expected_events",
    "counted_events",
    "against_longest",
    "absent",
];

/// One line per probe, in a sweep one per length of its loop, below a line of names; a field is empty where there is no such
/// reading, and `absent` has the reason why a probe was not measured.
pub fn costs_csv(report: &CostsReport) -> String {
    let mut out = COLUMNS.join(",") + "\n";
    for (at, (probe, cost)) in report.costs.iter().enumerate() {
        let why = report.reasons.get(at).map(|why| reason(*why));
        out.push_str(&line(*probe, cost, why));
    }
    out
}

fn line(probe: Probe, cost: &Reading<Cost>, why: Option<&str>) -> String {
    let found = cost.as_ref().ok();
    let figure = |pick: fn(&Cost) -> f64| found.map_or_else(String::new, |cost| number(pick(cost)));
    let [first, second] = [0, 1].map(|at| found.and_then(|cost| cost.modes.get(at)));
    let fields: [String; COLUMNS.len()] = [
        probe.name().to_owned(),
        quoted(probe.unit()),
        if probe.costs_cpu_time() { "cpu" } else { "wall" }.to_owned(),
        field(found.map(|cost| cost.loops)),
        figure(|cost| cost.median),
        figure(|cost| cost.interval.low),
        figure(|cost| cost.interval.high),
        figure(|cost| cost.spread),
        figure(|cost| cost.resolution),
        field(found.map(|cost| cost.below_resolution)),
        first.map_or_else(String::new, |mode| number(mode.median)),
        first.map_or_else(String::new, |mode| number(mode.share)),
        second.map_or_else(String::new, |mode| number(mode.median)),
        second.map_or_else(String::new, |mode| number(mode.share)),
        field(found.map(|cost| cost.repetitions)),
        field(found.map(|cost| cost.set_apart)),
        field(found.map(|cost| cost.all_disturbed)),
        figure(|cost| cost.expected_events),
        field(found.map(|cost| cost.counted_events)),
        field(why),
        cost.as_ref().err().map_or_else(String::new, |absent| quoted(&absent.0)),
    ];
    fields.join(",") + "\n"
}
