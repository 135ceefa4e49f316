//! A limited command as text: a few lines, for they stand among the command's own.

use steady_model::{LimitOutcome, LimitReport};

use super::Style;
use super::page::{Page, Paint};
use crate::words::{limit_lines, limit_sentence};

/// The report as text: what became of the command, then what it used.
pub fn limit_text(report: &LimitReport, style: Style) -> String {
    let mut page = Page::new(style);
    let (claim, rest) = limit_sentence(report);
    let paint = if report.outcome == LimitOutcome::Ok { Paint::Same } else { Paint::Open };
    page.paragraph(0, 2, &[(Paint::Plain, "steady: ".to_owned()), (paint, claim), (Paint::Plain, rest)]);
    let lines = limit_lines(report);
    let labels = lines.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    lines.into_iter().for_each(|(label, text)| page.item(label, labels, &[(Paint::Plain, text)]));
    page.finish()
}
