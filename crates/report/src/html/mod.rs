//! The report as one page of HTML that needs nothing besides itself: no script, no font, no picture from elsewhere.

mod course;
mod distribution;
mod explain;
mod facts;
mod grid;
mod moments;
mod points;
mod split;
mod timeline;
mod warm;

use maud::{Markup, html};
use steady_model::{Layout, Report};
use steady_render::html::{page as styled, sentence as spans};

use crate::text::headline;
use crate::units::thousands;
use crate::words::{capital, name, noun};
pub use explain::{explain_html, explain_pair_html};
use points::Points;
pub(crate) use steady_render::html::plot as svg;
pub(crate) use steady_render::scale::{self, Kind};

pub use warm::{warm_bench_html, warm_status_html};

/// At most about so many points are drawn for one command, and so many on the whole page.
const MOST: usize = 4_000;
const MOST_OF_ALL: usize = 24_000;

/// The report as a page: the verdict in plain words first, then charts of what it rests on, then the tables.
pub fn html(report: &Report) -> String {
    let sentences = headline::sentences(report);
    let title: String = sentences.first().into_iter().flatten().map(|(_, text)| text.as_str()).collect();
    let header = html! {
        h1 { (heading(report)) }
        @for sentence in &sentences { p.verdict { (spans(sentence)) } }
        (facts::warnings(report))
    };
    let main = html! {
        (facts::secondary_metrics(report))
        (facts::commands(report))
        (charts(report))
        section {
            h2 { "Where the time went" }
            figure { (split::draw(report)) }
            (facts::breakdown_table(report))
        }
        (facts::circumstances(report))
        (facts::origin(report))
    };
    page(&title, &header, &main)
}

/// A page, around what stands in it.
fn page(title: &str, header: &Markup, main: &Markup) -> String {
    styled(title, "", header, main)
}

/// What the page is about.
fn heading(report: &Report) -> String {
    match report.record.plan.commands.len() {
        1 => "Steadyhand: what a command costs".to_owned(),
        2 => "Steadyhand: two commands compared".to_owned(),
        many => format!("Steadyhand: {many} commands compared"),
    }
}

/// The charts of every contender, or of the one command.
fn charts(report: &Report) -> Markup {
    let commands = report.record.plan.commands.len();
    if commands == 1 {
        return alone(report);
    }
    let most = MOST.min(MOST_OF_ALL / (commands - 1));
    html! {
        @if commands > 2 {
            nav aria-label="Charts by command" {
                @for command in 1..commands {
                    a href={ "#command-" (command + 1) } { (command + 1) " " code { (name(&report.record.plan, command)) } }
                }
            }
        }
        @for command in 1..commands { (contender(report, command, most)) }
    }
}

/// The charts of one command beside the first.
fn contender(report: &Report, command: usize, most: usize) -> Markup {
    let record = &report.record;
    let points = Points::of_pairs(record, command);
    let values = points.scale(Kind::Change);
    let what = capital(noun(record.primary));
    let judgement = report.primary().find(|judgement| judgement.command == command);
    html! {
        section id={ "command-" (command + 1) } {
            h2 { (what) " of command " (command + 1) " beside the first" }
            @if record.plan.commands.len() > 2 { p { code { (name(&record.plan, command)) } } }
            h3 { "The interval as it narrowed" }
            figure { (course::draw(report, command)) }
            @if points.len() == 0 { p.note { "There is no pair to draw." } }
            @else {
                h3 { "Differences of the pairs over time" }
                figure { (timeline::draw(record, &points, &values, most)) }
                h3 { "How the differences are distributed" }
                figure { (distribution::draw(&points, &values, judgement)) }
            }
            (missing(&points, "pairs"))
        }
    }
}

/// The charts of a command alone.
fn alone(report: &Report) -> Markup {
    let record = &report.record;
    let points = Points::of_runs(record);
    let values = points.scale(Kind::Cost(record.primary));
    let what = capital(noun(record.primary));
    html! {
        section {
            h2 { (what) " of its runs" }
            @if points.len() == 0 { p.note { "There is no run to draw." } }
            @else {
                h3 { "Over time" }
                figure { (timeline::draw(record, &points, &values, MOST)) }
                h3 { "How it is distributed" }
                figure { (distribution::draw(&points, &values, None)) }
            }
            (missing(&points, "runs"))
        }
    }
}

/// What the charts leave out.
fn missing(points: &Points, what: &str) -> Markup {
    html! {
        @if points.failed > 0 { p.note { "Not drawn: " (thousands(points.failed)) " " (what) " with a run that failed." } }
        @if points.absent > 0 {
            p.note { "Not drawn: " (thousands(points.absent)) " " (what) " with a cost that is absent or zero." }
        }
    }
}

/// A layout at the head of a chart.
fn capital_layout(layout: Layout) -> String {
    capital(crate::text::pairs::label(layout))
}
