//! The metrics beside the primary one.

use steady_model::{DecidedBy, Judgement, Metric, Report, Undecided, Verdict};
use steady_render::document::{Block, Emphasis, Fact, Section, Span};

use crate::words::{Effect, noun, signed_beside};

/// A line for each secondary metric and command; none without such metrics.
pub(super) fn section(report: &Report) -> Option<Section> {
    let has_many = report.record.plan.commands.len() > 2;
    let fact = |judgement: &Judgement| {
        let what = noun(judgement.metric);
        let label = if has_many { format!("{what} of {}", judgement.command + 1) } else { what.to_owned() };
        Fact { label, text: line(judgement), note: None }
    };
    let of = |metric: Metric| report.judgements.iter().filter(move |one| !one.primary && one.metric == metric);
    let facts: Vec<Fact> = Metric::ALL.into_iter().flat_map(of).map(fact).collect();
    let heading = format!("Secondary (the error guarantee covers {} only)", noun(report.record.primary));
    (!facts.is_empty()).then(|| Section::new(&heading, vec![Block::Facts(facts)]))
}

/// What one metric says, in a few words.
pub(crate) fn line(judgement: &Judgement) -> Vec<Span> {
    let (change, interval) = match (&judgement.change, &judgement.interval) {
        (Ok(change), Ok(interval)) => (*change, *interval),
        (Err(absent), _) | (_, Err(absent)) => return vec![(Emphasis::Plain, format!("absent: {absent}"))],
    };
    let more = judgement.verdict == Verdict::Slower;
    let (word, emphasis) = match judgement.verdict {
        Verdict::Same => ("same", Emphasis::Same),
        Verdict::Undecided => ("undecided", Emphasis::Open),
        Verdict::Slower => ("more", Emphasis::More),
        Verdict::Faster => ("less", Emphasis::Less),
    };
    if matches!(judgement.verdict, Verdict::Slower | Verdict::Faster) && !interval.holds(0.0) && (change > 0.0) == more
    {
        let effect = Effect::beside_first(change, interval);
        let mean = if judgement.decided_by == DecidedBy::Mean { " on average" } else { "" };
        return vec![(emphasis, effect.relative()), (Emphasis::Plain, format!("{mean} ({})", effect.range))];
    }
    let word = match judgement.undecided {
        Some(Undecided::BelowGrain) => "below the clock's grain",
        Some(Undecided::UnequalFailures) => "not judged, for unequal failures",
        _ => word,
    };
    let size = signed_beside(judgement.verdict, change, interval);
    vec![(emphasis, word.to_owned()), (Emphasis::Plain, format!(": {size}"))]
}
