//! The metrics beside the primary one.

use steady_model::{DecidedBy, Judgement, Metric, Report, Undecided, Verdict};

use super::{Page, Paint, Span};
use crate::words::{Effect, noun, signed_beside};

/// A line per secondary metric and command.
pub(super) fn write(report: &Report, page: &mut Page) {
    let secondary = |metric: Metric| {
        report.judgements.iter().filter(move |judgement| !judgement.primary && judgement.metric == metric)
    };
    let labels = Metric::ALL.into_iter().filter(|metric| secondary(*metric).next().is_some());
    let Some(widest) = labels.map(|metric| noun(metric).len()).max() else {
        return;
    };
    page.heading(&heading(report));
    let many = report.record.plan.commands.len() > 2;
    for metric in Metric::ALL {
        for (index, judgement) in secondary(metric).enumerate() {
            let mut spans = line(judgement);
            if many {
                spans.insert(0, (Paint::Plain, format!("{}: ", judgement.command + 1)));
            }
            page.item(if index == 0 { noun(metric) } else { "" }, widest, &spans);
        }
    }
}

/// What the secondary metrics are, and are not.
pub(crate) fn heading(report: &Report) -> String {
    format!("Secondary (the error guarantee covers {} only)", noun(report.record.primary))
}

/// What one metric says, in a few words.
pub(crate) fn line(judgement: &Judgement) -> Vec<Span> {
    let (change, interval) = match (&judgement.change, &judgement.interval) {
        (Ok(change), Ok(interval)) => (*change, *interval),
        (Err(absent), _) | (_, Err(absent)) => return vec![(Paint::Plain, format!("absent: {absent}"))],
    };
    let more = judgement.verdict == Verdict::Slower;
    let (word, paint) = match judgement.verdict {
        Verdict::Same => ("same", Paint::Same),
        Verdict::Undecided => ("undecided", Paint::Open),
        Verdict::Slower => ("more", Paint::More),
        Verdict::Faster => ("less", Paint::Less),
    };
    if matches!(judgement.verdict, Verdict::Slower | Verdict::Faster) && !interval.holds(0.0) && (change > 0.0) == more
    {
        let effect = Effect::beside_first(change, interval);
        let mean = if judgement.decided_by == DecidedBy::Mean { " on average" } else { "" };
        return vec![(paint, effect.relative()), (Paint::Plain, format!("{mean} ({})", effect.range))];
    }
    let word = match judgement.undecided {
        Some(Undecided::BelowGrain) => "below the clock's grain",
        Some(Undecided::UnequalFailures) => "not judged, for unequal failures",
        _ => word,
    };
    let size = signed_beside(judgement.verdict, change, interval);
    vec![(paint, word.to_owned()), (Paint::Plain, format!(": {size}"))]
}
