//! Reports of comparisons: verdicts, and the facts that explain them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::units::finite;
use crate::{Bytes, Interval, Layout, Metric, Nanos, Reading, Record, Verdict};

/// An effect estimated from the pairs of one layout, as relative changes (NEW / OLD - 1).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LayoutEffect {
    /// The layout of the pairs.
    pub layout: Layout,
    /// The estimate of the change.
    #[serde(serialize_with = "ends::number")]
    #[schemars(with = "Reading<f64>")]
    pub change: f64,
    /// The confidence interval, at the level of the verdict.
    #[serde(flatten, serialize_with = "ends::layout")]
    #[schemars(with = "ends::Change")]
    pub interval: Interval,
    /// The number of pairs used.
    pub pairs: usize,
}

/// Why a verdict is undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Undecided {
    /// Fewer pairs than a test at this confidence needs: 6 at 95 %, and more at a higher one or with several commands.
    TooFewPairs,
    /// More than half of the pairs differ by less than the resolution of the clock.
    BelowGrain,
    /// The interval is wider than the resolution.
    TooWide,
    /// One command failed more often than the other, so the remaining runs are not comparable.
    UnequalFailures,
}

/// The statistic that decides a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// The sign-flip test, which describes the usual run.
    UsualRun,
    /// The ratio of the mean costs, used if its interval and that of the usual run do not overlap.
    Mean,
}

impl DecidedBy {
    /// Returns the name in exports.
    pub fn name(self) -> &'static str {
        match self {
            DecidedBy::UsualRun => "usual_run",
            DecidedBy::Mean => "mean",
        }
    }
}

/// The size of an effect, as relative changes (NEW / OLD - 1).
#[derive(Clone, Debug, PartialEq)]
pub struct Size {
    /// The estimate of the change.
    pub change: Reading<f64>,
    /// The confidence interval of the change.
    pub interval: Reading<Interval>,
}

/// The verdict on one command compared with the first, by one metric. Effects are relative changes (NEW / OLD - 1).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Judgement {
    /// The metric that is compared.
    pub metric: Metric,
    /// The index of the command in the plan; at least 1.
    pub command: usize,
    /// Whether this is the primary metric, which stops the comparison and carries the error guarantee.
    pub primary: bool,
    /// The decision from the interval.
    pub verdict: Verdict,
    /// Whether the whole interval lies within the resolution.
    pub within_resolution: bool,
    /// The statistic that the verdict, `change` and its intervals come from.
    pub decided_by: DecidedBy,
    /// The size of the effect; not available with fewer than 6 pairs.
    #[serde(serialize_with = "finite")]
    pub change: Reading<f64>,
    /// The interval of the size; not available if an end is infinite. It contains the interval that decides the
    /// verdict. It is wider if the verdict is a direction and there are duets, which show effects smaller or larger
    /// than they are.
    #[serde(flatten, serialize_with = "ends::change")]
    #[schemars(with = "ends::Change")]
    pub interval: Reading<Interval>,
    /// The interval over all pairs, which decides the verdict. `change` may lie outside if there are duets, because it is
    /// then estimated from the turns alone.
    #[serde(flatten, serialize_with = "ends::verdict")]
    #[schemars(with = "ends::Verdict")]
    pub verdict_interval: Reading<Interval>,
    /// The effect on the usual run (the robust mean of logarithms).
    #[serde(flatten, serialize_with = "ends::usual")]
    #[schemars(with = "ends::Usual")]
    pub usual: Size,
    /// The effect on the mean cost. With probability `confidence`, the intervals of `usual` and `mean` both contain
    /// their effects.
    #[serde(flatten, serialize_with = "ends::mean")]
    #[schemars(with = "ends::Mean")]
    pub mean: Size,
    /// Whether the mean may still contradict the verdict, because runs that vary make it much less certain than the
    /// usual run.
    #[serde(skip)]
    pub mean_open: bool,
    /// The confidence level of the intervals.
    pub confidence: f64,
    /// The number of pairs used, or of draws of snapshots.
    pub pairs: usize,
    /// The reason of an undecided verdict. Not available if there is a verdict, or if a secondary metric was not
    /// measured.
    pub undecided: Reading<Undecided>,
    /// The effort that would probably give a verdict, as a multiple of the effort spent.
    #[serde(rename = "effort_to_settle_ratio", serialize_with = "finite")]
    pub effort_to_settle: Reading<f64>,
    /// The factor by which varying load widened the interval. The reference is an interval in which all pairs are as
    /// quiet as the quietest quarter.
    #[serde(rename = "widening_ratio", serialize_with = "finite")]
    pub widening: Reading<f64>,
    /// The effect estimated from each layout alone.
    pub layouts: Vec<LayoutEffect>,
}

