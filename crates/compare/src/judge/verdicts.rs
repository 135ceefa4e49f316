//! Computes the verdicts. The primary metric replays the looks of the comparison; the others have one look at the end.

use steady_model::{
    Absent, DecidedBy, Interval, Judgement, LayoutEffect, Metric, Reading, Record, Sight, Size, Undecided, Verdict,
};
use steady_stats::{Effect, Estimate, MIN_PAIRS, Reason, Rules, Sequence, Weighed, single_look};

use super::evidence::{Evidence, Failures};

/// The verdicts on each command after the first by all metrics, the primary metric first; and the primary estimates at
/// each look.
pub(super) fn judgements(record: &Record, failures: &Failures) -> (Vec<Judgement>, Vec<Sight>) {
    let (primary, course) = primary(record);
    let secondary: Vec<(Metric, Vec<Weighed>)> = Metric::ALL
        .into_iter()
        .filter(|metric| *metric != record.primary && (*metric != Metric::Instructions || record.counters.is_ok()))
        .map(|metric| (metric, at_the_end(record, metric)))
        .collect();
    let mut judgements = Vec::new();
    for command in 1..record.plan.commands.len() {
        let all =
            std::iter::once((record.primary, &primary)).chain(secondary.iter().map(|(metric, all)| (*metric, all)));
        judgements.extend(all.map(|(metric, estimates)| {
            let judgement = judgement(record, metric, command, &estimates[command - 1]);
            if failures.unequal(command, 1) { invalid(judgement) } else { judgement }
        }));
    }
    (judgements, course)
}

/// Replays the looks of the comparison.
fn primary(record: &Record) -> (Vec<Weighed>, Vec<Sight>) {
    let mut evidence = Evidence::new(&record.plan, record.primary);
    let mut sequence = Sequence::new(evidence.rules(), record.plan.commands.len() - 1);
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

/// Returns whether a layout measures a metric. Duets do not measure wall and elapsed time, because a concurrent run
/// changes both.
pub(super) fn serves(metric: Metric, layout: steady_model::Layout) -> bool {
    layout == steady_model::Layout::Turns || matches!(metric, Metric::Cpu | Metric::Memory | Metric::Instructions)
}

pub(super) fn judgement(record: &Record, metric: Metric, command: usize, weighed: &Weighed) -> Judgement {
    let estimate = &weighed.estimate;
    let why = || absent(record, metric, estimate.pairs);
    let size = |effect: &Effect| Size {
        change: effect.change.filter(|_| estimate.pairs >= MIN_PAIRS).ok_or_else(why),
        interval: interval(effect).ok_or_else(why),
    };
    let verdict_ends = Effect { low: estimate.verdict_low, high: estimate.verdict_high, ..estimate.size };
    Judgement {
        metric,
        command,
        primary: metric == record.primary,
        verdict: estimate.verdict,
        within_resolution: estimate.within_resolution,
        decided_by: if weighed.mean_decides { DecidedBy::Mean } else { DecidedBy::UsualRun },
        usual: size(&weighed.usual),
        mean: size(&weighed.mean),
        mean_open: !weighed.mean_decides && estimate.mean_is_open(&weighed.mean, record.plan.resolution),
        change: size(&estimate.size).change,
        interval: size(&estimate.size).interval,
        verdict_interval: interval(&verdict_ends).ok_or_else(why),
        confidence: record.plan.confidence,
        pairs: estimate.pairs,
        layouts: estimate.layouts.iter().filter_map(layout_effect).collect(),
        undecided: (estimate.verdict == Verdict::Undecided).then(|| undecided(estimate)),
        effort_to_settle: estimate.time_to_settle,
        widening: estimate.widening,
    }
}

fn interval(effect: &Effect) -> Option<Interval> {
    Some(Interval { low: effect.low?, high: effect.high? })
}

fn layout_effect(seen: &steady_stats::LayoutEffect) -> Option<LayoutEffect> {
    let effect = &seen.effect;
    Some(LayoutEffect { layout: seen.layout, change: effect.change?, interval: interval(effect)?, pairs: effect.pairs })
}

fn undecided(estimate: &Estimate) -> Undecided {
    match estimate.reason {
        Some(Reason::TooFewPairs) => Undecided::TooFewPairs,
        Some(Reason::BelowGrain) => Undecided::BelowGrain,
        None => Undecided::TooWide,
    }
}

/// Why there is no effect: a cost was not measured, or there are too few pairs.
fn absent(record: &Record, metric: Metric, pairs: usize) -> Absent {
    if pairs >= MIN_PAIRS {
        return Absent::because("too few pairs for an interval with two ends");
    }
    let runs = record.blocks.iter().filter(|block| serves(metric, block.layout)).flat_map(|block| &block.runs);
    let reason: Option<Absent> = runs.map(|run| run.cost(metric)).find_map(Reading::err);
    reason.unwrap_or_else(|| {
        let noun = if pairs == 1 { "pair" } else { "pairs" };
        let layout = if serves(metric, steady_model::Layout::Duet) { "" } else { " in turns" };
        Absent::because(format!("{pairs} {noun}{layout}, and an interval needs {MIN_PAIRS}"))
    })
}

/// Replaces a verdict by *undecided*, because unequal failures make the sample unfair.
pub(super) fn invalid(judgement: Judgement) -> Judgement {
    Judgement {
        verdict: Verdict::Undecided,
        within_resolution: false,
        undecided: Some(Undecided::UnequalFailures),
        effort_to_settle: None,
        ..judgement
    }
}
