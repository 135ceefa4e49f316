//! The pairs: their number and time by layout, and what else the time was spent on.

use steady_model::{DecidedBy, Judgement, Layout, Nanos, Report, Undecided, Verdict};
use steady_render::document::Fact;
use steady_render::units::{duration, percent};

use super::secondary::without_interval;
use crate::words::{blocks, count, signed_if_open, sized};

/// The pairs as labelled facts.
pub(super) fn facts(report: &Report) -> Vec<Fact> {
    super::facts(lines(report))
}

/// One line per layout: its label, and the number of pairs, their share of the time and the effect in this layout. Then
/// the rest of the time, the change of the mean cost, and the layouts that were not used.
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
        let failed = match (report.failed_blocks_of(layout), record.plan.commands.len()) {
            (0, _) => String::new(),
            (failed, 1) => format!(", {failed} of them failed"),
            (failed, _) => format!(", {failed} of them with a failed run"),
        };
        let mut line = format!("{}{within}{failed}, {}", blocks(&record.plan, number), duration(time));
        if total > 0.0 && number < record.blocks.len() {
            line.push_str(&format!(" ({} of the measured time)", percent(time.seconds() / total)));
        }
        if let Some(effect) = effect(report, layout) {
            line.push_str(&format!(": {effect}"));
        }
        lines.push((label(layout), line));
    }
    lines.extend(shared(report).into_iter().map(|line| ("pairs", line)));
    let rest = record.elapsed.seconds() - total;
    if rest > 0.0 {
        let rest = duration(Nanos::from_seconds(rest));
        lines.push(("other time", format!("{rest}: warm-up, preparation, and starting and reaping processes")));
    }
    lines.extend(means(report));
    if record.is_warm() {
        lines.push(("draws", "each has a new snapshot of every program, and counts as one pair".to_owned()));
    }
    if !record.plan.relink.is_empty() {
        lines.push(("draws", "for each, --relink linked every program again; it counts as one pair".to_owned()));
    }
    lines.extend(record.left_out.iter().map(|left| {
        let what = if left.layout == Layout::Duet { "no duets" } else { "no turns" };
        (what, left.reason.clone())
    }));
    lines
}

/// If there are more than two commands and both layouts, the pairs of each command with the first by layout.
fn shared(report: &Report) -> Vec<String> {
    let has_both = Layout::ALL.iter().all(|layout| report.blocks_of(*layout) > 0);
    let judged = report.primary().filter(|_| has_both && report.record.plan.commands.len() > 2);
    let line = |judgement: &Judgement| {
        let of = |layout| judgement.layouts.iter().find(|effect| effect.layout == layout).map(|effect| effect.pairs);
        let (command, pairs) = (judgement.command + 1, judgement.pairs);
        // A layout with few pairs has no effect of its own.
        let duets = of(Layout::Duet).or_else(|| Some(pairs - of(Layout::Turns)?))?;
        Some(format!("command {command} has {pairs} with command 1: {} in turns and {duets} in duets", pairs - duets))
    };
    judged.filter_map(line).collect()
}

/// The mean cost of each command relative to the first, next to the verdict on the usual run.
fn means(report: &Report) -> Vec<(&'static str, String)> {
    let many = report.primary().count() > 1;
    let line = |judgement: &Judgement| {
        let about = match judgement.decided_by {
            DecidedBy::Mean => "it decides the verdict",
            DecidedBy::UsualRun => "the verdict is about the usual run",
        };
        let text = match (&judgement.mean.change, &judgement.mean.interval) {
            (Ok(change), Ok(interval)) => {
                let (change, range) = match judgement.decided_by {
                    DecidedBy::Mean if judgement.verdict == Verdict::Undecided => {
                        signed_if_open(&report.record.plan, judgement, *change, *interval)
                    }
                    _ => sized(*change, *interval),
                };
                format!("{change} ({range}) over all runs; {about}")
            }
            (Err(absent), _) | (_, Err(absent)) => without_interval(judgement, absent),
        };
        if many { format!("{}: {text}", judgement.command + 1) } else { text }
    };
    let judged = report.primary().filter(|judgement| judgement.undecided != Ok(Undecided::TooFewPairs));
    judged.map(|judgement| ("mean cost", line(judgement))).collect()
}

/// The label of a layout.
pub(super) fn label(layout: Layout) -> &'static str {
    match layout {
        Layout::Turns => "in turns",
        Layout::Duet => "in duets",
    }
}

/// The effect in one layout, or that there is no interval for it. `None` with more than two commands, and if the effect
/// is that of all pairs or not known in either layout.
fn effect(report: &Report, layout: Layout) -> Option<String> {
    let judged: Vec<&Judgement> = report.primary().collect();
    let [only] = judged.as_slice() else {
        return None;
    };
    if only.layouts.is_empty() || report.blocks_of(layout) == report.record.blocks.len() {
        return None;
    }
    let Some(found) = only.layouts.iter().find(|effect| effect.layout == layout) else {
        return Some("too few pairs for an interval".to_owned());
    };
    let (change, range) = sized(found.change, found.interval);
    Some(format!("{change} ({range})"))
}
