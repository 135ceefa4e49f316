//! What primitives cost, as text for a terminal.

mod bars;
mod clocks;
mod histogram;
mod sweep;
mod table;

pub(crate) use clocks::{HEADING as CLOCKS, clock_lines, clocks};
pub(crate) use sweep::{sweep_reasons, sweeps};
pub(crate) use table::{Line, Said, lines, small};

use steady_model::CostsReport;

use super::Style;
use super::absent::Footnotes;
use super::{Page, Paint};
use crate::words::costs::{FEW, early, facts, measured, notes, only_clocks, sentences};

/// What primitives cost: in words, then as a table with the distribution of each, or by length of the loop.
pub fn costs_text(report: &CostsReport, style: Style) -> String {
    let mut page = Page::new(style);
    for (index, sentence) in sentences(report).into_iter().enumerate() {
        page.paragraph(0, 2, &[(if index == 0 { Paint::Heading } else { Paint::Plain }, sentence)]);
    }
    if let Some(text) = early(report) {
        page.blank();
        page.paragraph(0, 2, &[(Paint::Open, text)]);
    }
    if only_clocks(report) {
        clocks::write(report, &mut page);
    }
    if report.record.plan.sweep {
        sweep::write(report, &mut page);
    } else {
        table::write(report, &mut page);
        // A few have room for more than a line each.
        let few: Vec<_> = measured(report).filter(|_| measured(report).count() <= FEW).collect();
        few.into_iter().for_each(|cost| histogram::write(cost, &mut page));
    }
    if only_clocks(report) {
        clocks::write_known(report, &mut page);
    }
    said(report, &mut page);
    page.finish()
}

/// The clocks: what each costs, how fine it is, and what it is good for. Where nothing else was measured, that is all there
/// is to say.
pub fn clocks_text(report: &CostsReport, style: Style) -> String {
    if only_clocks(report) {
        return costs_text(report, style);
    }
    let mut page = Page::new(style);
    clocks::write(report, &mut page);
    clocks::write_known(report, &mut page);
    said(report, &mut page);
    page.finish()
}

/// What stands beneath the figures.
fn said(report: &CostsReport, page: &mut Page) {
    page.blank();
    notes(report).into_iter().for_each(|note| page.paragraph(0, 2, &[(Paint::Plain, note)]));
    page.blank();
    let facts = facts(report);
    let labels = facts.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    facts.iter().for_each(|(label, text)| page.item(label, labels, &[(Paint::Plain, text.clone())]));
    page.blank();
    page.paragraph(0, 0, &[(Paint::Plain, format!("Seed {}", report.record.plan.seed))]);
}

/// The mark of a reason, which may hold what others wrote.
fn mark(absent: &steady_model::Absent, notes: &mut Footnotes) -> String {
    notes.mark(&format!("absent: {}", crate::words::one_line(&absent.0)))
}
