//! The record of a comparison of two builds by their benchmarks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steady_model::{
    Activity, Ending, FailIf, GateState, Host, Interval, Layout, Metric, MetricSource, Nanos, Reading, RunKind, Seed,
    Timestamp, Verdict,
};
use steady_render::json::Schema;
use steady_stats::{Pair, Slot};

/// The schema of [`SuiteRecord`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.bench/1", what: "a comparison of two builds by their benchmarks" };
/// The kind of this record in the history.
pub(crate) const KIND: RunKind = RunKind::new("bench");

/// A comparison of two builds by their benchmarks. Its fields are those of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteRecord {
    /// Time at which the measuring began.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// The machine.
    pub host: Host,
    /// Git revision of the working directory.
    pub revision: Reading<String>,
    /// Name of the adapter of the harness.
    pub harness: String,
    /// The build that the other one is compared with.
    pub old: Build,
    /// The build that is compared with the other one.
    pub new: Build,
    /// The seed of all random choices.
    pub seed: Seed,
    /// The maximum time to measure.
    pub budget_seconds: Nanos,
    /// The smallest relative change that matters to the user.
    pub resolution_ratio: f64,
    /// One minus the error rate.
    pub confidence: f64,
    /// What the error rate is about.
    pub error: ErrorRate,
    /// The condition under which the exit status reports a failure: `slower>3%`.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "condition")]
    #[schemars(with = "Option<String>")]
    pub fail_if: Option<FailIf>,
    /// Whether that condition holds: `holds` if it does for one benchmark, and `does_not_hold` only if this is known
    /// for all benchmarks of both builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<GateState>,
    /// Whether the exit status reports a failure if a benchmark is undecided.
    pub require_verdict: bool,
    /// What the harness reports for each benchmark. The first metric decides.
    pub metrics: Vec<MetricSource>,
    /// What the verdicts are about.
    pub compared: Compared,
    /// Whether both builds were linked again before each pair of a benchmark, with their functions in a random order.
    #[serde(default)]
    pub draws: bool,
    /// Number of benchmarks of the whole suite that both builds have and the filter selects. They share the error rate.
    pub suite: usize,
    /// The part of the suite that was measured: `2/5`, if it was divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// The benchmarks that were measured, in the order of the suite.
    pub benchmarks: Vec<Benchmark>,
    /// The benchmarks that were not measured.
    pub unmeasured: Vec<Unmeasured>,
    /// The load of the machine during the measuring.
    pub activity: Activity,
    /// Time that was measured, with the calibration.
    pub elapsed_seconds: Nanos,
    /// Why the measuring ended.
    pub ending: Ending,
}

/// What the error rate of a suite is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum ErrorRate {
    /// The probability that any verdict of the suite is wrong (family-wise error rate)
    #[default]
    Family,
    /// The expected share of wrong verdicts among the reported differences (false discovery rate)
    Discovery,
}

/// What the verdicts are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compared {
    /// The first metric of the harness.
    #[default]
    Harness,
    /// The CPU time of the process, for the same number of iterations.
    Cpu,
}

/// One of the two builds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Build {
    /// The name in reports: a revision, a program, or the environment.
    pub name: String,
    /// The commit that it was built from, followed by a note about uncommitted changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Variables of its environment: `NAME=VALUE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
}

/// A benchmark and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Benchmark {
    /// The name, after the label of its program if the suite has several.
    pub name: String,
    /// Samples that the harness measures in one run.
    pub samples_per_run: u64,
    /// Iterations of one sample, if the harness takes their number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u64>,
    /// Time for which a run measures.
    pub measured_seconds: Nanos,
    /// Whether it ran in processes of its own, because a process that it shared with others had no result of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unshared: bool,
    /// Why its measuring ended early, if a run failed. It has no verdict then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// The build whose run failed, if all runs of the other build succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_only_in: Option<Side>,
    /// The verdict on the new build.
    pub verdict: Verdict,
    /// Whether the condition of `--fail-if` holds for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<GateState>,
    /// Relative change from the old to the new build.
    pub change: Reading<f64>,
    /// Interval of the change. It excludes zero if the verdict is a difference.
    pub interval: Reading<Interval>,
    /// The change of the mean, if it decides the verdict or may contradict it, because the runs vary: the usual run does
    /// not tell what such a benchmark costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<MeanChange>,
    /// Number of pairs.
    pub pairs: usize,
    /// Factor by which the time must probably grow for a verdict, or with `fail_if` for the condition, if that is open
    /// and the factor is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_factor: Option<f64>,
    /// Medians of each metric, in the order of `metrics`.
    pub medians: Vec<Medians>,
    /// Medians of the CPU time per run: of the process with its start, or of the child of a process that several
    /// benchmarks share.
    pub cpu: Reading<Medians>,
    /// The evaluations of the data, in time order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<BenchLook>,
    /// The raw samples, if they were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<Samples>,
}

