//! The parts of the time of each command's runs.

use steady_model::split::{self, Processes};
use steady_model::{
    Absent, Breakdown, Bytes, CounterMeans, Counters, Interval, Layout, Metric, Nanos, Reading, Record, Run, Spread,
};
use steady_stats::descriptive::{self, quantile};
use steady_stats::pooled::{self, Pooled};

use super::evidence::succeeded;
use super::usual_reason;
use super::verdicts::serves;

/// The confidence of the intervals. They are descriptive; no verdict depends on them.
const CONFIDENCE: f64 = 0.95;

/// The breakdowns of all commands that have a successful run.
pub(super) fn breakdowns(record: &Record) -> Vec<Breakdown> {
    (0..record.plan.commands.len()).filter_map(|command| breakdown(record, command)).collect()
}

/// The breakdown of one command. It uses the runs in turns if there are any, because a concurrent run changes wall
/// time.
fn breakdown(record: &Record, command: usize) -> Option<Breakdown> {
    let layout = Layout::ALL.into_iter().find(|layout| record.blocks.iter().any(|block| block.layout == *layout))?;
    let in_layout = record.blocks.iter().filter(|block| block.layout == layout);
    let all = in_layout.filter_map(|block| Some(block.run_of(command)?.1));
    let (runs, failed): (Vec<&Run>, Vec<&Run>) = all.partition(|run| succeeded(&record.plan, run));
    let mean = |count: fn(&Run) -> u64| runs.iter().map(|run| count(run) as f64).sum::<f64>() / runs.len() as f64;
    let cpu = spread_of(&runs, |run| Ok(run.cpu_time())).ok()?;
    let split = split::check(cpu.mean, Processes::of(&runs), &record.tick, "the command");
    let mode = |time: fn(&Run) -> Nanos| match &split {
        Err(why) => Some(Err(why.clone())),
        Ok(()) => part(&runs, &cpu, &record.tick, time).map(Ok),
    };
    Some(Breakdown {
        command,
        runs: runs.len(),
        failures: failed.len(),
        layout,
        wall: spread_of(&runs, |run| Ok(run.wall)).ok()?,
        user: mode(|run| run.user)?,
        system: mode(|run| run.system)?,
        cpu,
        run_delay: spread_of(&runs, |run| run.run_delay.clone()),
        elapsed: spread_of(&runs, |run| Ok(run.wall - run.run_delay.clone()?)),
        blocked: spread_of(&runs, |run| Ok(run.wall - run.cpu_time() - run.run_delay.clone()?)),
        peak_memory: peak_memory(record, &runs),
        minor_faults: mean(|run| run.minor_faults),
        major_faults: mean(|run| run.major_faults),
        voluntary_switches: mean(|run| run.voluntary_switches),
        involuntary_switches: mean(|run| run.involuntary_switches),
        counters: counters(&runs),
        values: reported(record).map(|metric| (metric, values(record, command, metric))).collect(),
    })
}

/// The metrics whose values have a unit of their own.
fn reported(record: &Record) -> impl Iterator<Item = Metric> {
    record.metrics().filter(|metric| matches!(metric, Metric::Energy | Metric::Custom(_)))
}

/// The values of a metric. A run without a value was killed or failed, and is left out.
fn values(record: &Record, command: usize, metric: Metric) -> Reading<Spread> {
    let blocks = record.blocks.iter().filter(|block| serves(metric, block.layout));
    let runs = blocks.filter_map(|block| Some(block.run_of(command)?.1)).filter(|run| succeeded(&record.plan, run));
    let values = runs.map(|run| run.cost(metric)).collect::<Reading<Vec<f64>>>()?;
    spread(&values).ok_or_else(|| Absent::because("no run in turns succeeded"))
}

