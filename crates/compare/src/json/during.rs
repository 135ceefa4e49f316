//! What else is known of a comparison: its layouts, its snapshots, the load, warnings.

use schemars::JsonSchema;
use serde::Serialize;
use steady_model::{Absent, Activity, Cold, Effort, Layout, Nanos, Plan, Reading, Record, Report, Warning};
use steady_render::json::finite;

use crate::words::warning_message;

/// The budget, unless the number of pairs was chosen.
pub(super) fn budget(plan: &Plan) -> Reading<Nanos> {
    match plan.effort {
        Effort::Budget(budget) => Ok(budget),
        Effort::Pairs(_) => Err(Absent::because("the number of runs was limited instead")),
    }
}

/// How many pairs each layout has, and how long they took.
#[derive(Serialize, JsonSchema)]
pub(super) struct Layouts {
    /// One after the other.
    turns: LayoutPairs,
    /// At the same time, on two CPUs.
    duet: LayoutPairs,
}

/// The pairs of a layout.
#[derive(Serialize, JsonSchema)]
struct LayoutPairs {
    /// How many there are.
    pairs: usize,
    /// How long they took together.
    measured_seconds: Nanos,
}

impl Layouts {
    pub(super) fn of(report: &Report) -> Self {
        let of = |layout| LayoutPairs { pairs: report.blocks_of(layout), measured_seconds: report.time_in(layout) };
        Layouts { turns: of(Layout::Turns), duet: of(Layout::Duet) }
    }
}

/// Pairs whose runs started from snapshots.
#[derive(Serialize, JsonSchema)]
pub(super) struct WarmRuns {
    /// How often snapshots were drawn.
    draws: usize,
    /// How many pairs there are of each draw, on average.
    pairs_per_draw: Reading<f64>,
    /// How many pairs there are of runs that started as usual, in the same draws.
    usual_pairs: usize,
}

/// The draws of snapshots, if such were asked for.
pub(super) fn warm(record: &Record) -> Option<Reading<WarmRuns>> {
    if !record.plan.warm {
        return None;
    }
    if let Some(Cold { reason, .. }) = &record.cold {
        return Some(Err(Absent::because(reason.as_str())));
    }
    let draws = record.draws();
    let pairs_per_draw = finite(record.blocks.len() as f64 / draws as f64, "there was no draw");
    Some(Ok(WarmRuns { draws, pairs_per_draw, usual_pairs: record.usual.len() }))
}

/// What the load did to the pairs, and what the machine was doing.
#[derive(Serialize, JsonSchema)]
pub(super) struct LoadDuring<'a> {
    /// Share of the pairs in which a run lost its CPU to something else.
    preempted_ratio: Reading<f64>,
    /// Time spent waiting for a CPU over wall time.
    run_delay_ratio: &'a Reading<f64>,
    #[serde(flatten)]
    activity: &'a Activity,
}

impl<'a> LoadDuring<'a> {
    pub(super) fn of(report: &'a Report) -> Self {
        LoadDuring {
            preempted_ratio: finite(report.load.preempted_ratio, "no pairs"),
            run_delay_ratio: &report.load.run_delay_ratio,
            activity: &report.record.activity,
        }
    }
}

/// A warning: its kind and facts, and the message in words.
#[derive(Serialize, JsonSchema)]
pub(super) struct StatedWarning<'a> {
    #[serde(flatten)]
    warning: &'a Warning,
    /// The warning in words.
    message: String,
}

/// Every warning.
pub(super) fn warnings(report: &Report) -> Vec<StatedWarning<'_>> {
    let stated = |warning| StatedWarning { warning, message: warning_message(report, warning) };
    report.warnings.iter().map(stated).collect()
}