/// The change of the mean of a benchmark's runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeanChange {
    /// Whether it decides the verdict. `change` and `interval` of the benchmark are then those of the mean.
    pub decides: bool,
    /// Relative change from the old to the new build.
    pub change: Reading<f64>,
    /// Interval of the change.
    pub interval: Reading<Interval>,
}

/// The medians of a metric in both builds, in its unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Medians {
    /// In the old build.
    pub old: f64,
    /// In the new build.
    pub new: f64,
}

/// An evaluation of the pairs so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchLook {
    /// Number of pairs up to the look.
    pub pairs: usize,
    /// The share of the budget spent, from 0 to 1.
    pub fraction_ratio: f64,
    /// Whether the look may use the rest of the error rate. Not so after an interruption.
    pub last: bool,
}

/// The pairs of a benchmark, in time order. All lists have one element for each pair.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Samples {
    /// Whether the new build started first.
    pub new_first: Vec<bool>,
    /// The runs of the old build.
    pub old: Runs,
    /// The runs of the new build.
    pub new: Runs,
}

/// The runs of one build.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Runs {
    /// For each metric, what the harness reported.
    pub values: Vec<Vec<f64>>,
    /// Wall time of the process, or of the benchmark in a process that several share.
    pub wall_seconds: Vec<Nanos>,
    /// CPU time of the process and its descendants, or of the benchmark in a process that several share.
    pub cpu_seconds: Vec<Nanos>,
}

/// One of the two builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The build that the other one is compared with.
    Old,
    /// The other one.
    New,
}

impl Side {
    pub(crate) fn other(self) -> Self {
        match self {
            Side::Old => Side::New,
            Side::New => Side::Old,
        }
    }
}

/// A benchmark that was not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unmeasured {
    /// The name of the benchmark.
    pub name: String,
    /// The reason, as a clause.
    pub reason: String,
    /// Whether only one of the builds has it.
    pub is_of_one_build: bool,
    /// The build whose run failed, if a run of the other build succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_only_in: Option<Side>,
    /// If the budget was too small: the budget with which all benchmarks would probably have the least number of pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_budget_seconds: Option<Nanos>,
}

impl SuiteRecord {
    /// The names of the benchmarks that failed in this build, and not in the other one.
    pub(crate) fn failed_only_in(&self, side: Side) -> Vec<&str> {
        let measured = self.benchmarks.iter().map(|one| (&one.name, one.failed_only_in));
        let all = measured.chain(self.unmeasured.iter().map(|one| (&one.name, one.failed_only_in)));
        all.filter(|(_, only_in)| *only_in == Some(side)).map(|(name, _)| name.as_str()).collect()
    }

    /// The number of benchmarks that both builds have, that should have been measured, and that have no result. A run
    /// that was killed has recorded only some of the benchmarks.
    pub(crate) fn without_result(&self) -> usize {
        let failed = self.benchmarks.iter().filter(|one| one.failed.is_some()).count();
        let unmeasured = self.unmeasured.iter().filter(|one| !one.is_of_one_build).count();
        failed + unmeasured + self.selected().saturating_sub(self.benchmarks.len() + unmeasured)
    }

    /// The number of benchmarks in the parts of the suite that were measured, or in the whole suite.
    fn selected(&self) -> usize {
        // A part has every n-th benchmark, from its own number on.
        let of_part = |text: &str| {
            let (part, parts) = text.split_once('/')?;
            let (part, parts): (usize, usize) = (part.parse().ok()?, parts.parse().ok()?);
            self.suite.saturating_add(parts).checked_sub(part)?.checked_div(parts)
        };
        let add = |sum: usize, text: &str| Some(sum.saturating_add(of_part(text)?));
        let parts = self.shard.as_deref().and_then(|shard| shard.split(", ").try_fold(0, add));
        parts.unwrap_or(self.suite)
    }

    /// Whether something has no result. In an empty suite nothing was compared, but a part of a suite may be empty.
    pub(crate) fn is_missing(&self) -> bool {
        self.without_result() > 0 || self.suite == 0
    }

    /// Whether both builds are of one commit although their revisions were written differently, so that no change is
    /// tested.
    pub(crate) fn is_one_revision(&self) -> bool {
        self.old.commit.is_some() && self.old.commit == self.new.commit && self.old.name != self.new.name
    }

    /// Whether there are benchmarks, but none could be measured.
    pub(crate) fn has_no_result(&self) -> bool {
        self.benchmarks.iter().all(|one| one.failed.is_some()) && self.without_result() > 0
    }
}

impl Benchmark {
    /// The medians of a quantity.
    pub(crate) fn medians_of(&self, quantity: Quantity) -> Option<Medians> {
        match quantity {
            Quantity::Metric(metric) => self.medians.get(metric).copied(),
            Quantity::Cpu => self.cpu.as_ref().ok().copied(),
        }
    }

