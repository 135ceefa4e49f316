//! Costs of primitives as comma-separated values.

use steady_render::csv::{Column, table};

use crate::record::{Cost, CostsRecord, Mode, ProbeCost};

/// Columns of the CSV, with one line for each probe, or in a sweep for each length of its loop. A field without a
/// reading is empty; `absent` has the reason why a probe was not measured.
fn columns() -> [Column<ProbeCost>; 21] {
    [
        ("name", |probe| probe.probe.name().to_owned()),
        ("unit", |probe| probe.unit.to_owned()),
        ("clock", |probe| probe.clock.to_owned()),
        ("loops", |probe| field(probe, |cost| cost.loops.to_string())),
        ("median_seconds", |probe| field(probe, |cost| number(cost.median_seconds))),
        ("low_seconds", |probe| field(probe, |cost| number(cost.low_seconds))),
        ("high_seconds", |probe| field(probe, |cost| number(cost.high_seconds))),
        ("spread_seconds", |probe| field(probe, |cost| number(cost.spread_seconds))),
        ("resolution_seconds", |probe| field(probe, |cost| number(cost.resolution_seconds))),
        ("below_resolution", |probe| field(probe, |cost| cost.below_resolution.to_string())),
        ("first_mode_seconds", |probe| mode(probe, 0, |mode| mode.median_seconds)),
        ("first_mode_ratio", |probe| mode(probe, 0, |mode| mode.share_ratio)),
        ("second_mode_seconds", |probe| mode(probe, 1, |mode| mode.median_seconds)),
        ("second_mode_ratio", |probe| mode(probe, 1, |mode| mode.share_ratio)),
        ("repetitions", |probe| field(probe, |cost| cost.repetitions.to_string())),
        ("set_apart", |probe| field(probe, |cost| cost.set_apart.to_string())),
        ("all_disturbed", |probe| field(probe, |cost| cost.all_disturbed.to_string())),
        ("expected_events", |probe| field(probe, |cost| number(cost.expected_events))),
        ("counted_events", |probe| field(probe, |cost| cost.counted_events.to_string())),
        ("against_longest", |probe| probe.against_longest.map_or_else(String::new, |why| why.name().to_owned())),
        ("absent", |probe| probe.cost.as_ref().map_or_else(|absent| absent.0.clone(), |_| String::new())),
    ]
}

/// Writes the probes of a record as CSV.
pub(crate) fn csv(record: &CostsRecord) -> String {
    table(&columns(), &record.probes)
}

fn field(probe: &ProbeCost, of: fn(&Cost) -> String) -> String {
    probe.cost.as_ref().map_or_else(|_| String::new(), of)
}

fn mode(probe: &ProbeCost, at: usize, of: fn(&Mode) -> f64) -> String {
    let mode = probe.cost.as_ref().ok().and_then(|cost| cost.modes.get(at));
    mode.map_or_else(String::new, |mode| number(of(mode)))
}

/// Text of a number with all its digits; empty if it is not finite.
fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}
