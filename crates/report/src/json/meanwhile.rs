//! The load meanwhile.

use serde_json::Value;
use steady_model::Report;
use steady_render::json::part;

use super::object::Object;

/// What the load did to the pairs, and what the machine was doing.
pub(super) fn load(report: &Report) -> Value {
    let mut object = Object::new();
    object.number("preempted_ratio", report.load.preempted_ratio, "no pairs");
    object.reading("run_delay_ratio", &report.load.run_delay_ratio);
    object.extend(part(&report.record.activity));
    object.into()
}
