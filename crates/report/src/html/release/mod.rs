//! The page of what a release changed.

mod course;
mod hosts;
mod intervals;
mod looks;
mod routes;
mod wall;

use maud::{Markup, html};
use steady_model::ReleaseReport;

use super::facts::fact;
use super::tree::tree;
use super::{page, spans};
use crate::words::release;

/// More routes than this are not listed.
const ROUTES: usize = 500;
/// Texts have as much room as they want.
const ROOM: usize = usize::MAX;

/// The report as a page: the answer in sentences, the course of the window raw against adjusted with the load under it, routes,
/// wall time, and what was looked at.
pub fn release_html(report: &ReleaseReport) -> String {
    let [old, new] = release::versions(report);
    let header = html! {
        h1 { "Steadyhand: what a release changed (" (release::named(&report.question.service)) ", " (old) " and " (new) ")" }
        @for (at, sentence) in release::sentences(report).iter().enumerate() {
            @if at == 0 { p.verdict { (spans(sentence)) } } @else { p { (spans(sentence)) } }
        }
        @for text in release::warnings(report) { p.warning role="note" { strong { "Warning:" } " " (text) } }
    };
    let main = html! {
        (course::draw(report))
        (looks::draw(report))
        section {
            h2 { "CPU time per request" }
            (routes::draw(report))
            (tree(&release::changes(report, ROUTES, ROOM), &release::CHANGE_HEADS, "verdict"))
            @if let Some(more) = release::left_out(report, ROUTES) { p.note { (more) } }
            p.note { (release::notes(report)) }
        }
        (hosts::draw(report))
        (wall::draw(report))
        section {
            h2 { "What was looked at" }
            dl { @for (label, text) in release::facts(report) { (fact(label, &text)) } }
        }
    };
    page(&release::short_answer(report), &header, &main)
}

/// The key of the two versions' lines.
fn key(report: &ReleaseReport) -> Markup {
    let [old, new] = release::versions(report);
    html! {
        span { (super::svg::sample("percpu")) (old) }
        span { (super::svg::sample("perwall")) (new) }
    }
}
