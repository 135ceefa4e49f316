//! Which locks the threads of a command waited for, as text.

use steady_model::LocksReport;

use super::{Footnotes, Style};
use super::{Page, Paint};
use crate::words::{locks, width};

/// More locks than this are not listed, and of so many the call sites are told.
const LOCKS: usize = 10;
const SITES: (usize, usize) = (3, 5);
/// More threads than this are not listed.
const THREADS: usize = 10;

/// More processes than this are not listed.
const PROCESSES: usize = 10;

/// What stands left of a place in the code.
const BESIDE: usize = 18;
/// Longer names are not read.
const LONGEST: usize = 60;

/// The report as text: the answer in sentences, then the locks, where they were taken, the threads, and who still waited.
pub fn locks_text(report: &LocksReport, style: Style) -> String {
    let mut page = Page::new(style);
    let room = (page.width() - BESIDE).min(LONGEST);
    for (index, mut sentence) in locks::sentences(report, room).into_iter().enumerate() {
        if index == 0 {
            sentence.insert(0, (Paint::Plain, "steady: ".to_owned()));
        }
        page.paragraph(if index == 0 { 0 } else { 2 }, 2, &sentence);
    }
    if !report.locks.is_empty() {
        page.heading(locks::heading(report));
        let (grid, notes) = locks::locks(report, LOCKS, room);
        grid.write(&mut page);
        Footnotes::write(&notes, &mut page);
        more(locks::more_locks(report, LOCKS), &mut page);
    }
    let ends = locks::ends(report, room);
    if !ends.is_empty() {
        page.heading("Still waiting when their process ended");
        items(&ends, &mut page);
    }
    places(report, room, &mut page);
    if let Some(grid) = locks::threads(report, THREADS) {
        page.heading("Threads");
        grid.write(&mut page);
        more(locks::more_threads(report, THREADS), &mut page);
    }
    if let Some(grid) = locks::processes(report, PROCESSES) {
        page.heading("Processes");
        grid.write(&mut page);
        more(locks::more_processes(report, PROCESSES), &mut page);
    }
    page.blank();
    items(&locks::facts(report, room), &mut page);
    page.finish()
}

/// From where the first locks were taken.
fn places(report: &LocksReport, room: usize, page: &mut Page) {
    let all = locks::sites(report, SITES, room);
    if all.is_empty() {
        return;
    }
    page.heading("Where they were taken, and how long was waited there");
    for one in all {
        page.paragraph(2, 4, &[(Paint::Plain, one.lock)]);
        let labels = one.sites.iter().map(|(waited, _)| width(waited)).max().unwrap_or(0);
        for (waited, place) in &one.sites {
            let pad = "\u{a0}".repeat(labels - width(waited));
            page.paragraph(4, 6 + labels, &[(Paint::Plain, format!("{pad}{waited}\u{a0} {place}"))]);
        }
        if !one.more.is_empty() {
            page.paragraph(4, 6, &[(Paint::Plain, one.more)]);
        }
    }
}

fn items<L: AsRef<str>>(lines: &[(L, String)], page: &mut Page) {
    let labels = lines.iter().map(|(label, _)| width(label.as_ref())).max().unwrap_or(0);
    lines.iter().for_each(|(label, text)| page.item(label.as_ref(), labels, &[(Paint::Plain, text.clone())]));
}

fn more(told: Option<String>, page: &mut Page) {
    if let Some(told) = told {
        page.paragraph(2, 2, &[(Paint::Plain, told)]);
    }
}
