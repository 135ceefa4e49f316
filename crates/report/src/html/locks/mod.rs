//! The page of the locks of a command.

mod charts;

use maud::{Markup, html};
use steady_model::LocksReport;

use super::facts::{cpus, fact, host, reading};
use super::load::table;
use super::{page, spans};
use crate::text::Footnotes;
use crate::text::grid::Grid;
use crate::words::{locks, one_line};

/// More of each than this is not listed.
const LOCKS: usize = 200;
const SITES: (usize, usize) = (20, 10);
const THREADS: usize = 200;
/// Texts have as much room as they want.
const ROOM: usize = usize::MAX;

/// The report as a page: the answer in sentences, the waiting as bars, then the tables.
pub fn locks_html(report: &LocksReport) -> String {
    let sentences = locks::sentences(report, ROOM);
    let title: String = sentences.first().into_iter().flatten().map(|(_, text)| text.as_str()).collect();
    let header = html! {
        h1 { "Steadyhand: which locks the threads of a command waited for" }
        @for (at, sentence) in sentences.iter().enumerate() {
            @if at == 0 { p.verdict { (spans(sentence)) } } @else { p { (spans(sentence)) } }
        }
    };
    let main = html! {
        section {
            h2 { "The command" }
            p { code { (one_line(&report.command.name)) } }
            dl { @for (label, text) in locks::facts(report, ROOM) { (fact(label, &text)) } }
        }
        (of_locks(report))
        (ends(report))
        (places(report))
        @if let Some(grid) = locks::threads(report, THREADS) {
            section {
                h2 { "Threads" }
                (charts::lives(report))
                (listed(grid, "Table of threads", locks::more_threads(report, THREADS)))
            }
        }
        @if let Some(grid) = locks::processes(report, THREADS) {
            section {
                h2 { "Processes" }
                (listed(grid, "Table of processes", locks::more_processes(report, THREADS)))
            }
        }
        section {
            h2 { "Where and when" }
            dl {
                (fact("begun", &crate::json::started(report.started)))
                (host(&report.host, &cpus(&report.host)))
                (reading("git revision", &report.revision, |revision| one_line(revision)))
            }
        }
    };
    page(&title, &header, &main)
}

/// The locks: a bar each of the first, and the table.
fn of_locks(report: &LocksReport) -> Markup {
    if report.locks.is_empty() {
        return html! {};
    }
    html! {
        section {
            h2 { (locks::heading(report)) }
            (charts::waits(report))
            (table(locks::locks(report, LOCKS, ROOM), "Table of locks"))
            @if let Some(more) = locks::more_locks(report, LOCKS) { p.note { (more) } }
        }
    }
}

fn listed(grid: Grid, label: &str, more: Option<String>) -> Markup {
    html! {
        (table((grid, Footnotes::default()), label))
        @if let Some(more) = more { p.note { (more) } }
    }
}

/// Who still waited.
fn ends(report: &LocksReport) -> Markup {
    let ends = locks::ends(report, ROOM);
    html! {
        @if !ends.is_empty() {
            section {
                h2 { "Still waiting when their process ended" }
                dl { @for (lock, who) in &ends { (fact(lock, who)) } }
            }
        }
    }
}

/// From where the first locks were taken.
fn places(report: &LocksReport) -> Markup {
    let all = locks::sites(report, SITES, ROOM);
    html! {
        @if !all.is_empty() {
            section {
                h2 { "Where they were taken, and how long was waited there" }
                @for one in &all {
                    h3 { (one.lock) }
                    dl { @for (waited, place) in &one.sites { (fact(waited, place)) } }
                    @if !one.more.is_empty() { p.note { (one.more) } }
                }
            }
        }
    }
}
