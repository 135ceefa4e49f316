//! Evaluates a record. This is a pure function: the same record always gives the same digits.
//!
//! Each benchmark has a sequential test of its own, and all of them share the error rate. If a benchmark's test may be
//! wrong with the probability `level`:
//!
//! - for the **family-wise error rate** (Holm 1979), the level is at first `alpha / n`. Each benchmark that differs leaves
//!   its share to the others: with r of them, the level of the others is `alpha / (n - r)`.
//! - for the **false discovery rate** (Benjamini and Hochberg 1995), the level is `alpha k / n` with the largest k for
//!   which k benchmarks differ. The intervals then have the level of the selected benchmarks (Benjamini and Yekutieli
//!   2005).
//!
//! Both use that a benchmark which is decided at some level is also decided at any larger one. This is not quite so for
//! a sequence of looks, because a larger level spends more of the error at the first of them; a benchmark that the
//! smaller level decides therefore keeps that result. The times of the looks do not depend on which build is called
//! old, so they may be repeated with another level.
//!
//! As in a comparison of commands, a part of each level belongs to the ratio of means, which decides if the usual run
//! does not describe the cost of a benchmark.

use steady_model::{Absent, GateState, Interval, Reading, Verdict};
use steady_render::letters::count;
use steady_stats::descriptive::quantile;
use steady_stats::{
    Effect, MIN_PAIRS, MeanRatio, Pair, Rules, Sequence, Weighed, least_pairs, mean_alpha, mean_ratio, time_to_exclude,
    usual_alpha,
};

use crate::record::{BenchLook, Benchmark, ErrorRate, MeanChange, Medians, Quantity, Samples, Side, SuiteRecord};

/// The exit status if no benchmark could be measured, or if one failed in the new build only.
pub(crate) const FAILED: u8 = 3;

/// The level at which a benchmark is tested while it is measured, if `suite` benchmarks share the error rate.
pub(crate) fn strictest(confidence: f64, suite: usize) -> f64 {
    (1.0 - confidence) / suite.max(1) as f64
}

/// The rules of the test of a benchmark's usual run. The rest of the level belongs to the ratio of means.
pub(crate) fn rules(record: &SuiteRecord, level: f64) -> Rules {
    Rules {
        alpha: usual_alpha(level),
        resolution: record.resolution_ratio,
        limits: limit(record).into_iter().collect(),
        // Harnesses round to four digits or more; the rounding is far below the resolution of most suites.
        grain: 0.0,
    }
}

/// The least number of pairs that can decide a benchmark at this level.
pub(crate) fn least(level: f64) -> usize {
    least_pairs(usual_alpha(level))
}

/// The ratio of means of a benchmark's pairs, with the part of the level that it may use.
pub(crate) fn mean(pairs: &[Pair], level: f64) -> MeanRatio {
    mean_ratio(&[pairs.iter().map(|pair| (pair.old, pair.new)).collect()], mean_alpha(level))
}

/// The limit of `--fail-if` as a relative change.
fn limit(record: &SuiteRecord) -> Option<f64> {
    Some(record.fail_if?.limit(record.metric()?))
}

/// Whether a benchmark whose metric grows is better.
pub(crate) fn more_is_better(record: &SuiteRecord) -> bool {
    record.metric().is_some_and(|metric| metric.is_more_better())
}

