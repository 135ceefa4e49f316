//! What is shown: verdicts and what explains them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Bytes, Interval, Layout, Metric, Nanos, Reading, Record, Verdict};

/// An effect as one layout saw it; relative changes (NEW / OLD - 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayoutEffect {
    /// The layout.
    pub layout: Layout,
    /// The estimate.
    pub change: f64,
    /// The interval at the level of the verdict.
    pub interval: Interval,
    /// How many pairs it rests on.
    pub pairs: usize,
}

/// Why there is no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Undecided {
    /// Fewer than six pairs: no test at 5 % exists.
    TooFewPairs,
    /// More than half of the pairs show no difference that the clock could tell.
    BelowGrain,
    /// The interval is still too wide.
    TooWide,
    /// One command failed more often than the other: what is left is no fair sample.
    UnequalFailures,
}

/// The statistic that a verdict stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// The sign-flip test, which describes the usual run.
    UsualRun,
    /// The ratio of the mean costs, because its interval and that of the usual run do not overlap.
    Mean,
}

impl DecidedBy {
    /// The name in exports.
    pub fn name(self) -> &'static str {
        match self {
            DecidedBy::UsualRun => "usual_run",
            DecidedBy::Mean => "mean",
        }
    }
}

/// The size of an effect; relative changes (NEW / OLD - 1).
#[derive(Clone, Debug, PartialEq)]
pub struct Size {
    /// The estimate.
    pub change: Reading<f64>,
    /// Its interval.
    pub interval: Reading<Interval>,
}

/// The verdict on one command beside the first, by one metric. Effects are relative changes (NEW / OLD - 1).
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The metric.
    pub metric: Metric,
    /// Which command of the plan; at least 1.
    pub command: usize,
    /// Whether this is the metric that stopped the run and carries the error guarantee.
    pub primary: bool,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether the whole interval lies within the resolution.
    pub within_resolution: bool,
    /// The statistic that the verdict, `change`, `interval` and `verdict_interval` come from.
    pub decided_by: DecidedBy,
    /// The effect on the usual run.
    pub usual: Size,
    /// The effect on the mean cost. The intervals of `usual` and `mean` hold together with `confidence`.
    pub mean: Size,
    /// Whether the mean may still contradict the verdict: a few expensive runs leave it much less certain than the usual run.
    pub mean_open: bool,
    /// The size of the effect, absent with fewer than six pairs.
    pub change: Reading<f64>,
    /// The interval of the size (from turns where duets would shrink it); absent where it has no end.
    pub interval: Reading<Interval>,
    /// The interval over all pairs, on which the verdict stands.
    pub verdict_interval: Reading<Interval>,
    /// The confidence of the intervals.
    pub confidence: f64,
    /// How many pairs it rests on.
    pub pairs: usize,
    /// The effect by layout.
    pub layouts: Vec<LayoutEffect>,
    /// Why it is undecided, where it is.
    pub undecided: Option<Undecided>,
    /// How many times the effort would probably settle it.
    pub effort_to_settle: Option<f64>,
    /// By how much load that moved widened the interval, beside all pairs being as quiet as the quietest quarter.
    pub widening: Option<f64>,
}

/// What was known of one command beside the first after a look: relative changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sight {
    /// Which command of the plan; at least 1.
    pub command: usize,
    /// How many blocks had been measured.
    pub blocks: usize,
    /// When the last of them had ended, on the experiment's clock.
    pub at: Nanos,
    /// The estimate of the size.
    pub change: Option<f64>,
    /// The interval on which the verdict stands, as all looks so far leave it.
    pub interval: Option<Interval>,
}

/// A mean with its interval, and the range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The arithmetic mean.
    pub mean: f64,
    /// The 95 % interval of the mean, autocorrelation allowed for; absent ends are infinite.
    pub interval: Interval,
    /// The median.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

/// Where the time of a command's runs went. Times are in seconds per run.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakdown {
    /// Which command of the plan.
    pub command: usize,
    /// How many successful runs it rests on.
    pub runs: usize,
    /// How many runs failed or were ended.
    pub failures: usize,
    /// The layout of the runs it rests on.
    pub layout: Layout,
    /// Wall time.
    pub wall: Spread,
    /// User and system time.
    pub cpu: Spread,
    /// User time: the pooled share times the mean CPU time.
    pub user: Spread,
    /// System time; as `user`.
    pub system: Spread,
    /// Waiting for a CPU.
    pub run_delay: Reading<Spread>,
    /// Waiting for anything else: wall less CPU less run delay.
    pub blocked: Reading<Spread>,
    /// Peak memory.
    pub peak_memory: Reading<Bytes>,
    /// Page faults without storage, mean per run.
    pub minor_faults: f64,
    /// Page faults from storage, mean per run.
    pub major_faults: f64,
    /// Voluntary context switches, mean per run.
    pub voluntary_switches: f64,
    /// Involuntary context switches, mean per run.
    pub involuntary_switches: f64,
    /// What the CPU's counters told, mean per run, where they were read ([`Record::counters`] says why not).
    pub counters: Option<CounterMeans>,
}

