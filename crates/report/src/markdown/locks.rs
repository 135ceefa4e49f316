//! Which locks the threads of a command waited for, as Markdown.

use steady_model::LocksReport;

use super::load::table;
use super::{close, open, spoken};
use crate::text::Footnotes;
use crate::text::grid::Grid;
use crate::words::{locks, one_line};
use steady_render::markdown::{code, plain};

/// More of each than this is not listed.
const LOCKS: usize = 50;
const SITES: (usize, usize) = (10, 5);
const THREADS: usize = 50;
/// Texts have as much room as they want.
const ROOM: usize = usize::MAX;

/// The report as GitHub's Markdown: the answer, the locks and where they were taken; the rest is folded away.
pub fn locks_markdown(report: &LocksReport) -> String {
    let mut out = String::new();
    locks::sentences(report, ROOM).iter().for_each(|sentence| out.push_str(&format!("{}\n\n", spoken(sentence))));
    out.push_str(&format!("- command: {}\n\n", code(&one_line(&report.command.name))));
    if !report.locks.is_empty() {
        out.push_str(&format!("### {}\n\n", locks::heading(report)));
        table(locks::locks(report, LOCKS, ROOM), &mut out);
        more(locks::more_locks(report, LOCKS), &mut out);
        out.push('\n');
    }
    let ends = locks::ends(report, ROOM);
    if !ends.is_empty() {
        out.push_str("### Still waiting when their process ended\n\n");
        ends.iter().for_each(|(lock, who)| out.push_str(&format!("- {lock}: {}\n", plain(who))));
        out.push('\n');
    }
    places(report, &mut out);
    let folded = [
        ("Threads", locks::threads(report, THREADS), locks::more_threads(report, THREADS)),
        ("Processes", locks::processes(report, THREADS), locks::more_processes(report, THREADS)),
    ];
    folded.into_iter().for_each(|(heading, grid, rest)| self::folded(heading, grid, rest, &mut out));
    let facts = locks::facts(report, ROOM);
    facts.iter().for_each(|(label, text)| out.push_str(&format!("- {label}: {}\n", plain(text))));
    out
}

fn places(report: &LocksReport, out: &mut String) {
    let all = locks::sites(report, SITES, ROOM);
    if all.is_empty() {
        return;
    }
    out.push_str("### Where they were taken, and how long was waited there\n\n");
    for one in all {
        out.push_str(&format!("- {}\n", plain(&one.lock)));
        one.sites.iter().for_each(|(waited, place)| out.push_str(&format!("  - {waited}: {}\n", plain(place))));
        if !one.more.is_empty() {
            out.push_str(&format!("  - {}\n", plain(&one.more)));
        }
    }
    out.push('\n');
}

/// A table that is folded away.
fn folded(heading: &str, grid: Option<Grid>, rest: Option<String>, out: &mut String) {
    if let Some(grid) = grid {
        open(out, heading);
        table((grid, Footnotes::default()), out);
        more(rest, out);
        close(out);
    }
}

fn more(told: Option<String>, out: &mut String) {
    if let Some(told) = told {
        out.push_str(&format!("\n{}\n", plain(&told)));
    }
}
