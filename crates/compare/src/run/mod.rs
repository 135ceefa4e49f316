//! The comparison of two commands or more: warm up, choose metric and layouts, measure random pairs until the verdict
//! is in or the effort is spent.

mod draws;
mod measure;
mod progress;
pub(crate) mod warm_runs;
mod warmup;

use steady_model::{
    Cold, CounterScope, Ending, Hook, Host, Interval, Layout, Look, Metric, Moment, Nanos, Outcome, Plan, Reading,
    Record, Timestamp,
};
use thiserror::Error;

use warmup::Warm;

use crate::coins::Coins;
use steady_process::runner::{RunError, Runner, Start, how};

pub use progress::{show, show_begin};

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
    /// The budget would hold fewer pairs than any verdict needs on an idle machine, too.
    #[error("a pair needs {} s by itself, and the budget of {} s holds fewer than {}", per_pair.seconds(), budget.seconds(), steady_stats::MIN_PAIRS)]
    BudgetTooSmall {
        /// The time that a pair needs by itself, where nothing else runs.
        per_pair: Nanos,
        /// The budget.
        budget: Nanos,
        /// A budget that would do.
        needed: Nanos,
    },
    /// Load kept a run from its end for the whole budget. It ends the measuring and not the comparison: what there is
    /// until then is judged.
    #[error("the machine was too busy for a run to end within the budget")]
    Starved,
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
    /// The time of day.
    pub started: Timestamp,
    /// The git revision of the directory that it is started in.
    pub revision: Reading<String>,
    /// Whose events the CPU's counters count, or why they cannot be read.
    pub counters: Reading<CounterScope>,
    /// Why runs cannot be started from snapshots, where that was asked for.
    pub cold: Option<Cold>,
    /// Whether all of the effort is spent and looked at once, at its end, whatever is seen before.
    pub one_look: bool,
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
    /// The warm-up is over: the record as it is before anything was measured.
    Begun(Box<Record>),
    /// Pairs have been measured.
    Measured(Progress),
    /// The evidence has been judged.
    Looked(Look),
    /// What the machine was doing has been looked at.
    Watched(Moment),
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
    if let (Some(Metric::Instructions), Err(absent)) = (plan.metric, &setting.counters) {
        return Err(CompareError::MetricAbsent { metric: Metric::Instructions, reason: absent.to_string() });
    }
    let commands = 0..plan.commands.len();
    let mut set_up = 0;
    let record = commands.clone().try_for_each(|command| {
        set_up = command + 1;
        runner.hook(Hook::Setup, command)
    });
    let record = record.map_err(CompareError::from).and_then(|()| record_of(plan, setting, runner, events));
    // Whatever happened, what was set up is cleaned up; the first error is the one to tell.
    let cleaned = commands.take(set_up).map(|command| runner.hook(Hook::Cleanup, command)).fold(Ok(()), Result::and);
    let record = record?;
    cleaned?;
    Ok(record)
}

fn record_of<R: Runner>(
    plan: &Plan,
    setting: Setting,
    runner: &mut R,
    events: &mut dyn FnMut(Event),
) -> Result<Record, CompareError> {
    let mut coins = Coins::new(plan.seed);
    let one_look = setting.one_look;
    let start = if plan.warm && setting.cold.is_none() { Start::Snapshot } else { Start::Usual };
    let (warm, starved) = match warmup::warm_up(plan, start, &setting.duets, runner, &mut coins, events) {
        Err(CompareError::Starved) => (Warm::of_nothing(plan), true),
        warm => (warm?, false),
    };
    let record = Record {
        plan: plan.clone(),
        started: setting.started,
        host: setting.host,
        revision: setting.revision,
        counters: setting.counters,
        primary: warm.primary,
        left_out: warm.left_out.clone(),
        blocks: vec![],
        usual: vec![],
        cold: setting.cold,
        looks: vec![],
        activity: runner.activity(),
        moments: vec![],
        elapsed: runner.now(),
        ending: Ending::Interrupted,
    };
    events(Event::Begun(Box::new(record.clone())));
    let measured = match starved {
        true => Measured { blocks: vec![], usual: vec![], looks: vec![], moments: vec![], ending: Ending::Spent },
        false => measure::measure(plan, one_look, &warm, runner, &mut coins, events)?,
    };
    Ok(Record {
        blocks: measured.blocks,
        usual: measured.usual,
        looks: measured.looks,
        activity: runner.activity(),
        moments: measured.moments,
        elapsed: runner.now(),
        ending: measured.ending,
        ..record
    })
}

/// The blocks of a measuring, and how it ended.
struct Measured {
    blocks: Vec<steady_model::Block>,
    usual: Vec<steady_model::Block>,
    looks: Vec<Look>,
    moments: Vec<Moment>,
    ending: Ending,
}