/// Computes the results of all benchmarks from their samples. Benchmarks without samples keep their results.
pub fn judged(mut record: SuiteRecord) -> SuiteRecord {
    let alpha = 1.0 - record.confidence;
    let suite = record.suite.max(record.benchmarks.len()).max(1) as f64;
    let at = |record: &SuiteRecord, level: f64| -> Vec<Option<Weighed>> {
        record.benchmarks.iter().map(|benchmark| weighed(record, benchmark, level)).collect()
    };
    let differing = |estimates: &[Option<Weighed>]| {
        estimates.iter().flatten().filter(|weighed| weighed.estimate.verdict.is_difference()).count()
    };
    // At this level, the benchmarks were measured until they were decided.
    let measured = at(&record, alpha / suite);
    let mut estimates = measured.clone();
    match record.error {
        // Limits are additional questions, so all benchmarks keep their shares.
        ErrorRate::Family if record.fail_if.is_none() => {
            let mut rejected = differing(&estimates);
            loop {
                estimates = at(&record, alpha / (suite - rejected as f64).max(1.0));
                let now = differing(&estimates);
                if now <= rejected {
                    break;
                }
                rejected = now;
            }
        }
        ErrorRate::Family => {}
        ErrorRate::Discovery => {
            let mut selected = record.benchmarks.len();
            while selected > 0 {
                estimates = at(&record, alpha * selected as f64 / suite);
                let now = differing(&estimates);
                if now >= selected {
                    break;
                }
                selected = now;
            }
            if selected == 0 {
                estimates.clone_from(&measured);
            }
        }
    }
    // See above: the smaller level is sufficient.
    for (estimate, measured) in estimates.iter_mut().zip(measured) {
        let is_open = |estimate: &Option<Weighed>| {
            estimate.as_ref().is_none_or(|weighed| weighed.estimate.verdict == Verdict::Undecided)
        };
        if is_open(estimate) && !is_open(&measured) {
            *estimate = measured;
        }
    }
    let more = more_is_better(&record);
    let (primary, metrics) = (record.primary(), record.metrics.len());
    let (least, resolution) = (least(alpha / suite), record.resolution_ratio);
    for (benchmark, estimate) in record.benchmarks.iter_mut().zip(estimates) {
        let Some(samples) = &benchmark.samples else { continue };
        benchmark.pairs = samples.len();
        benchmark.medians = (0..metrics).filter_map(|metric| medians(samples, Quantity::Metric(metric))).collect();
        benchmark.cpu = medians(samples, Quantity::Cpu).ok_or_else(|| Absent::because("there are no pairs"));
        benchmark.mean = estimate.as_ref().and_then(|weighed| mean_change(weighed, resolution));
        conclude(benchmark, estimate, more, least);
        if let Some(side) = benchmark.zero_side(primary).filter(|_| benchmark.failed.is_none()) {
            let which = if side == Side::Old { "old" } else { "new" };
            let why = Absent(format!("the {which} build reports 0 in most runs, so there is no ratio"));
            (benchmark.change, benchmark.interval) = (Err(why.clone()), Err(why));
        }
    }
    for at in 0..record.benchmarks.len() {
        record.benchmarks[at].condition = condition(&record, &record.benchmarks[at]);
        if let Some(limit) = limit(&record) {
            record.benchmarks[at].time_factor = time_to_decide(&record.benchmarks[at], limit);
        }
    }
    record.condition = record.fail_if.map(|_| joint_condition(&record));
    record
}

/// The estimate of a benchmark at a level; `None` without samples, or if a run failed.
fn weighed(record: &SuiteRecord, benchmark: &Benchmark, level: f64) -> Option<Weighed> {
    let samples = benchmark.samples.as_ref().filter(|_| benchmark.failed.is_none())?;
    let pairs = samples.pairs(record.primary());
    let mut sequence = Sequence::new(rules(record, level), 1);
    let only = [BenchLook { pairs: pairs.len(), fraction_ratio: 1.0, last: true }];
    let looks = if benchmark.looks.is_empty() { &only[..] } else { &benchmark.looks };
    let mut found = None;
    for look in looks {
        let so_far = pairs[..look.pairs.min(pairs.len())].to_vec();
        found = sequence.look(&[so_far], look.fraction_ratio, look.last).contenders.into_iter().next();
    }
    Some(found?.weighed_against(mean(&pairs, level), record.resolution_ratio))
}

/// The change of the mean, if it decides or may contradict the verdict.
fn mean_change(weighed: &Weighed, resolution: f64) -> Option<MeanChange> {
    let decides = weighed.mean_decides;
    let is_reported = decides || weighed.estimate.mean_is_open(&weighed.mean, resolution);
    let Effect { change, low, high, .. } = weighed.mean.effect;
    let why = || Absent::because("there are too few pairs");
    let interval = low.zip(high).map(|(low, high)| Interval { low, high });
    is_reported.then(|| MeanChange { decides, change: change.ok_or_else(why), interval: interval.ok_or_else(why) })
}

