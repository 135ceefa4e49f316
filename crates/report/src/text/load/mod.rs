//! A load experiment as text for a terminal.

mod chart;
mod cpus;
mod figures;
pub(crate) mod rates;
mod told;

use steady_model::LoadReport;

pub(crate) use cpus::list;
pub(crate) use figures::{figures, meanwhile, rulers};
pub use told::load_summary;
pub(crate) use told::{MEANWHILE, RULERS, each_process, early, facts, sentences};

use super::Style;
use super::absent::Footnotes;
use super::grid::Grid;
use super::{Page, Paint};

/// A load experiment as text: the answer in plain words first, then the table, the chart and what they rest on.
pub fn load_text(report: &LoadReport, style: Style) -> String {
    let mut page = Page::new(style);
    said(report, &mut page);
    for text in early(report) {
        page.blank();
        page.paragraph(0, 2, &[(Paint::Open, text)]);
    }
    if !report.points.is_empty() {
        table(&each_process(report), figures(report), &mut page);
        chart::write(report, &mut page);
        table(MEANWHILE, meanwhile(report), &mut page);
        if let Some(grid) = rulers(report) {
            table(RULERS, (grid, Footnotes::default()), &mut page);
        }
    }
    page.blank();
    let lines = facts(report);
    let labels = lines.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    lines.iter().for_each(|(label, text)| page.item(label, labels, &[(Paint::Plain, text.clone())]));
    page.blank();
    page.paragraph(0, 0, &[(Paint::Plain, format!("Seed {}", report.record.plan.seed))]);
    page.finish()
}

/// The answer, and what else is to be said.
pub(super) fn said(report: &LoadReport, page: &mut Page) {
    for (index, sentence) in sentences(report).into_iter().enumerate() {
        if index == 1 {
            page.blank();
        }
        page.paragraph(0, 2, &[(if index == 0 { Paint::Heading } else { Paint::Plain }, sentence)]);
    }
}

/// A table below its heading, the reasons of what is absent below it.
fn table(heading: &str, (grid, notes): (Grid, Footnotes), page: &mut Page) {
    page.heading(heading);
    grid.write(page);
    notes.write(page);
}
