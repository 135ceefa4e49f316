//! Runs a comparison: warms up, chooses the metric and the layouts, and measures random pairs until there is a verdict
//! or the effort is spent.

mod draws;
mod measure;
mod progress;
pub(crate) mod warm_runs;
mod warmup;

use steady_model::{
    Absent, Cold, CounterScope, Ending, Hook, Host, Interval, Layout, Look, Metric, Moment, Nanos, Outcome, Plan,
    Reading, Record, Timestamp,
};
use thiserror::Error;

use warmup::WarmUp;

use crate::coins::Coins;
use steady_process::runner::{RunError, Runner, Start, how};

pub use progress::{show, show_begin};

/// Why a comparison ended without a record.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CompareError {
    /// The runner cannot run commands or scripts.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A measured command failed, and failures are not ignored.
    #[error("command {} {}", .command + 1, how(.outcome))]
    Failed {
        /// The index of the command in the plan.
        command: usize,
        /// How its run ended.
        outcome: Outcome,
    },
    /// Even on an idle machine, the budget is too small for the pairs that a verdict needs.
    #[error("a pair needs {} s on an idle machine, and the budget of {} s holds fewer than {}", per_pair.seconds(), budget.seconds(), .pairs)]
    BudgetTooSmall {
        /// The time that a pair needs on an idle machine.
        per_pair: Nanos,
        /// The budget of the plan.
        budget: Nanos,
        /// The number of pairs that a verdict needs.
        pairs: usize,
        /// A budget that is sufficient.
        needed: Nanos,
    },
    /// Because of load, a run did not end within the whole budget. This ends the measuring, but not the comparison,
    /// which evaluates the pairs until then.
    #[error("the machine was too busy for a run to end within the budget")]
    Starved,
    /// The requested layout is not possible.
    #[error("the layout {} is not available: {reason}", .layout.name())]
    LayoutAbsent {
        /// The layout that was requested.
        layout: Layout,
        /// Why it is not possible.
        reason: String,
    },
    /// The requested metric cannot be measured.
    #[error("the metric {} is not available: {reason}", .metric.name())]
    MetricAbsent {
        /// The metric that was requested.
        metric: Metric,
        /// Why it cannot be measured.
        reason: String,
    },
}

/// The properties of the machine that a comparison needs.
#[derive(Clone, Debug)]
pub struct CompareContext {
    /// Facts about the machine for the record.
    pub host: Host,
    /// Whether duets are possible, or why not.
    pub duets: Reading<()>,
    /// The time of day when the comparison starts.
    pub started: Timestamp,
    /// The git revision of the working directory.
    pub revision: Reading<String>,
    /// Which events the CPU's counters count, or why they cannot be read.
    pub counters: Reading<CounterScope>,
    /// Length of the ticks at which the kernel samples user and system time ([`steady_linux::host::tick`]).
    pub tick: Reading<Nanos>,
    /// Why runs cannot start from snapshots, if these were requested.
    pub cold: Option<Cold>,
    /// Whether the whole effort is spent, with a single look at the end.
    pub one_look: bool,
}

impl CompareContext {
    /// The properties of a simulated machine with two CPUs, on which nothing can be read. `duets` says whether duets
    /// are possible.
    pub fn simulated(duets: bool) -> Self {
        let absent = || Absent::because("simulated");
        let host = Host {
            hostname: Err(absent()),
            kernel: Err(absent()),
            cpu_model: Err(absent()),
            cpus_allowed: 2,
            cpus_online: 2,
            cpu_quota: Ok(None),
            memory: Err(absent()),
            hypervisor: Ok(None),
        };
        CompareContext {
            host,
            duets: if duets { Ok(()) } else { Err(absent()) },
            started: Timestamp(0),
            revision: Err(absent()),
            counters: Err(absent()),
            tick: Err(absent()),
            cold: None,
            one_look: false,
        }
    }
}

/// An event of a running comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A warm-up block has ended.
    WarmedUp {
        /// The number of warm-up blocks so far.
        blocks: u32,
        /// The duration of the last one.
        last: Nanos,
    },
    /// The warm-up has ended. The record has no measured blocks yet.
    Begun(Box<Record>),
    /// Pairs have been measured.
    Measured(Progress),
    /// A look has evaluated the pairs so far.
    Looked(Look),
    /// The activity of the machine has been read.
    Watched(Moment),
    /// A cleanup script failed after the measuring. The record is complete.
    CleanupFailed(RunError),
}

