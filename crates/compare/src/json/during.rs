//! Further parts of a comparison's JSON: budget, layouts, draws of snapshots, load, warnings.

use schemars::JsonSchema;
use serde::Serialize;
use steady_model::{Absent, Activity, Cold, Effort, Layout, Nanos, Plan, Reading, Record, Report, Warning};
use steady_render::json::finite;

use crate::words::warning_message;

/// The budget, or why there is none.
pub(super) fn budget(plan: &Plan) -> Reading<Nanos> {
    match plan.effort {
        Effort::Budget(budget) => Ok(budget),
        Effort::Pairs(_) => Err(Absent::because("the number of pairs was limited instead")),
    }
}

/// The number of pairs in each layout, and the time that they took.
#[derive(Serialize, JsonSchema)]
pub(super) struct Layouts {
    /// Pairs whose runs follow each other.
    turns: LayoutPairs,
    /// Pairs whose runs are concurrent, on two CPUs.
    duet: LayoutPairs,
}

/// The pairs of a layout.
#[derive(Serialize, JsonSchema)]
struct LayoutPairs {
    /// The number of pairs.
    pairs: usize,
    /// The total time of these pairs.
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
    /// The number of draws of snapshots.
    draws: usize,
    /// The mean number of pairs in a draw.
    pairs_per_draw: Reading<f64>,
    /// The number of pairs in these draws whose runs started as usual.
    usual_pairs: usize,
}

/// The draws of snapshots. `None` if snapshots were not requested.
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

/// The effect of the load on the pairs, and the activity of the machine.
#[derive(Serialize, JsonSchema)]
pub(super) struct LoadDuring<'a> {
    /// Share of the pairs in which a run had more involuntary context switches than the quietest tenth of its command's
    /// runs, and more than one.
    preempted_ratio: Reading<f64>,
    /// Time spent waiting for a CPU, divided by wall time.
    run_delay_ratio: &'a Reading<f64>,
    #[serde(flatten)]
    activity: &'a Activity,
}

impl<'a> LoadDuring<'a> {
    pub(super) fn of(report: &'a Report) -> Self {
        LoadDuring {
            preempted_ratio: finite(report.load.preempted_ratio, "there is no pair"),
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

/// All warnings of a report.
pub(super) fn warnings(report: &Report) -> Vec<StatedWarning<'_>> {
    let stated = |warning| StatedWarning { warning, message: warning_message(report, warning) };
    report.warnings.iter().map(stated).collect()
}
