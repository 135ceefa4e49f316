//! The load meanwhile.

use serde_json::Value;
use steady_model::Report;

use super::object::Object;

/// What the load did to the pairs, and what the machine was doing.
pub(super) fn load(report: &Report) -> Value {
    let activity = &report.record.activity;
    let mut object = Object::new();
    object.number("preempted_ratio", report.load.preempted_ratio, "no pairs");
    object.reading("run_delay_ratio", &report.load.run_delay_ratio);
    object.reading("steal_ratio", &activity.steal_ratio);
    object.reading("pressure", &activity.pressure);
    object.reading("busy_ratio", &activity.busy_ratio);
    object.reading("throttled_ratio", &activity.throttled_ratio);
    object.into()
}
