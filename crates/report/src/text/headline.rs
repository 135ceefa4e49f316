//! What the report says first.

use steady_model::Report;

use super::sentence;
use super::{Page, Paint, Span};
use crate::units::duration;
use crate::words::{count, startups};

/// Every sentence, as a paragraph.
pub(super) fn write(report: &Report, page: &mut Page) {
    sentences(report).iter().for_each(|sentence| page.paragraph(0, 2, sentence));
}

/// One sentence per command after the first, or the mean of a command alone; and what start-up costs where it is apart.
pub(crate) fn sentences(report: &Report) -> Vec<Vec<Span>> {
    if report.record.plan.commands.len() == 1 {
        return std::iter::once(sentence::alone(report)).chain(start_up(report)).collect();
    }
    if report.primary().next().is_none() {
        let (runs, time) = (count(report.runs(), "run", "runs"), duration(report.record.elapsed));
        let rest = format!(" nothing could be judged; {runs}, {time}.");
        return vec![vec![(Paint::Open, "Undecided:".to_owned()), (Paint::Plain, rest)]];
    }
    let verdicts = report.primary().map(|judgement| sentence::spans(report, judgement));
    verdicts.chain(start_up(report)).collect()
}

/// What start-up costs, where runs were started from snapshots and so are without it.
fn start_up(report: &Report) -> Option<Vec<Span>> {
    startups(report).map(|text| vec![(Paint::Heading, "Start-up".to_owned()), (Paint::Plain, text)])
}