/// The progress of the measuring.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The share of the effort that is spent, from 0 to 1.
    pub fraction: f64,
    /// The number of pairs of each contender.
    pub pairs: usize,
    /// The mean duration of a pair.
    pub per_pair: Nanos,
    /// The metric of the verdict.
    pub metric: Metric,
    /// For each contender, the current effect and its interval if there are enough pairs. For display only, not a
    /// verdict.
    pub effects: Vec<Option<(f64, Interval)>>,
}

/// A record, and whether the cleanup scripts succeeded after the measuring.
pub type Cleaned = (Record, Result<(), RunError>);

/// Runs the comparison that `plan` describes.
///
/// # Errors
/// See [`CompareError`]. A cleanup script that fails after the measuring is an event. An interruption before the first
/// measured pair is an error. A later interruption ends the measuring, and is noted in the record.
pub fn compare<R: Runner>(
    plan: &Plan,
    setting: CompareContext,
    runner: &mut R,
    events: &mut dyn FnMut(Event),
) -> Result<Record, CompareError> {
    check_counters(plan, &setting.counters)?;
    let (record, cleaned) = between_scripts(plan, runner, R::hook, |runner| measured(plan, setting, runner, events))?;
    if let Err(error) = cleaned {
        events(Event::CleanupFailed(error));
    }
    Ok(record)
}

/// Runs the setup scripts of a plan, then `measure`, and then the cleanup scripts of all commands that were set up,
/// also after an error. `hook` runs a script.
///
/// If `measure` creates the runner, its clock starts after the setup scripts, and no run is left when the cleanup
/// scripts start.
///
/// # Errors
/// Those of setup scripts and of `measure`.
pub fn between_scripts<S>(
    plan: &Plan,
    scripts: &mut S,
    hook: fn(&mut S, Hook, usize) -> Result<(), RunError>,
    measure: impl FnOnce(&mut S) -> Result<Record, CompareError>,
) -> Result<Cleaned, CompareError> {
    let commands = 0..plan.commands.len();
    let mut set_up = 0;
    let ready = commands.clone().try_for_each(|command| {
        set_up = command + 1;
        hook(scripts, Hook::Setup, command)
    });
    let record = ready.map_err(CompareError::from).and_then(|()| measure(scripts));
    // All cleanup scripts run, also after an error. The first error counts.
    let cleaned = commands.take(set_up).map(|command| hook(scripts, Hook::Cleanup, command)).fold(Ok(()), Result::and);
    Ok((record?, cleaned))
}

/// Refuses a plan whose metric needs counters that cannot be read.
pub(crate) fn check_counters(plan: &Plan, counters: &Reading<CounterScope>) -> Result<(), CompareError> {
    match (plan.metric, counters) {
        (Some(metric @ Metric::Instructions), Err(absent)) => {
            Err(CompareError::MetricAbsent { metric, reason: absent.to_string() })
        }
        _ => Ok(()),
    }
}

/// Warms up and measures, without setup and cleanup scripts.
pub(crate) fn measured<R: Runner>(
    plan: &Plan,
    setting: CompareContext,
    runner: &mut R,
    events: &mut dyn FnMut(Event),
) -> Result<Record, CompareError> {
    let mut coins = Coins::new(plan.seed);
    let one_look = setting.one_look;
    let start = if plan.warm && setting.cold.is_none() { Start::Snapshot } else { Start::Usual };
    let (warm, starved) = match warmup::warm_up(plan, start, &setting.duets, runner, &mut coins, events) {
        Err(CompareError::Starved) => (WarmUp::of_nothing(plan), true),
        warm => (warm?, false),
    };
    let record = Record {
        plan: plan.clone(),
        started: setting.started,
        host: setting.host,
        revision: setting.revision,
        counters: setting.counters,
        tick: setting.tick,
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
        unfinished: None,
        unused_revisions: false,
    };
    events(Event::Begun(Box::new(record.clone())));
    let measured = match starved {
        true => Measured {
            blocks: vec![],
            usual: vec![],
            looks: vec![],
            moments: vec![],
            ending: Ending::Spent,
            unfinished: None,
        },
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
        unfinished: measured.unfinished,
        ..record
    })
}

/// The measured blocks, and how the measuring ended.
struct Measured {
    blocks: Vec<steady_model::Block>,
    usual: Vec<steady_model::Block>,
    looks: Vec<Look>,
    moments: Vec<Moment>,
    ending: Ending,
    unfinished: Option<usize>,
}