/// Events per run, as the CPU's counters told them; those that it does not count are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CounterMeans {
    /// Instructions retired.
    pub instructions: Option<f64>,
    /// CPU cycles.
    pub cycles: Option<f64>,
    /// Branches that were predicted wrongly.
    pub branch_misses: Option<f64>,
    /// Accesses that missed the last level of cache.
    pub cache_misses: Option<f64>,
}

/// What a command's start-up costs: its runs as usual beside those from snapshots, in the same draws. Times are in
/// seconds per run.
#[derive(Clone, Debug, PartialEq)]
pub struct StartUp {
    /// Which command of the plan.
    pub command: usize,
    /// Which time: that of the verdict, or CPU time where the verdict is about none.
    pub metric: Metric,
    /// The mean, over the draws in which it ran both ways; absent where there are too few.
    pub mean: Reading<f64>,
    /// Its 95 % interval, draw by draw.
    pub interval: Reading<Interval>,
    /// Over how many draws.
    pub draws: usize,
}

/// How much load there was while the pairs ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Share of the blocks in which a run lost its CPU to something else: more often than its command's quiet runs.
    pub preempted_ratio: f64,
    /// Time spent waiting for a CPU over wall time, over all runs that tell.
    pub run_delay_ratio: Reading<f64>,
}

/// Something that the reader should know before using the figures.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Warning {
    /// Runs of a command failed, and the failures were ignored or cut short.
    Failures {
        /// The command.
        command: usize,
        /// How many of its runs.
        failed: usize,
        /// Of how many.
        runs: usize,
        /// The first failure, in words.
        first: String,
    },
    /// A command's runs left processes behind, which were killed.
    LeftBehind {
        /// The command.
        command: usize,
        /// How many processes, over all runs.
        processes: u64,
    },
    /// The two layouts disagree on the size of an effect.
    LayoutsDisagree {
        /// The command.
        command: usize,
        /// The metric.
        metric: Metric,
    },
    /// The control group's quota held the commands back.
    Throttled {
        /// Share of the time.
        ratio: f64,
    },
    /// Fewer pairs than any verdict needs.
    TooFewPairs {
        /// How many there were.
        pairs: usize,
    },
    /// Load left the budget room for too few pairs, and the measuring went on until there were enough.
    BudgetExceeded {
        /// The budget.
        budget: Nanos,
        /// How long the measuring took.
        elapsed: Nanos,
    },
    /// Runs were started as usual, although snapshots were asked for.
    Cold {
        /// The command that cannot be started from a snapshot; none where it is not a matter of commands.
        command: Option<usize>,
        /// Why: a clause with its subject.
        reason: String,
    },
    /// The measuring was interrupted: the verdict stands on what there was.
    Interrupted,
    /// The verdict stands on the usual run, and a few expensive runs may outweigh it: the mean is much less certain.
    MeanUncertain {
        /// The command.
        command: usize,
        /// The metric.
        metric: Metric,
    },
    /// The verdict stands on the usual run, and by its estimate the mean changed the other way.
    MeanOtherWay {
        /// The command.
        command: usize,
        /// The metric.
        metric: Metric,
    },
    /// Commands cost less than the clock can tell apart.
    BelowGrain {
        /// The metric.
        metric: Metric,
    },
}

/// A comparison as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What was measured.
    pub record: Record,
    /// The verdicts: per command all metrics, the primary first.
    pub judgements: Vec<Judgement>,
    /// How the verdicts on the primary metric came about: one per look and command.
    pub course: Vec<Sight>,
    /// Where each command's time went.
    pub breakdowns: Vec<Breakdown>,
    /// What start-up costs, one per command, where runs were started from snapshots.
    pub startups: Vec<StartUp>,
    /// The load meanwhile.
    pub load: Load,
    /// What the reader should know.
    pub warnings: Vec<Warning>,
}

impl Report {
    /// The verdicts that carry the error guarantee, one per command after the first.
    pub fn primary(&self) -> impl Iterator<Item = &Judgement> {
        self.judgements.iter().filter(|judgement| judgement.primary)
    }

    /// How many runs the blocks hold.
    pub fn runs(&self) -> usize {
        self.record.blocks.iter().map(|block| block.runs.len()).sum()
    }

    /// How many blocks of `layout` there are.
    pub fn blocks_of(&self, layout: Layout) -> usize {
        self.record.blocks.iter().filter(|block| block.layout == layout).count()
    }

    /// Time measured in `layout`, from each block's first start to its end.
    pub fn time_in(&self, layout: Layout) -> Nanos {
        let blocks = self.record.blocks.iter().filter(|block| block.layout == layout);
        blocks.filter_map(|block| Some(block.ended - block.runs.first()?.started)).sum()
    }
}
