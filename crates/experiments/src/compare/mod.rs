//! The comparison of two commands or more: warm up, choose metric and layouts, measure random pairs until the verdict
//! is in or the effort is spent.

mod measure;
mod warmup;

use steady_model::{Ending, Host, Interval, Layout, Metric, Nanos, Outcome, Plan, Reading, Record};
use thiserror::Error;

use crate::coins::Coins;
use crate::runner::{RunError, Runner, how};

/// Why a comparison came to nothing.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CompareError {
    /// Runs could not be made.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A measured command failed, and failures are not ignored.
    #[error("command {} {}", .command + 1, how(.outcome))]
    Failed {
        /// Which command of the plan.
        command: usize,
        /// How its run ended.
        outcome: Outcome,
    },
    /// The budget holds fewer pairs than any verdict needs.
    #[error("the budget holds {fit} pairs of {} s each, and a verdict needs {}", per_pair.seconds(), steady_stats::MIN_PAIRS)]
    BudgetTooSmall {
        /// How many pairs it holds.
        fit: u64,
        /// How long one takes.
        per_pair: Nanos,
        /// A budget that would do.
        needed: Nanos,
    },
    /// The layout asked for cannot be had.
    #[error("the layout {} cannot be had: {reason}", .layout.name())]
    LayoutAbsent {
        /// The layout.
        layout: Layout,
        /// Why.
        reason: String,
    },
    /// The metric asked for cannot be had.
    #[error("the metric {} cannot be had: {reason}", .metric.name())]
    MetricAbsent {
        /// The metric.
        metric: Metric,
        /// Why.
        reason: String,
    },
}

/// What a comparison is told of the machine.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The machine.
    pub host: Host,
    /// Whether duets can be had, or why not.
    pub duets: Reading<()>,
}

/// What happens while a comparison runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A warm-up block is over.
    WarmedUp {
        /// How many there were.
        blocks: u32,
        /// How long the last took.
        last: Nanos,
    },
    /// Pairs have been measured.
    Measured(Progress),
}

/// How far the measuring is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// How much of the effort is spent: 0 to 1.
    pub fraction: f64,
    /// How many pairs there are of each contender.
    pub pairs: usize,
    /// How long a pair takes.
    pub per_pair: Nanos,
    /// The metric.
    pub metric: Metric,
    /// Per contender the effect and its interval as they look now, where there are enough pairs; for the eye, not a
    /// verdict.
    pub effects: Vec<Option<(f64, Interval)>>,
}

/// Runs the comparison that `plan` describes.
///
/// # Errors
/// See [`CompareError`]. An interruption is an error before the first pair is measured; after that it ends the
/// measuring, and the record says so.
pub fn compare<R: Runner>(
    plan: &Plan,
    setting: Setting,
    runner: &mut R,
    events: &mut dyn FnMut(Event),
) -> Result<Record, CompareError> {
    let mut coins = Coins::new(plan.seed);
    let warm = warmup::warm_up(plan, &setting.duets, runner, &mut coins, events)?;
    let measured = measure::measure(plan, &warm, runner, &mut coins, events)?;
    Ok(Record {
        plan: plan.clone(),
        host: setting.host,
        primary: warm.primary,
        left_out: warm.left_out,
        blocks: measured.blocks,
        looks: measured.looks,
        activity: runner.activity(),
        elapsed: runner.now(),
        ending: measured.ending,
    })
}

/// The blocks of a measuring, and how it ended.
struct Measured {
    blocks: Vec<steady_model::Block>,
    looks: Vec<steady_model::Look>,
    ending: Ending,
}