/// The fields that an effect or an interval becomes in JSON, for `#[serde(flatten, serialize_with = "..")]`. JSON has
/// no infinity, so an infinite end is absent with a reason.
mod ends {
    use schemars::JsonSchema;
    use serde::{Serialize, Serializer};

    use super::Size;
    use crate::{Interval, Reading, ends, if_finite};

    macro_rules! interval {
        ($type:ident, $function:ident: $low:ident $high:ident, $what:literal) => {
            #[derive(Serialize, JsonSchema)]
            pub(super) struct $type {
                #[doc = concat!("The lower end of ", $what, ".")]
                $low: Reading<f64>,
                #[doc = concat!("The upper end of ", $what, ".")]
                $high: Reading<f64>,
            }

            pub(super) fn $function<S: Serializer>(
                interval: &Reading<Interval>,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                let [$low, $high] = ends(interval);
                $type { $low, $high }.serialize(serializer)
            }
        };
    }

    macro_rules! size {
        ($type:ident, $function:ident: $change:ident $low:ident $high:ident, $what:literal) => {
            #[derive(Serialize, JsonSchema)]
            pub(super) struct $type {
                #[doc = concat!("The effect on ", $what, ".")]
                $change: Reading<f64>,
                #[doc = concat!("The lower end of the interval of `", stringify!($change), "`.")]
                $low: Reading<f64>,
                #[doc = concat!("The upper end of the interval of `", stringify!($change), "`.")]
                $high: Reading<f64>,
            }

            pub(super) fn $function<S: Serializer>(size: &Size, serializer: S) -> Result<S::Ok, S::Error> {
                let [$low, $high] = ends(&size.interval);
                let $change = size.change.clone().and_then(|change| if_finite(change, NOT_A_NUMBER));
                $type { $change, $low, $high }.serialize(serializer)
            }
        };
    }

    const NOT_A_NUMBER: &str = "not a number";

    interval!(Change, change: low high, "the interval of `change`");
    interval!(Verdict, verdict: verdict_low verdict_high, "the interval over all pairs, which decides the verdict");
    size!(Usual, usual: usual_change usual_low usual_high, "the usual run");
    size!(Mean, mean: mean_change mean_low mean_high, "the mean cost");

    pub(super) fn layout<S: Serializer>(interval: &Interval, serializer: S) -> Result<S::Ok, S::Error> {
        change(&Ok(*interval), serializer)
    }

    pub(super) fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if_finite(*value, NOT_A_NUMBER).serialize(serializer)
    }
}

impl Judgement {
    /// Returns whether the verdict is that the value of the metric is larger than that of the first command. It is
    /// *slower*, or *faster* if more is better.
    pub fn is_more(&self) -> bool {
        let larger = if self.metric.is_more_better() { Verdict::Faster } else { Verdict::Slower };
        self.verdict == larger
    }
}

/// The interim result on one command compared with the first after a look, as relative changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sight {
    /// The index of the command in the plan; at least 1.
    pub command: usize,
    /// The number of blocks measured up to the look.
    pub blocks: usize,
    /// The end of the last of these blocks, on the experiment's clock.
    pub at: Nanos,
    /// The estimate of the effect's size.
    pub change: Option<f64>,
    /// The interval that decides the verdict: the intersection over all looks up to this one.
    pub interval: Option<Interval>,
}

/// A mean with its interval, the median and the range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The arithmetic mean of the values.
    pub mean: f64,
    /// The 95 % interval of the mean, with autocorrelation taken into account. Unknown ends are infinite.
    pub interval: Interval,
    /// The standard deviation of the values; infinite with one value, because it is not known.
    pub deviation: f64,
    /// The median of the values.
    pub median: f64,
    /// The smallest of the values.
    pub min: f64,
    /// The largest of the values.
    pub max: f64,
}

