//! Where the time of a command went, or the difference of two, as text.

use steady_model::{ExplainPairReport, ExplainReport};

use super::Style;
use super::{Page, Paint};
use crate::words::explain;

/// More processes than this are not listed.
const PROCESSES: usize = 40;

/// The report as text: where the time went in a sentence, then as a tree; a few lines, for they stand among the
/// command's own.
pub fn explain_text(report: &ExplainReport, style: Style) -> String {
    let mut page = Page::new(style);
    let (claim, rest) = explain::sentences(report);
    page.paragraph(0, 2, &[(Paint::Plain, "steady: ".to_owned()), (Paint::Heading, claim), (Paint::Plain, rest)]);
    page.blank();
    explain::tree(report).write(&mut page);
    page.blank();
    items(&mut page, &explain::facts(report));
    notes(&mut page, &report.notes);
    if report.record.plan.by_process {
        processes(report, &mut page);
    }
    page.finish()
}

/// The difference as text.
pub fn explain_pair_text(report: &ExplainPairReport, style: Style) -> String {
    let mut page = Page::new(style);
    for (index, sentence) in explain::pair_sentences(report).into_iter().enumerate() {
        page.paragraph(if index == 0 { 0 } else { 2 }, 2, &sentence);
    }
    page.blank();
    items(&mut page, &explain::pair_intro(report));
    page.blank();
    explain::pair_tree(report).write(&mut page);
    page.blank();
    items(&mut page, &explain::pair_facts(report));
    notes(&mut page, &report.notes);
    page.finish()
}

fn items(page: &mut Page, facts: &[(&'static str, String)]) {
    let labels = facts.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    for (label, text) in facts {
        page.item(label, labels, &[(Paint::Plain, text.clone())]);
    }
}

fn notes(page: &mut Page, notes: &[String]) {
    for note in notes {
        page.paragraph(0, 2, &[(Paint::Open, "Note:".to_owned()), (Paint::Plain, format!(" {note}"))]);
    }
}

/// The processes that used most.
fn processes(report: &ExplainReport, page: &mut Page) {
    page.heading("By process");
    match (explain::processes(report, PROCESSES), &report.record.processes) {
        (Some((grid, footnotes, more)), _) => {
            grid.write(page);
            footnotes.write(page);
            if !more.is_empty() {
                page.paragraph(2, 2, &[(Paint::Plain, more)]);
            }
        }
        (None, Err(absent)) => page.paragraph(2, 2, &[(Paint::Plain, format!("absent: {absent}"))]),
        (None, Ok(_)) => page.paragraph(2, 2, &[(Paint::Plain, "none was seen".to_owned())]),
    }
}
