//! Where the time of a command went, or the difference of two, as Markdown.

use steady_model::{ExplainPairReport, ExplainReport};

use super::grid::table;
use super::{close, open, row, spoken};
use crate::text::tree::Tree;
use crate::units::TIE;
use crate::words::{explain, one_line};
use steady_render::markdown::{code, plain};

/// More processes than this are not listed.
const PROCESSES: usize = 100;

/// The report as GitHub's Markdown: where the time went in a sentence, then in a table.
pub fn explain_markdown(report: &ExplainReport) -> String {
    let (claim, rest) = explain::sentences(report);
    let mut out = format!("**{}**{}\n\n", plain(&claim), plain(&rest));
    out.push_str(&format!("- command: {}\n\n", code(&one_line(&report.record.plan.command.name))));
    tree(&explain::tree(report), &["", "time", "share", ""], &mut out);
    rest_of(&explain::facts(report), &report.notes, &mut out);
    if let Some((grid, notes, more)) = explain::processes(report, PROCESSES) {
        out.push('\n');
        open(&mut out, "By process");
        table((grid, notes), &mut out);
        if !more.is_empty() {
            out.push_str(&format!("\n{}\n", plain(&more)));
        }
        close(&mut out);
    }
    out
}

/// The difference as GitHub's Markdown.
pub fn explain_pair_markdown(report: &ExplainPairReport) -> String {
    let mut out = String::new();
    for sentence in explain::pair_sentences(report) {
        out.push_str(&format!("{}\n\n", spoken(&sentence)));
    }
    for (label, name) in explain::pair_intro(report) {
        out.push_str(&format!("- {label}: {}\n", code(&name)));
    }
    out.push('\n');
    tree(&explain::pair_tree(report), &["", "OLD", "NEW", "NEW - OLD", "95 % interval", "events"], &mut out);
    rest_of(&explain::pair_facts(report), &report.notes, &mut out);
    out
}

/// A row per line, its depth told by an indent.
pub(super) fn tree(tree: &Tree, heads: &[&str], out: &mut String) {
    row(out, heads.iter().map(|head| plain(head)));
    let sides = heads.iter().enumerate().map(|(at, _)| if at == 0 || at + 1 == heads.len() { "---" } else { "---:" });
    row(out, sides.map(str::to_owned));
    for branch in &tree.branches {
        let label = format!("{}{}", TIE.repeat(4 * branch.depth), plain(&branch.label));
        let cells = (0..heads.len() - 2).map(|at| branch.cells.get(at).map_or_else(String::new, |cell| plain(cell)));
        let remark = plain(&branch.remark);
        row(out, std::iter::once(label).chain(cells).chain(std::iter::once(remark)));
    }
    out.push('\n');
}

fn rest_of(facts: &[(&'static str, String)], notes: &[String], out: &mut String) {
    facts.iter().for_each(|(label, text)| out.push_str(&format!("- {label}: {}\n", plain(text))));
    notes.iter().for_each(|note| out.push_str(&format!("\n> **Note:** {}\n", plain(note))));
}
