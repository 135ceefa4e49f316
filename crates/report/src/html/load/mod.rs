//! The page of a load experiment.

mod cpus;
mod rates;

use maud::{Markup, html};
use steady_model::LoadReport;

use super::facts;
use crate::text::Footnotes;
use crate::text::grid::Grid;
use crate::text::load;
use crate::units::duration;
use crate::words::repeat_load;

/// A load experiment as a page: the answer in plain words first, then the charts, then the tables.
pub fn load_html(report: &LoadReport) -> String {
    let sentences = load::sentences(report);
    let title = sentences.first().map_or("A load experiment", String::as_str);
    let header = html! {
        h1 { "Steadyhand: what processes at once get done" }
        @for (index, sentence) in sentences.iter().enumerate() {
            @if index == 0 { p.verdict { (sentence) } } @else { p { (sentence) } }
        }
        @for text in load::early(report) { p.warning role="note" { (text) } }
    };
    let main = html! {
        @if !report.points.is_empty() {
            (rates::draw(report))
            section {
                h2 { (load::each_process(report)) }
                (table(load::figures(report), "Table of work and times"))
            }
            section {
                h2 { (load::MEANWHILE) }
                (cpus::draw(report))
                (table(load::meanwhile(report), "Table of where they ran"))
            }
            @if let Some(grid) = load::rulers(report) {
                section {
                    h2 { (load::RULERS) }
                    (table((grid, Footnotes::default()), "Table of slowdowns"))
                }
            }
        }
        (origin(report))
    };
    super::page(title, &header, &main)
}

/// A table of numbers, the reasons of what is absent below it.
pub(in crate::html) fn table((grid, notes): (Grid, Footnotes), label: &str) -> Markup {
    html! {
        div.scroll role="region" aria-label=(label) tabindex="0" { table.numbers {
            thead { tr { @for column in &grid.0 { th scope="col" { (column.head) } } } }
            tbody { @for row in 0..grid.rows() { tr {
                @for (index, column) in grid.0.iter().enumerate() {
                    @let cell = column.cells.get(row).map_or("", String::as_str);
                    @if index == 0 { th scope="row" { (cell) } } @else { td.number { (cell) } }
                }
            } } }
        } }
        @for line in notes.lines() { p.note { (line) } }
    }
}

/// The machine and the plan.
fn origin(report: &LoadReport) -> Markup {
    let record = &report.record;
    let cpus = html! {
        @for (label, text) in load::facts(report).iter().filter(|(label, _)| *label != "took") {
            (facts::fact(label, text))
        }
    };
    html! {
        section {
            h2 { "Where, when and how" }
            dl {
                (facts::fact("begun", &crate::json::started(record.started)))
                (facts::fact("took", &duration(record.elapsed)))
                (facts::host(&record.host, &cpus))
                (facts::reading("git revision", &record.revision, |revision| crate::words::one_line(revision)))
                (facts::fact("seed", &record.plan.seed.to_string()))
            }
            @match repeat_load(&record.plan) {
                Ok(line) => { p { "To measure the same again:" } pre { code { (line) } } }
                Err(why) => p.note { "No one command line repeats it: " (why) "." }
            }
        }
    }
}
