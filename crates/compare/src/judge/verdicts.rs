//! Computes the verdicts. The primary metric replays the looks of the comparison; the others have one look at the end.

use steady_model::{
    Absent, DecidedBy, Interval, Judgement, LayoutEffect, Metric, Record, Sight, Size, Undecided, Verdict, if_finite,
};
use steady_stats::{Effect, Estimate, MIN_PAIRS, Reason, Rules, Sequence, Weighed, single_look};

use super::evidence::{Evidence, Failures, least_pairs, least_pairs_of};
use super::usual_reason;
use crate::words::subject;

/// The verdicts on each command after the first by all metrics, the primary metric first; and the primary estimates at
/// each look.
pub(super) fn judgements(record: &Record) -> (Vec<Judgement>, Vec<Sight>) {
    let (primary, course) = replayed(record, Sequence::new);
    let secondary: Vec<(Metric, Vec<Weighed>)> = record
        .metrics()
        .filter(|metric| *metric != record.primary)
        .map(|metric| (metric, at_the_end(record, metric)))
        .collect();
    let mut judgements = Vec::new();
    for command in 1..record.plan.commands.len() {
        let is_unequal = Failures::of(record, command).unequal(1);
        let all =
            std::iter::once((record.primary, &primary)).chain(secondary.iter().map(|(metric, all)| (*metric, all)));
        judgements.extend(all.map(|(metric, estimates)| {
            let judgement = judgement(record, metric, command, &estimates[command - 1]);
            if is_unequal { invalid(judgement) } else { judgement }
        }));
    }
    (judgements, course)
}

/// Replays the looks of the comparison with a sequence that is made of its rules and the number of contenders.
pub(super) fn replayed(record: &Record, sequence: fn(Rules, usize) -> Sequence) -> (Vec<Weighed>, Vec<Sight>) {
    let mut evidence = Evidence::new(&record.plan, record.primary);
    let mut sequence = sequence(evidence.rules(), record.plan.commands.len() - 1);
    let (mut estimates, mut course) = (Vec::new(), Vec::new());
    let mut blocks = record.blocks.iter();
    let mut seen = 0;
    for look in &record.looks {
        let fresh = look.blocks.saturating_sub(seen);
        evidence.extend(blocks.by_ref().take(fresh));
        seen += fresh;
        estimates = sequence.look(evidence.contenders(), look.fraction, look.last).contenders;
        course.extend(estimates.iter().zip(1..).map(|(estimate, command)| sight(record, seen, command, estimate)));
    }
    let weighed = match estimates.is_empty() {
        true => at_the_end(record, record.primary),
        false => weighed(estimates, &evidence),
    };
    (weighed, course)
}

/// Compares each estimate of the usual run with the ratio of means over the same pairs.
fn weighed(estimates: Vec<Estimate>, evidence: &Evidence) -> Vec<Weighed> {
    let resolution = evidence.rules().resolution;
    let each = estimates.into_iter().zip(evidence.means());
    each.map(|(estimate, mean)| estimate.weighed_against(mean, resolution)).collect()
}

fn sight(record: &Record, blocks: usize, command: usize, estimate: &Estimate) -> Sight {
    let at = blocks.checked_sub(1).and_then(|last| record.blocks.get(last)).map(|block| block.ended);
    Sight {
        command,
        blocks,
        at: at.unwrap_or_default(),
        change: estimate.size.change,
        interval: interval(&estimate.size),
    }
}

/// One look at all pairs whose layout measures the metric.
fn at_the_end(record: &Record, metric: Metric) -> Vec<Weighed> {
    let mut evidence = Evidence::new(&record.plan, metric);
    evidence.extend(record.blocks.iter().filter(|block| serves(metric, block.layout)));
    let rules = Rules { limits: vec![], ..evidence.rules() };
    weighed(evidence.contenders().iter().map(|pairs| single_look(pairs, &rules)).collect(), &evidence)
}

/// Returns whether a layout measures a metric. Duets do not measure wall time, because a concurrent run changes it.
pub(super) fn serves(metric: Metric, layout: steady_model::Layout) -> bool {
    layout == steady_model::Layout::Turns || !metric.needs_turns()
}

/// Why there is no reason of an undecided verdict, and no effort for a verdict.
const DECIDED: &str = "there is a verdict";
const EFFORT_UNKNOWN: &str = "the effort for a verdict is not known";

