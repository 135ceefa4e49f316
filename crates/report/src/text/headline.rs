//! What the report says first.

use steady_model::Report;

use super::page::{Page, Paint, Span};
use super::sentence;
use crate::units::duration;
use crate::words::count;

/// Every sentence, as a paragraph.
pub(super) fn write(report: &Report, page: &mut Page) {
    sentences(report).iter().for_each(|sentence| page.paragraph(0, 2, sentence));
}

/// One sentence per command after the first, or the mean of a command alone.
pub(crate) fn sentences(report: &Report) -> Vec<Vec<Span>> {
    if report.record.plan.commands.len() == 1 {
        return vec![sentence::alone(report)];
    }
    if report.primary().next().is_none() {
        let (runs, time) = (count(report.runs(), "run", "runs"), duration(report.record.elapsed));
        let rest = format!(" nothing could be judged; {runs}, {time}.");
        return vec![vec![(Paint::Open, "Undecided:".to_owned()), (Paint::Plain, rest)]];
    }
    report.primary().map(|judgement| sentence::spans(report, judgement)).collect()
}