/// How the wall time of a command's runs is composed. Times are in seconds per run.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakdown {
    /// The index of the command in the plan.
    pub command: usize,
    /// The number of successful runs used.
    pub runs: usize,
    /// The number of runs in the same layout that failed or were killed.
    pub failures: usize,
    /// The layout of the runs used.
    pub layout: Layout,
    /// Wall time from start to exit.
    pub wall: Spread,
    /// User and system time.
    pub cpu: Spread,
    /// User time: its share over all runs, times the mean CPU time. Not available if the processes are too short for
    /// the kernel's ticks.
    pub user: Reading<Spread>,
    /// System time, computed like `user`.
    pub system: Reading<Spread>,
    /// Time waiting for a CPU.
    pub run_delay: Reading<Spread>,
    /// Wall time minus run delay.
    pub elapsed: Reading<Spread>,
    /// Time waiting for anything else: wall time minus CPU time minus run delay.
    pub blocked: Reading<Spread>,
    /// Peak resident memory, median over the runs.
    pub peak_memory: Reading<Bytes>,
    /// Minor page faults (without reading from storage), mean per run.
    pub minor_faults: f64,
    /// Major page faults (with reading from storage), mean per run.
    pub major_faults: f64,
    /// Voluntary context switches, mean per run.
    pub voluntary_switches: f64,
    /// Involuntary context switches, mean per run.
    pub involuntary_switches: f64,
    /// Events of the CPU's counters, mean per run, if they were read; [`Record::counters`] has the reason otherwise.
    pub counters: Option<CounterMeans>,
    /// The energy, if it was asked for, and the custom metrics, with their values.
    pub values: Vec<(Metric, Reading<Spread>)>,
}

/// Events of the CPU's counters, mean per run; `None` for events that the CPU does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CounterMeans {
    /// The number of instructions retired.
    pub instructions: Option<f64>,
    /// CPU cycles, except those in which the CPU was halted.
    pub cycles: Option<f64>,
    /// The number of mispredicted branches.
    pub branch_misses: Option<f64>,
    /// Accesses that missed the last-level cache.
    pub cache_misses: Option<f64>,
}

/// The place of a command among at least three, by the primary metric: 1 is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Rank {
    /// The index of the command in the plan.
    pub command: usize,
    /// The best place that it may have: all commands before it are certainly better.
    pub best: usize,
    /// The worst place that it may have. It is that of `best`, unless the command is tied with others.
    pub worst: usize,
}

/// The start-up cost of a command: its normal runs compared with those from snapshots, in the same draws. Times are in
/// seconds per run.
#[derive(Clone, Debug, PartialEq)]
pub struct StartUp {
    /// The index of the command in the plan.
    pub command: usize,
    /// The kind of time: the metric of the verdict, or CPU time if that metric is not a time.
    pub metric: Metric,
    /// The mean over the draws with both kinds of runs; not available if there are too few.
    pub mean: Reading<f64>,
    /// The 95 % interval of the mean; the unit of the estimate is the draw.
    pub interval: Reading<Interval>,
    /// The number of draws used.
    pub draws: usize,
}

/// The load of the machine while the pairs ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Share of the blocks in which a run was preempted more often than its command's quiet runs.
    pub preempted_ratio: f64,
    /// Time waiting for a CPU divided by wall time, over all runs for which both are known.
    pub run_delay_ratio: Reading<f64>,
}

