//! What the report says first.

use steady_model::Report;

use super::page::{Page, Paint};
use super::sentence;
use crate::units::duration;
use crate::words::count;

/// One sentence per command after the first, or the mean of a command alone.
pub(super) fn write(report: &Report, page: &mut Page) {
    if report.record.plan.commands.len() == 1 {
        page.paragraph(0, 2, &sentence::alone(report));
        return;
    }
    for judgement in report.primary() {
        page.paragraph(0, 2, &sentence::spans(report, judgement));
    }
    if report.primary().next().is_none() {
        let (runs, time) = (count(report.runs(), "run", "runs"), duration(report.record.elapsed));
        let rest = format!(" nothing could be judged; {runs}, {time}.");
        page.paragraph(0, 2, &[(Paint::Open, "Undecided:".to_owned()), (Paint::Plain, rest)]);
    }
}
