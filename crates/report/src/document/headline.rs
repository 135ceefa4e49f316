//! What the report says first.

use steady_model::Report;
use steady_render::document::{Emphasis, Sentence};
use steady_render::units::duration;

use super::sentence;
use crate::words::{count, startups};

/// One sentence per command after the first, or the mean of a command alone; and what start-up costs where it is apart.
pub fn sentences(report: &Report) -> Vec<Sentence> {
    if report.record.plan.commands.len() == 1 {
        return std::iter::once(sentence::alone(report)).chain(start_up(report)).collect();
    }
    if report.primary().next().is_none() {
        let (runs, time) = (count(report.runs(), "run", "runs"), duration(report.record.elapsed));
        let rest = format!(" nothing could be judged; {runs}, {time}.");
        return vec![vec![(Emphasis::Open, "Undecided:".to_owned()), (Emphasis::Plain, rest)]];
    }
    let verdicts = report.primary().map(|judgement| sentence::spans(report, judgement));
    verdicts.chain(start_up(report)).collect()
}

/// What start-up costs, where runs were started from snapshots and so are without it.
fn start_up(report: &Report) -> Option<Sentence> {
    startups(report).map(|text| vec![(Emphasis::Heading, "Start-up".to_owned()), (Emphasis::Plain, text)])
}