/// The means of the counters. `None` if a run has no counters; a single mean is `None` if a run lacks that counter.
fn counters(runs: &[&Run]) -> Option<CounterMeans> {
    let all: Vec<Counters> = runs.iter().map(|run| run.counters).collect::<Option<_>>()?;
    let mean = |count: fn(&Counters) -> Option<u64>| {
        let counts: Vec<f64> = all.iter().map(|one| Some(count(one)? as f64)).collect::<Option<_>>()?;
        Some(counts.iter().sum::<f64>() / counts.len() as f64)
    };
    Some(CounterMeans {
        instructions: mean(|one| one.instructions),
        cycles: mean(|one| one.cycles),
        branch_misses: mean(|one| one.branch_misses),
        cache_misses: mean(|one| one.cache_misses),
    })
}

fn spread_of(runs: &[&Run], time: impl Fn(&Run) -> Reading<Nanos>) -> Reading<Spread> {
    /// The largest share of runs whose time may be missing. The others then stand for all.
    const MISSING_RATIO: f64 = 0.01;
    let (mut seconds, mut absent) = (Vec::new(), None);
    for run in runs {
        match time(run) {
            Ok(time) => seconds.push(time.seconds()),
            Err(why) => absent = Some(why),
        }
    }
    if let Some(why) = absent.filter(|_| (runs.len() - seconds.len()) as f64 > MISSING_RATIO * runs.len() as f64) {
        return Err(why);
    }
    spread(&seconds).ok_or_else(|| Absent::because("no run succeeded"))
}

fn spread(seconds: &[f64]) -> Option<Spread> {
    let summary = descriptive::summary(seconds)?;
    let interval = interval(&pooled::mean(seconds, CONFIDENCE)?);
    let descriptive::Summary { mean, deviation, median, min, max } = summary;
    Some(Spread { mean, interval, deviation, median, min, max })
}

fn interval(pooled: &Pooled) -> Interval {
    match pooled.half_width {
        Some(half) => Interval { low: (pooled.value - half).max(0.0), high: pooled.value + half },
        None => Interval { low: 0.0, high: f64::INFINITY },
    }
}

/// User or system time. The kernel may split the exact CPU time by the ticks that it saw, which makes the split of a
/// single run noisy. The share is therefore pooled over all runs, and multiplied by the mean CPU time.
fn part(runs: &[&Run], cpu: &Spread, tick: &Reading<Nanos>, time: impl Fn(&Run) -> Nanos) -> Option<Spread> {
    let parts: Vec<f64> = runs.iter().map(|run| time(run).seconds()).collect();
    let wholes: Vec<f64> = runs.iter().map(|run| run.cpu_time().seconds()).collect();
    let single = descriptive::summary(&parts)?;
    let Some(share) = pooled::ratio(&parts, &wholes, CONFIDENCE) else {
        return spread(&parts);
    };
    // If all ticks fell on one side, the other is still up to this share: the runs had so many ticks.
    let ticks = tick.as_ref().map_or(f64::INFINITY, |tick| wholes.iter().sum::<f64>() / tick.seconds());
    let unseen = |is_one_sided: bool| if is_one_sided { (1.0 - CONFIDENCE).ln() / -ticks } else { 0.0 };
    // Both the share and the CPU time are uncertain.
    let mean = share.value * cpu.mean;
    let error = |unseen: f64| {
        let of = |half: f64| (half.max(unseen) * cpu.mean).hypot(share.value * cpu.interval.half_width());
        share.half_width.map_or(f64::INFINITY, of)
    };
    let (below, above) = (error(unseen(share.value >= 1.0)), error(unseen(share.value <= 0.0)));
    Some(Spread {
        mean,
        interval: Interval { low: (mean - below).max(0.0), high: mean + above },
        deviation: single.deviation,
        median: single.median,
        min: single.min,
        max: single.max,
    })
}

/// The median of peak memory over the runs.
fn peak_memory(record: &Record, runs: &[&Run]) -> Reading<Bytes> {
    let peaks = runs.iter().map(|run| Ok(run.peak_memory.clone()?.0 as f64)).collect::<Reading<Vec<f64>>>();
    let peaks = peaks.map_err(|absent| {
        runs.first().and_then(|run| usual_reason(record, Metric::Memory, run.command)).unwrap_or(absent)
    })?;
    quantile(&peaks, 0.5).map(|bytes| Bytes(bytes as u64)).ok_or_else(|| Absent::because("no run succeeded"))
}
