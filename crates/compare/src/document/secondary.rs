//! The section about the secondary metrics.

use steady_model::{Absent, DecidedBy, Judgement, Metric, Plan, Report, Undecided, Verdict};
use steady_render::document::{Block, Emphasis, Fact, Section, Span};

use super::plain;
use crate::words::{ELAPSED, Effect, noun, signed_if_open};

/// A line for each secondary metric and command, and what elapsed time is. `None` if there are no such metrics.
pub(super) fn section(report: &Report) -> Option<Section> {
    let has_many = report.record.plan.commands.len() > 2;
    let fact = |judgement: &Judgement| {
        let what = noun(judgement.metric);
        let label = if has_many { format!("{what} of {}", judgement.command + 1) } else { what.into_owned() };
        Fact { label, text: line(&report.record.plan, judgement), note: None }
    };
    let of = |metric: Metric| report.judgements.iter().filter(move |one| !one.primary && one.metric == metric);
    let facts: Vec<Fact> = report.record.metrics().flat_map(of).map(fact).collect();
    if facts.is_empty() {
        return None;
    }
    let heading = format!("Secondary metrics (the error guarantee covers {} only)", noun(report.record.primary));
    let mut blocks = vec![Block::Facts(facts)];
    if of(Metric::Elapsed).next().is_some() {
        blocks.push(Block::Paragraph(plain(format!("{ELAPSED}."))));
    }
    Some(Section::new(&heading, blocks))
}

/// The verdict by one metric in a few words.
pub(crate) fn line(plan: &Plan, judgement: &Judgement) -> Vec<Span> {
    let (change, interval) = match (&judgement.change, &judgement.interval) {
        (Ok(change), Ok(interval)) => (*change, *interval),
        (Err(absent), _) | (_, Err(absent)) => return vec![(Emphasis::Plain, without_interval(judgement, absent))],
    };
    let emphasis = emphasis(judgement.verdict);
    if matches!(judgement.verdict, Verdict::Slower | Verdict::Faster) {
        let effect = Effect::of(change, interval);
        let mean = if judgement.decided_by == DecidedBy::Mean { " on average" } else { "" };
        let judged = match (judgement.metric, judgement.verdict) {
            (Metric::Custom(_), Verdict::Slower) => ", which is worse",
            (Metric::Custom(_), _) => ", which is better",
            _ => "",
        };
        return vec![
            (emphasis, effect.relative_of(judgement.metric)),
            (Emphasis::Plain, format!("{mean} ({}){judged}", effect.range)),
        ];
    }
    let word = match judgement.undecided {
        Ok(Undecided::BelowGrain) if !judgement.metric.is_count() => "below the resolution of the clock",
        Ok(Undecided::UnequalFailures) => "no verdict, because failures are unequal",
        _ => word(judgement),
    };
    let (size, range) = signed_if_open(plan, judgement, change, interval);
    vec![(emphasis, word.to_owned()), (Emphasis::Plain, format!(": {size} ({range})"))]
}

/// Why there is no size. A metric with too few pairs was measured.
pub(super) fn without_interval(judgement: &Judgement, absent: &Absent) -> String {
    let what = if judgement.pairs > 0 { "no interval" } else { "not measured" };
    format!("{what}: {absent}")
}

/// The verdict in one word. JSON and CSV have the names of verdicts instead.
pub(super) fn word(judgement: &Judgement) -> &'static str {
    match judgement.verdict {
        Verdict::Same => "same",
        Verdict::Undecided => "undecided",
        Verdict::Slower | Verdict::Faster if judgement.is_more() => "more",
        Verdict::Slower | Verdict::Faster => "less",
    }
}

/// The emphasis of a verdict.
pub(super) fn emphasis(verdict: Verdict) -> Emphasis {
    match verdict {
        Verdict::Faster => Emphasis::Less,
        Verdict::Slower => Emphasis::More,
        Verdict::Same => Emphasis::Same,
        Verdict::Undecided => Emphasis::Open,
    }
}