    /// The build that reports 0 in most runs, if the other one does not: the change of the usual run has no ratio then.
    /// If the mean decides, the change is that of the mean.
    pub(crate) fn zero_side(&self, primary: Quantity) -> Option<Side> {
        let Medians { old, new } = self.medians_of(primary)?;
        match (old == 0.0, new == 0.0) {
            _ if self.mean.as_ref().is_some_and(|mean| mean.decides) => None,
            (true, false) => Some(Side::Old),
            (false, true) => Some(Side::New),
            _ => None,
        }
    }
}

impl Unmeasured {
    /// A benchmark that only `build` has.
    pub(crate) fn of_one_build(name: String, build: &Build) -> Self {
        Unmeasured { is_of_one_build: true, ..Unmeasured::because(name, format!("only {} has it", build.name)) }
    }

    /// A benchmark that both builds have, and the reason why it was not measured.
    pub(crate) fn because(name: String, reason: String) -> Self {
        Unmeasured { name, reason, is_of_one_build: false, failed_only_in: None, needed_budget_seconds: None }
    }
}

/// The text of a condition.
mod condition {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use steady_model::FailIf;

    pub(super) fn serialize<S: Serializer>(condition: &Option<FailIf>, serializer: S) -> Result<S::Ok, S::Error> {
        match condition {
            Some(condition) => serializer.collect_str(condition),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<FailIf>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}

/// A quantity of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// A metric of the harness, by its index.
    Metric(usize),
    /// The CPU time of the process.
    Cpu,
}

impl Runs {
    /// Adds a run.
    pub(crate) fn push(&mut self, run: &steady_model::Run) {
        self.values.resize(run.values.len().max(self.values.len()), vec![]);
        self.values.iter_mut().zip(&run.values).for_each(|(values, value)| values.push(*value));
        self.wall_seconds.push(run.wall);
        self.cpu_seconds.push(run.cpu_time());
    }

    fn extend(&mut self, later: &Runs) {
        self.values.resize(later.values.len().max(self.values.len()), vec![]);
        self.values.iter_mut().zip(&later.values).for_each(|(values, more)| values.extend(more));
        self.wall_seconds.extend(&later.wall_seconds);
        self.cpu_seconds.extend(&later.cpu_seconds);
    }

    /// The cost of a run.
    fn cost(&self, run: usize, quantity: Quantity) -> Option<f64> {
        match quantity {
            Quantity::Cpu => self.cpu_seconds.get(run).map(|time| time.seconds()),
            Quantity::Metric(metric) => self.values.get(metric)?.get(run).copied(),
        }
    }

    /// Whether all lists are as long as `pairs`, and all values are valid.
    fn is_valid(&self, pairs: usize) -> bool {
        let is_cost = |value: &f64| value.is_finite() && *value >= 0.0;
        self.values.iter().all(|values| values.len() == pairs && values.iter().all(is_cost))
            && [self.wall_seconds.len(), self.cpu_seconds.len()] == [pairs; 2]
    }
}

impl Samples {
    /// The number of pairs.
    pub(crate) fn len(&self) -> usize {
        self.new_first.len()
    }

    /// Adds a pair.
    pub(crate) fn push(&mut self, new_first: bool, old: &steady_model::Run, new: &steady_model::Run) {
        self.new_first.push(new_first);
        self.old.push(old);
        self.new.push(new);
    }

    /// Adds later pairs.
    pub(crate) fn extend(&mut self, later: &Samples) {
        self.new_first.extend(&later.new_first);
        self.old.extend(&later.old);
        self.new.extend(&later.new);
    }

    /// Whether the lists belong together.
    pub(crate) fn is_valid(&self) -> bool {
        self.old.is_valid(self.len()) && self.new.is_valid(self.len())
    }

    /// The pairs by a quantity.
    pub(crate) fn pairs(&self, quantity: Quantity) -> Vec<Pair> {
        let pair = |(at, new_first): (usize, &bool)| {
            Some(Pair {
                layout: Layout::Turns,
                slot: Slot { order: if *new_first { -1 } else { 1 }, cpu: 0 },
                old: self.old.cost(at, quantity)?,
                new: self.new.cost(at, quantity)?,
            })
        };
        self.new_first.iter().enumerate().filter_map(pair).collect()
    }
}

impl SuiteRecord {
    /// The quantity that decides.
    pub(crate) fn primary(&self) -> Quantity {
        match self.compared {
            Compared::Harness => Quantity::Metric(0),
            Compared::Cpu => Quantity::Cpu,
        }
    }

    /// The metric that decides.
    pub(crate) fn metric(&self) -> Option<Metric> {
        match self.compared {
            Compared::Harness => self.metrics.first().and_then(|source| source.metric(0)),
            Compared::Cpu => Some(Metric::Cpu),
        }
    }
}
