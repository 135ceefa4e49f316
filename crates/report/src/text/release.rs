//! What a release changed, as text.

use steady_model::ReleaseReport;

use super::Style;
use super::{Page, Paint};
use crate::words::{release, width};

/// More routes than this are not listed.
const ROUTES: usize = 20;
/// More hosts than this are not listed.
const HOSTS: usize = 8;
/// What a line of the table takes besides its route, and the columns that a route takes.
const BESIDE: usize = 62;
const ROUTE: std::ops::RangeInclusive<usize> = 12..=40;

/// The answer alone: its sentences, and what to beware of.
pub fn release_answer_text(report: &ReleaseReport, style: Style) -> String {
    answered(report, style).finish()
}

fn answered(report: &ReleaseReport, style: Style) -> Page {
    let mut page = Page::new(style);
    for (index, sentence) in release::sentences(report).into_iter().enumerate() {
        page.paragraph(if index == 0 { 0 } else { 2 }, 2, &sentence);
    }
    for text in release::warnings(report) {
        page.paragraph(0, 2, &[(Paint::Open, "Warning:".to_owned()), (Paint::Plain, format!(" {text}"))]);
    }
    page
}

/// The report as text: the answer, what it rests on, then tables of changes and of wall time.
pub fn release_text(report: &ReleaseReport, style: Style) -> String {
    let mut page = answered(report, style);
    page.heading("CPU time per request");
    let room = page.width().saturating_sub(BESIDE).clamp(*ROUTE.start(), *ROUTE.end());
    release::changes(report, ROUTES, room).write(&mut page);
    if let Some(more) = release::left_out(report, ROUTES) {
        page.paragraph(4, 4, &[(Paint::Plain, more)]);
    }
    page.paragraph(2, 2, &[(Paint::Plain, release::notes(report))]);
    let hosts = release::hosts(report, HOSTS, room);
    if !hosts.branches.is_empty() {
        page.heading("Hosts, furthest from the others first");
        hosts.write(&mut page);
        if let Some(more) = release::hosts_left_out(report, HOSTS) {
            page.paragraph(4, 4, &[(Paint::Plain, more)]);
        }
    }
    page.heading(release::wall_heading(report));
    match release::wall(report) {
        Ok(tree) => tree.write(&mut page),
        Err(absent) => page.paragraph(2, 2, &[(Paint::Plain, format!("absent: {}", release::named_reason(&absent.0)))]),
    }
    page.heading("What was looked at");
    let facts = release::facts(report);
    let labels = facts.iter().map(|(label, _)| width(label)).max().unwrap_or(0);
    facts.iter().for_each(|(label, text)| page.item(label, labels, &[(Paint::Plain, text.clone())]));
    page.finish()
}