/// Sets the verdict and the interval of a benchmark. `least` is the number of pairs that its test needs.
fn conclude(benchmark: &mut Benchmark, estimate: Option<Weighed>, more_is_better: bool, least: usize) {
    let Some(Weighed { estimate, .. }) = estimate else {
        let why = benchmark.failed.clone().unwrap_or_else(|| "it was not measured".to_owned());
        benchmark.verdict = Verdict::Undecided;
        benchmark.change = Err(Absent::because(why.clone()));
        benchmark.interval = Err(Absent::because(why));
        benchmark.time_factor = None;
        return;
    };
    benchmark.verdict = match (estimate.verdict, more_is_better) {
        (Verdict::Slower, true) => Verdict::Faster,
        (Verdict::Faster, true) => Verdict::Slower,
        (verdict, _) => verdict,
    };
    let pairs = benchmark.pairs;
    let few = || {
        let needed = if pairs < least { format!("; at least {least} are needed") } else { String::new() };
        Absent(format!("{}{needed}", count(pairs, "pair is too few", "pairs are too few")))
    };
    benchmark.change = estimate.size.change.filter(|_| pairs >= MIN_PAIRS).ok_or_else(few);
    benchmark.interval = match (estimate.verdict_low, estimate.verdict_high) {
        (Some(low), Some(high)) => Ok(Interval { low, high }),
        _ => Err(few()),
    };
    benchmark.time_factor = estimate.time_to_settle;
}

fn medians(samples: &Samples, quantity: Quantity) -> Option<Medians> {
    let pairs = samples.pairs(quantity);
    let median = |cost: fn(&Pair) -> f64| quantile(&pairs.iter().map(cost).collect::<Vec<_>>(), 0.5);
    Some(Medians { old: median(|pair| pair.old)?, new: median(|pair| pair.new)? })
}

/// The state of the condition of `--fail-if` for a benchmark with a result. It is open if no change is tested, or if the
/// mean may lie on the other side of the limit than the usual run.
fn condition(record: &SuiteRecord, benchmark: &Benchmark) -> Option<GateState> {
    let fail_if = record.fail_if.filter(|_| benchmark.failed.is_none())?;
    if record.is_one_revision() {
        return Some(GateState::Open);
    }
    let metric = record.metric()?;
    let of = |interval: &Reading<Interval>| fail_if.evaluate(metric, benchmark.verdict, interval);
    let is_open = |mean: &MeanChange| of(&mean.interval) != GateState::DoesNotHold;
    let zero_side = benchmark.zero_side(record.primary()).filter(|_| benchmark.verdict.is_difference());
    // A value that was 0 exceeds every limit, and one that becomes 0 falls by 100 %.
    let without_ratio = zero_side.map(|side| {
        let change = if side == Side::Old { f64::INFINITY } else { -1.0 };
        Ok(Interval { low: change, high: change })
    });
    Some(match of(without_ratio.as_ref().unwrap_or(&benchmark.interval)) {
        GateState::DoesNotHold if benchmark.mean.as_ref().is_some_and(is_open) => GateState::Open,
        state => state,
    })
}

/// The factor by which the time must probably grow until the interval excludes the limit of an open condition.
fn time_to_decide(benchmark: &Benchmark, limit: f64) -> Option<f64> {
    let is_open = benchmark.condition == Some(GateState::Open);
    let (Ok(change), Ok(interval)) = (&benchmark.change, &benchmark.interval) else { return None };
    let of_mean = benchmark.mean.as_ref().and_then(|mean| mean.change.as_ref().ok().zip(mean.interval.as_ref().ok()));
    // If the usual run excludes the limit, the mean leaves the condition open.
    let (change, interval) = of_mean.filter(|_| !interval.holds(limit)).unwrap_or((change, interval));
    time_to_exclude(limit, *change, interval).filter(|_| is_open)
}

/// The state of the condition of `--fail-if` for all benchmarks of both builds.
fn joint_condition(record: &SuiteRecord) -> GateState {
    let any = |state: GateState| record.benchmarks.iter().any(|one| one.condition == Some(state));
    if any(GateState::Holds) {
        GateState::Holds
    } else if any(GateState::Open) || record.is_missing() {
        GateState::Open
    } else {
        GateState::DoesNotHold
    }
}

/// The exit status of a record, the first that applies: 3 if nothing could be measured, 1 if the condition holds for a
/// benchmark, and 3 if one failed in the new build only. With `--require-verdict` 4 if it is not known whether the
/// condition holds for one, or without a condition if one is undecided; a benchmark of both builds without a result is
/// both.
pub(crate) fn status(record: &SuiteRecord) -> u8 {
    let undecided = || record.benchmarks.iter().any(|benchmark| benchmark.verdict == Verdict::Undecided);
    let is_open = || undecided() || record.is_missing() || record.is_one_revision();
    match record.condition {
        _ if record.has_no_result() => FAILED,
        Some(GateState::Holds) => 1,
        _ if !record.failed_only_in(Side::New).is_empty() => FAILED,
        Some(GateState::Open) if record.require_verdict => 4,
        None if record.require_verdict && is_open() => 4,
        _ => 0,
    }
}
