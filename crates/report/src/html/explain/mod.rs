//! The pages of where the time of a command went, and of the difference of two.

mod bars;
mod course;

use maud::{Markup, html};
use steady_model::{ExplainPairReport, ExplainReport};

use super::facts::{cpus, fact, host, reading};
use super::grid::table;
use super::{page, spans};
use crate::text::Paint;
use crate::text::tree::Tree;
use crate::words::{explain, one_line};

/// More processes than this are not listed.
const PROCESSES: usize = 200;

/// The report as a page: where the time went in a sentence, as bars, over time, and in tables.
pub fn explain_html(report: &ExplainReport) -> String {
    let record = &report.record;
    let (claim, rest) = explain::sentences(report);
    let title = format!("{claim}{rest}");
    let header = html! {
        h1 { "Steadyhand: where the time of a command went" }
        p.verdict { (spans(&[(Paint::Heading, claim), (Paint::Plain, rest)])) }
        (notes(&report.notes))
    };
    let main = html! {
        section {
            h2 { "The command" }
            p { code { (one_line(&record.plan.command.name)) } }
            dl { @for (label, text) in explain::facts(report) { (fact(label, &text)) } }
        }
        section {
            h2 { "Where the time went" }
            figure { (bars::one(report)) }
            (tree(&explain::tree(report), &["time", "share"], "events"))
        }
        (course::draw(report))
        (processes(report))
        section {
            h2 { "Where and when" }
            dl {
                (fact("begun", &crate::json::started(record.started)))
                (host(&record.host, &cpus(&record.host)))
                (reading("git revision", &record.revision, |revision| one_line(revision)))
            }
        }
    };
    page(&title, &header, &main)
}

/// The difference as a page.
pub fn explain_pair_html(report: &ExplainPairReport) -> String {
    let record = &report.record.record;
    let sentences = explain::pair_sentences(report);
    let title: String = sentences.first().into_iter().flatten().map(|(_, text)| text.as_str()).collect();
    let header = html! {
        h1 { "Steadyhand: where the difference of two commands goes" }
        @for sentence in &sentences { p.verdict { (spans(sentence)) } }
        (notes(&report.notes))
    };
    let main = html! {
        section {
            h2 { "The commands" }
            dl { @for (label, name) in explain::pair_intro(report) { div { dt { (label) } dd { code { (name) } } } } }
        }
        section {
            h2 { "Where the time of both goes" }
            figure { (bars::pair(report)) }
            (tree(&explain::pair_tree(report), &["OLD", "NEW", "NEW - OLD", "95 % interval"], "events"))
        }
        section {
            h2 { "What it rests on" }
            dl {
                @for (label, text) in explain::pair_facts(report) { (fact(label, &text)) }
                (fact("begun", &crate::json::started(record.started)))
                (host(&record.host, &cpus(&record.host)))
                (reading("git revision", &record.revision, |revision| one_line(revision)))
            }
        }
    };
    page(&title, &header, &main)
}

fn notes(notes: &[String]) -> Markup {
    html! { @for note in notes { p.warning role="note" { strong { "Note:" } " " (note) } } }
}

/// A row per line, indented by its depth.
pub(in crate::html) fn tree(tree: &Tree, heads: &[&str], last: &str) -> Markup {
    html! {
        div.scroll role="region" aria-label="Table of times" tabindex="0" { table.tree {
            thead { tr {
                td {}
                @for head in heads { th scope="col" { (head) } }
                th scope="col" { (last) }
            } }
            tbody { @for branch in &tree.branches { tr {
                @if branch.cells.is_empty() { td.note colspan=(heads.len() + 2) { (branch.label) } }
                @else {
                    th scope="row" class=(format!("depth-{}", branch.depth.min(2))) { (branch.label) }
                    @for cell in &branch.cells { td.number { (cell) } }
                    td { (branch.remark) }
                }
            } } }
        } }
    }
}

/// The processes that used most CPU time, or why they are not listed.
fn processes(report: &ExplainReport) -> Markup {
    html! {
        @match (explain::processes(report, PROCESSES), &report.record.processes) {
            (Some((grid, notes, more)), _) => section {
                h2 { "By process" }
                (table((grid, notes), "Table of processes"))
                @if !more.is_empty() { p.note { (more) } }
            },
            (None, Err(absent)) => section {
                h2 { "By process" }
                p.note { "Absent: " (one_line(&absent.0)) "." }
            },
            (None, Ok(_)) => {}
        }
    }
}
