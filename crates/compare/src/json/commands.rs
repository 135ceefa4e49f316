//! The commands in JSON, with the parts of the time of their runs.

use schemars::JsonSchema;
use serde::Serialize;
use steady_model::{
    Absent, Breakdown, Bytes, Command, CounterMeans, CounterScope, Layout, Metric, Reading, Report, Spread, StartUp,
};
use steady_render::json::{ends, finite};

/// A command of the plan, with its breakdown, which is not available if no run succeeded. Times and counts are per run.
#[derive(Serialize, JsonSchema)]
pub(super) struct ComparedCommand<'a> {
    #[serde(flatten)]
    command: &'a Command,
    /// The number of runs in the layout of the breakdown that succeeded.
    runs: usize,
    /// The number of runs in the layout of the breakdown that failed or were killed. The number in all layouts is
    /// `failed` of the warning of the kind `failures`.
    failures: usize,
    /// The layout of the runs in the breakdown.
    layout: Reading<Layout>,
    #[serde(flatten)]
    cpu: CpuTime,
    #[serde(flatten)]
    user: UserTime,
    #[serde(flatten)]
    system: SystemTime,
    #[serde(flatten)]
    run_delay: RunDelay,
    #[serde(flatten)]
    elapsed: ElapsedTime,
    #[serde(flatten)]
    blocked: BlockedTime,
    #[serde(flatten)]
    wall: WallTime,
    /// Peak resident memory of the largest process in the tree.
    peak_memory_bytes: Reading<Bytes>,
    /// Page faults served without reading from storage.
    minor_faults: Reading<f64>,
    /// Page faults that read from storage.
    major_faults: Reading<f64>,
    /// Voluntary context switches: the command gave up its CPU to wait for something.
    voluntary_switches: Reading<f64>,
    /// Involuntary context switches: the command was preempted.
    involuntary_switches: Reading<f64>,
    /// Retired instructions, as a mean.
    instructions: Reading<f64>,
    /// CPU cycles, as a mean.
    cycles: Reading<f64>,
    /// Mispredicted branches, as a mean.
    branch_misses: Reading<f64>,
    /// Accesses that missed the last level of cache, as a mean.
    cache_misses: Reading<f64>,
    /// The energy, if it was asked for, and the values of the custom metrics. Missing if there are none, or if no run
    /// succeeded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<MetricValues>,
    #[serde(flatten)]
    startup: Option<StartupCost>,
}

/// The values of a metric, in its unit.
#[derive(Serialize, JsonSchema)]
struct MetricValues {
    /// The name of the metric.
    metric: Metric,
    /// Its unit; empty if it has none.
    unit: String,
    /// Whether a command with a larger value is better.
    more_is_better: bool,
    #[serde(flatten)]
    spread: Values,
}

/// Defines the type with the fields of a [`Spread`]: the mean, its interval, the standard deviation, the median
/// and the range.
macro_rules! spread {
    ($type:ident, $what:literal: $mean:ident $low:ident $high:ident $deviation:ident $median:ident $min:ident $max:ident) => {
        #[derive(Serialize, JsonSchema)]
        struct $type {
            #[doc = concat!($what, " of a run: the arithmetic mean.")]
            $mean: Reading<f64>,
            /// The lower end of the 95 % interval of the mean.
            $low: Reading<f64>,
            /// The upper end of the 95 % interval of the mean.
            $high: Reading<f64>,
            /// The standard deviation over the runs.
            $deviation: Reading<f64>,
            /// The median over the runs.
            $median: Reading<f64>,
            /// The smallest value of a run.
            $min: Reading<f64>,
            /// The largest value of a run.
            $max: Reading<f64>,
        }

        impl From<Reading<Spread>> for $type {
            fn from(spread: Reading<Spread>) -> Self {
                let part = |pick: fn(&Spread) -> f64| spread.as_ref().map(pick).map_err(Absent::clone);
                let [$low, $high] = ends(&spread.as_ref().map(|spread| spread.interval).map_err(Absent::clone));
                $type {
                    $mean: part(|spread| spread.mean),
                    $low,
                    $high,
                    $deviation: part(|spread| spread.deviation)
                        .and_then(|value| finite(value, "there is a single run")),
                    $median: part(|spread| spread.median),
                    $min: part(|spread| spread.min),
                    $max: part(|spread| spread.max),
                }
            }
        }
    };
}

spread!(CpuTime, "User and system time": cpu_seconds cpu_low_seconds cpu_high_seconds
    cpu_deviation_seconds cpu_median_seconds cpu_min_seconds cpu_max_seconds);
spread!(UserTime, "User time": user_seconds user_low_seconds user_high_seconds
    user_deviation_seconds user_median_seconds user_min_seconds user_max_seconds);
spread!(SystemTime, "System time": system_seconds system_low_seconds system_high_seconds
    system_deviation_seconds system_median_seconds system_min_seconds system_max_seconds);
