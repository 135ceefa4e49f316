//! What is kept of programs, as a page.

use maud::{Markup, html};
use steady_model::{WarmQuestion, WarmReport};

use crate::html::facts::fact;
use crate::html::page;
use crate::words::warm::status::{HEADS, facts, launches, of_program, reasons, row, sentence};

/// The report as a page: what was asked about each program, or what is kept of all of them.
pub fn warm_status_html(report: &WarmReport) -> String {
    let header = html! {
        h1 { "Steadyhand: programs kept warm" }
        @if report.question == WarmQuestion::Status { p.verdict { (sentence(report)) } }
    };
    let main = if report.question == WarmQuestion::Status { status(report) } else { answers(report) };
    page("Programs kept warm", &header, &main)
}

fn answers(report: &WarmReport) -> Markup {
    html! {
        section {
            @for program in &report.programs {
                @let (claim, rest) = of_program(report, program);
                p { strong { (claim) } (rest) }
            }
        }
    }
}

fn status(report: &WarmReport) -> Markup {
    let reasons = reasons(report);
    html! {
        @if !report.programs.is_empty() {
            section {
                h2 { "Programs" }
                div.scroll role="region" aria-label="Table of programs" tabindex="0" {
                    table {
                        thead { tr { @for head in HEADS { th scope="col" { (head) } } } }
                        tbody { @for program in &report.programs { tr { @for cell in row(report, program) { td { (cell) } } } } }
                    }
                }
            }
        }
        @if !reasons.is_empty() {
            section { h2 { "Not warm" } dl { @for (program, why) in &reasons { (fact(program, why)) } } }
        }
        @if let Ok(store) = &report.store {
            section { h2 { "Launches" } dl { @for (label, text) in launches(store) { (fact(label, &text)) } } }
            section { h2 { "Store" } dl { @for (label, text) in facts(store) { (fact(label, &text)) } } }
        }
    }
}
