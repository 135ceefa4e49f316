//! How the pairs were laid out in time.

use steady_model::{Judgement, Layout, Report, Undecided};
use steady_render::document::Fact;
use steady_render::units::{duration, percent};

use crate::words::{blocks, count, signed};

/// What there is to say of the pairs.
pub(super) fn facts(report: &Report) -> Vec<Fact> {
    super::facts(lines(report))
}

/// A line per layout, its label apart: how many pairs, their share of the time, the effect that it saw; then those left
/// out.
fn lines(report: &Report) -> Vec<(&'static str, String)> {
    let record = &report.record;
    let mut lines = Vec::new();
    let total: f64 = Layout::ALL.iter().map(|layout| report.time_in(*layout).seconds()).sum();
    for layout in Layout::ALL {
        let number = report.blocks_of(layout);
        if number == 0 {
            continue;
        }
        let time = report.time_in(layout);
        let within = match record.draws_of(layout) {
            0 => String::new(),
            draws => format!(" in {}", count(draws, "draw", "draws")),
        };
        let mut line = format!("{}{within}, {}", blocks(&record.plan, number), duration(time));
        if total > 0.0 && number < record.blocks.len() {
            line.push_str(&format!(" ({} of the time)", percent(time.seconds() / total)));
        }
        if let Some(effect) = effect(report, layout) {
            line.push_str(&format!(": {effect}"));
        }
        lines.push((label(layout), line));
    }
    lines.extend(means(report));
    if record.is_warm() {
        lines.push(("draws", "each gave every program a new snapshot, and counts as one pair".to_owned()));
    }
    lines.extend(record.left_out.iter().map(|left| {
        let what = if left.layout == Layout::Duet { "no duets" } else { "no turns" };
        (what, left.reason.clone())
    }));
    lines
}

/// The ratio of means of each command over that of the first, which the verdict on the usual run stands next to.
fn means(report: &Report) -> Vec<(&'static str, String)> {
    let many = report.primary().count() > 1;
    let line = |judgement: &Judgement| {
        let text = match (&judgement.mean.change, &judgement.mean.interval) {
            (Ok(change), Ok(interval)) => {
                let (change, range) = signed(*change, *interval);
                format!("{change} ({range}) by the mean costs")
            }
            (Err(absent), _) | (_, Err(absent)) => format!("not measured: {absent}"),
        };
        if many { format!("{}: {text}", judgement.command + 1) } else { text }
    };
    let judged = report.primary().filter(|judgement| judgement.undecided != Some(Undecided::TooFewPairs));
    judged.map(|judgement| ("mean", line(judgement))).collect()
}

/// What a layout is called here.
pub(super) fn label(layout: Layout) -> &'static str {
    match layout {
        Layout::Turns => "in turns",
        Layout::Duet => "in duets",
    }
}

/// What a layout says about the one command that is compared, where the other layout says something too.
fn effect(report: &Report, layout: Layout) -> Option<String> {
    let judged: Vec<&Judgement> = report.primary().collect();
    let [only] = judged.as_slice() else {
        return None;
    };
    let found = only.layouts.iter().find(|effect| effect.layout == layout).filter(|_| only.layouts.len() > 1)?;
    let (change, range) = signed(found.change, found.interval);
    Some(format!("{change} ({range})"))
}