spread!(RunDelay, "Time spent waiting for a CPU": run_delay_seconds run_delay_low_seconds run_delay_high_seconds
    run_delay_deviation_seconds run_delay_median_seconds run_delay_min_seconds run_delay_max_seconds);
spread!(BlockedTime, "Time spent waiting for anything else": blocked_seconds blocked_low_seconds blocked_high_seconds
    blocked_deviation_seconds blocked_median_seconds blocked_min_seconds blocked_max_seconds);
spread!(ElapsedTime, "Wall time minus the time spent waiting for a CPU": elapsed_seconds elapsed_low_seconds
    elapsed_high_seconds elapsed_deviation_seconds elapsed_median_seconds elapsed_min_seconds elapsed_max_seconds);
spread!(WallTime, "Wall time": wall_seconds wall_low_seconds wall_high_seconds
    wall_deviation_seconds wall_median_seconds wall_min_seconds wall_max_seconds);

impl MetricValues {
    fn of(metric: Metric, spread: Reading<Spread>) -> Self {
        let unit = metric.unit().to_owned();
        MetricValues { metric, unit, more_is_better: metric.is_more_better(), spread: spread.into() }
    }
}

spread!(Values, "The value": mean low high deviation median min max);

/// The cost of a command's start-up.
#[derive(Serialize, JsonSchema)]
struct StartupCost {
    /// The cost of a usual run minus the cost of a run from a snapshot.
    startup_seconds: Reading<f64>,
    /// The lower end of its 95 % interval.
    startup_low_seconds: Reading<f64>,
    /// The upper end of its 95 % interval.
    startup_high_seconds: Reading<f64>,
    /// The metric of this cost.
    startup_metric: Metric,
    /// The number of draws of snapshots in which the command ran both ways.
    startup_draws: usize,
}

impl From<&StartUp> for StartupCost {
    fn from(startup: &StartUp) -> Self {
        let [startup_low_seconds, startup_high_seconds] = ends(&startup.interval);
        StartupCost {
            startup_seconds: startup.mean.clone(),
            startup_low_seconds,
            startup_high_seconds,
            startup_metric: startup.metric,
            startup_draws: startup.draws,
        }
    }
}

/// Every command of the plan, with its breakdown.
pub(super) fn all(report: &Report) -> Vec<ComparedCommand<'_>> {
    let commands = report.record.plan.commands.iter().enumerate();
    commands.map(|(index, command)| compared(report, index, command)).collect()
}

fn compared<'a>(report: &'a Report, index: usize, command: &'a Command) -> ComparedCommand<'a> {
    let own = report.breakdowns.iter().find(|breakdown| breakdown.command == index);
    let breakdown = report.breakdowns.iter().find(|breakdown| breakdown.command == index && breakdown.runs > 0);
    let known = || breakdown.ok_or_else(|| report.record.no_runs());
    let number = |pick: fn(&Breakdown) -> f64| known().map(pick);
    let counted = |pick: fn(&CounterMeans) -> Option<f64>| counted(&report.record.counters, known(), pick);
    ComparedCommand {
        command,
        runs: breakdown.map_or(0, |breakdown| breakdown.runs),
        failures: own.map_or(0, |breakdown| breakdown.failures),
        layout: known().map(|breakdown| breakdown.layout),
        cpu: known().map(|breakdown| breakdown.cpu).into(),
        user: known().and_then(|breakdown| breakdown.user.clone()).into(),
        system: known().and_then(|breakdown| breakdown.system.clone()).into(),
        run_delay: known().and_then(|breakdown| breakdown.run_delay.clone()).into(),
        elapsed: known().and_then(|breakdown| breakdown.elapsed.clone()).into(),
        blocked: known().and_then(|breakdown| breakdown.blocked.clone()).into(),
        wall: known().map(|breakdown| breakdown.wall).into(),
        peak_memory_bytes: known().and_then(|breakdown| breakdown.peak_memory.clone()),
        minor_faults: number(|breakdown| breakdown.minor_faults),
        major_faults: number(|breakdown| breakdown.major_faults),
        voluntary_switches: number(|breakdown| breakdown.voluntary_switches),
        involuntary_switches: number(|breakdown| breakdown.involuntary_switches),
        instructions: counted(|means| means.instructions),
        cycles: counted(|means| means.cycles),
        branch_misses: counted(|means| means.branch_misses),
        cache_misses: counted(|means| means.cache_misses),
        values: breakdown.map_or_else(Vec::new, |breakdown| {
            breakdown.values.iter().map(|(metric, spread)| MetricValues::of(*metric, spread.clone())).collect()
        }),
        startup: report.startups.iter().find(|startup| startup.command == index).map(StartupCost::from),
    }
}

/// The mean of one counter over the runs.
fn counted(
    scope: &Reading<CounterScope>,
    breakdown: Reading<&Breakdown>,
    pick: fn(&CounterMeans) -> Option<f64>,
) -> Reading<f64> {
    scope.clone()?;
    let means = breakdown?.counters.as_ref();
    means.and_then(pick).ok_or_else(|| Absent::because("the CPU does not count them, or not in every run"))
}