pub(super) fn judgement(record: &Record, metric: Metric, command: usize, weighed: &Weighed) -> Judgement {
    let estimate = &weighed.estimate;
    let has_ratio = !is_zero_on_one_side(record, metric, command);
    let why = || absent(record, metric, command, has_ratio, estimate.pairs);
    let size = |effect: &Effect| Size {
        change: effect.change.filter(|_| has_ratio && estimate.pairs >= MIN_PAIRS).ok_or_else(why),
        interval: interval(effect).filter(|_| has_ratio).ok_or_else(why),
    };
    let verdict_ends = Effect { low: estimate.verdict_low, high: estimate.verdict_high, ..estimate.size };
    let (primary, total) = (metric == record.primary, size(&estimate.size));
    let is_open = estimate.verdict == Verdict::Undecided;
    // A secondary metric that no pair has was not measured, and more pairs may not help.
    let unmeasured = total.change.clone().err().filter(|_| estimate.pairs == 0 && !primary);
    let number = |value: Option<f64>, why: &str| match &unmeasured {
        Some(absent) => Err(absent.clone()),
        None => if_finite(value.unwrap_or(f64::NAN), why),
    };
    Judgement {
        metric,
        command,
        primary,
        verdict: directed(estimate.verdict, metric),
        within_resolution: estimate.within_resolution,
        decided_by: if weighed.mean_decides { DecidedBy::Mean } else { DecidedBy::UsualRun },
        usual: size(&weighed.usual),
        mean: size(&weighed.mean.effect),
        mean_open: !weighed.mean_decides && estimate.mean_is_open(&weighed.mean, record.plan.resolution),
        change: total.change,
        interval: total.interval,
        verdict_interval: size(&verdict_ends).interval,
        confidence: record.plan.confidence,
        pairs: estimate.pairs,
        layouts: estimate.layouts.iter().filter_map(layout_effect).collect(),
        effort_to_settle: number(estimate.time_to_settle, if is_open { EFFORT_UNKNOWN } else { DECIDED }),
        widening: number(estimate.widening, "there are too few pairs"),
        undecided: match unmeasured {
            Some(absent) => Err(absent),
            None if is_open => Ok(undecided(record, metric, estimate)),
            None => Err(Absent::because(DECIDED)),
        },
    }
}

/// The verdict on a cost as a verdict by `metric`. A larger value is *faster* if more is better.
fn directed(verdict: Verdict, metric: Metric) -> Verdict {
    match verdict {
        Verdict::Slower if metric.is_more_better() => Verdict::Faster,
        Verdict::Faster if metric.is_more_better() => Verdict::Slower,
        verdict => verdict,
    }
}

fn interval(effect: &Effect) -> Option<Interval> {
    Some(Interval { low: effect.low?, high: effect.high? })
}

fn layout_effect(seen: &steady_stats::LayoutEffect) -> Option<LayoutEffect> {
    let effect = &seen.effect;
    Some(LayoutEffect { layout: seen.layout, change: effect.change?, interval: interval(effect)?, pairs: effect.pairs })
}

fn undecided(record: &Record, metric: Metric, estimate: &Estimate) -> Undecided {
    match estimate.reason {
        None if estimate.pairs < needed(record, metric) => Undecided::TooFewPairs,
        Some(Reason::TooFewPairs) => Undecided::TooFewPairs,
        Some(Reason::BelowGrain) => Undecided::BelowGrain,
        None => Undecided::TooWide,
    }
}

/// The minimum number of pairs for an interval. Each secondary metric has the whole error rate.
fn needed(record: &Record, metric: Metric) -> usize {
    if metric == record.primary { least_pairs(&record.plan) } else { least_pairs_of(&record.plan, 1) }
}

/// Returns whether one of the two commands mostly reports zeros, and the other does not. Its values have no ratio then.
fn is_zero_on_one_side(record: &Record, metric: Metric, command: usize) -> bool {
    let is_mostly_zero = |command: usize| {
        let blocks = record.blocks.iter().filter(|block| serves(metric, block.layout));
        let costs = blocks.filter_map(|block| block.run_of(command)?.1.cost(metric).ok());
        let (zeros, all) = costs.fold((0, 0), |(zeros, all), cost| (zeros + usize::from(cost == 0.0), all + 1));
        2 * zeros > all
    };
    metric.is_count() && is_mostly_zero(0) != is_mostly_zero(command)
}

/// Why there is no effect: a cost was not measured, it has no ratio, or there are too few pairs.
fn absent(record: &Record, metric: Metric, command: usize, has_ratio: bool, pairs: usize) -> Absent {
    if !has_ratio {
        return Absent::because("one of the commands reports 0 in most runs, so there is no ratio");
    }
    let needed = needed(record, metric);
    if pairs >= needed {
        return Absent::because(format!("{pairs} pairs are too few for an interval with two ends"));
    }
    if record.blocks.is_empty() {
        return record.no_runs();
    }
    let of_one = |command, why: Absent| Absent(format!("for {}, {why}", subject(&record.plan, command)));
    let unmeasured = match [0, command].map(|command| usual_reason(record, metric, command)) {
        [Some(why), None] => Some(of_one(0, why)),
        [None, Some(why)] => Some(of_one(command, why)),
        [why, _] => why,
    };
    unmeasured.unwrap_or_else(|| {
        let noun = if pairs == 1 { "pair" } else { "pairs" };
        let has_duets = record.blocks.iter().any(|block| block.layout == steady_model::Layout::Duet);
        let (which, helps) = match has_duets && !serves(metric, steady_model::Layout::Duet) {
            _ if record.has_failures() => (" of successful runs", ""),
            true => (" in turns", "; --layout turns gives more of them"),
            false => ("", ""),
        };
        Absent::because(format!("{pairs} {noun}{which}, and an interval needs {needed}{helps}"))
    })
}

/// Replaces a verdict by *undecided*, because unequal failures make the sample unfair.
pub(super) fn invalid(judgement: Judgement) -> Judgement {
    Judgement {
        verdict: Verdict::Undecided,
        within_resolution: false,
        undecided: Ok(Undecided::UnequalFailures),
        effort_to_settle: Err(Absent::because(EFFORT_UNKNOWN)),
        ..judgement
    }
}
