//! A limited command as comma-separated values.

use steady_model::LimitReport;

use super::{field, outcome, quoted, seconds};

/// The columns of a limited command.
const LIMIT_COLUMNS: [&str; 13] = [
    "name",
    "outcome",
    "ended",
    "cpu_limit_seconds",
    "wall_factor",
    "cpu_seconds",
    "wall_seconds",
    "waiting_seconds",
    "stopped_seconds",
    "overshoot_seconds",
    "steal_ratio",
    "source",
    "left_behind",
];

/// A limited command: one line below a line of names, so that the lines of many can stand below one another.
pub fn limit_csv(report: &LimitReport) -> String {
    let fields: [String; LIMIT_COLUMNS.len()] = [
        quoted(&report.plan.command.name),
        report.outcome.name().to_owned(),
        outcome(report.ended),
        seconds(report.plan.cpu),
        report.plan.wall_factor.to_string(),
        seconds(report.cpu),
        seconds(report.wall),
        report.waiting.as_ref().map_or_else(|_| String::new(), |time| seconds(*time)),
        seconds(report.stopped),
        report.overshoot.as_ref().map_or_else(|_| String::new(), |time| seconds(*time)),
        field(report.steal_ratio.as_ref().ok()),
        quoted(report.source.name()),
        report.left_behind.to_string(),
    ];
    format!("{}\n{}\n", LIMIT_COLUMNS.join(","), fields.join(","))
}