/// A caveat that the reader must know before using the figures.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Warning {
    /// Runs of a command failed. The failures were ignored, or they ended the measuring.
    Failures {
        /// The index of the command.
        command: usize,
        /// The number of failed runs.
        failed: usize,
        /// The number of all runs.
        runs: usize,
        /// The first failure, in words.
        first: String,
    },
    /// Runs of a command left processes behind, which were killed.
    LeftBehind {
        /// The index of the command.
        command: usize,
        /// The number of processes, over all runs.
        processes: u64,
    },
    /// The two layouts disagree on the size of an effect.
    LayoutsDisagree {
        /// The index of the command.
        command: usize,
        /// The metric on which they disagree.
        metric: Metric,
    },
    /// The control group's CPU quota throttled the commands.
    Throttled {
        /// The share of the time with throttling.
        ratio: f64,
    },
    /// There are fewer pairs than any verdict needs.
    TooFewPairs {
        /// The number of pairs.
        pairs: usize,
    },
    /// Because of load, the budget was enough for too few pairs, and measuring continued until there were enough.
    BudgetExceeded {
        /// The budget that was given.
        budget: Nanos,
        /// The duration of the measuring.
        elapsed: Nanos,
    },
    /// A run did not end within the budget and was killed, because of load or because it waited for something.
    Unfinished {
        /// The index of the command.
        command: usize,
    },
    /// Runs with a status other than 0 count as successes, because the user wants that.
    FailuresIgnored {
        /// The index of the command.
        command: usize,
        /// The number of these runs.
        failed: usize,
        /// The number of all runs.
        runs: usize,
        /// The first status.
        status: i32,
    },
    /// The metric includes time waiting for a CPU, which depends on the load.
    Waiting {
        /// The metric.
        metric: Metric,
        /// The share of the runs' wall time that was spent waiting for a CPU.
        ratio: f64,
    },
    /// Runs were started normally although snapshots were requested.
    Cold {
        /// The command that cannot be started from a snapshot; `None` if the reason concerns no single command.
        command: Option<usize>,
        /// The reason: a clause with its own subject.
        reason: String,
    },
    /// A command that ran without a shell has parts that a shell would have expanded. Its program got them as written.
    Unexpanded {
        /// The index of the command in the plan.
        command: usize,
        /// The parts, such as `*` and `$HOME`.
        parts: Vec<String>,
    },
    /// The program of a command, or the interpreter of that script, is a shim of a version manager: a script that starts
    /// the real program.
    Shim {
        /// The index of the first command with this shim.
        command: usize,
    },
    /// No run opened a file of its revision, so the comparison does not test the change.
    UnusedRevisions,
    /// The revisions are one commit although they were written differently, so the comparison does not test a change.
    OneRevision,
    /// The user interrupted the measuring. The verdict uses the data up to then.
    Interrupted,
    /// The usual run decided the verdict, and the mean is much less certain, because the runs vary.
    MeanUncertain {
        /// The index of the command.
        command: usize,
        /// The metric of the verdict.
        metric: Metric,
    },
    /// The usual run decided the verdict, and the estimate of the mean has the other sign.
    MeanOtherWay {
        /// The index of the command.
        command: usize,
        /// The metric of the verdict.
        metric: Metric,
    },
    /// The cost of commands is below the resolution of the clock.
    BelowGrain {
        /// The metric with that cost.
        metric: Metric,
    },
}

/// The evaluation of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The measurements of the comparison.
    pub record: Record,
    /// The verdicts: for each command all metrics, the primary first.
    pub judgements: Vec<Judgement>,
    /// The ranks of at least three commands, from the best estimate to the worst; empty for fewer.
    pub ranking: Vec<Rank>,
    /// The interim results on the primary metric: one for each look and command.
    pub course: Vec<Sight>,
    /// The composition of each command's time.
    pub breakdowns: Vec<Breakdown>,
    /// The start-up costs, one for each command, if runs were started from snapshots.
    pub startups: Vec<StartUp>,
    /// The load during the measuring.
    pub load: Load,
    /// The caveats for the reader.
    pub warnings: Vec<Warning>,
}

impl Report {
    /// Returns the verdicts that carry the error guarantee, one for each command after the first.
    pub fn primary(&self) -> impl Iterator<Item = &Judgement> {
        self.judgements.iter().filter(|judgement| judgement.primary)
    }

    /// Returns the number of runs in all blocks.
    pub fn runs(&self) -> usize {
        self.record.blocks.iter().map(|block| block.runs.len()).sum()
    }

    /// Returns the number of blocks with `layout`.
    pub fn blocks_of(&self, layout: Layout) -> usize {
        self.record.blocks.iter().filter(|block| block.layout == layout).count()
    }

    /// Returns the number of blocks with `layout` that have a failed run.
    pub fn failed_blocks_of(&self, layout: Layout) -> usize {
        let rule = &self.record.plan.failures;
        let blocks = self.record.blocks.iter().filter(|block| block.layout == layout);
        blocks.filter(|block| block.runs.iter().any(|run| !run.succeeded(rule))).count()
    }

    /// Returns the time measured in `layout`: the sum over its blocks, each from its first start to its end.
    pub fn time_in(&self, layout: Layout) -> Nanos {
        let blocks = self.record.blocks.iter().filter(|block| block.layout == layout);
        blocks.filter_map(|block| Some(block.ended - block.runs.first()?.started)).sum()
    }
}
