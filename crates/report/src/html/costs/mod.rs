//! The page of what primitives cost.

mod histogram;
mod lengths;

use maud::{Markup, html};
use steady_model::CostsReport;

use super::facts;
use super::load::table;
use super::styled;
use crate::text::costs::{CLOCKS, Line, Said, clock_lines, clocks, lines, sweep_reasons, sweeps};
use crate::words::costs::{self, early, grouped, measured, notes, sentences};
use crate::words::{one_line, repeat_costs};

/// What these pages have beyond the look of all.
const STYLE: &str = include_str!("costs.css");

/// What primitives cost as a page: in words, then as a table, then the distribution of each, or the cost by length of the
/// loop.
pub fn costs_html(report: &CostsReport) -> String {
    let sentences = sentences(report);
    let title = sentences.first().map_or("What primitives cost", String::as_str);
    let header = html! {
        h1 { "Steadyhand: what primitives cost" }
        @for (index, sentence) in sentences.iter().enumerate() {
            @if index == 0 { p.verdict { (sentence) } } @else { p { (sentence) } }
        }
        @if let Some(text) = early(report) { p.warning role="note" { (text) } }
    };
    let main = html! {
        @if report.record.plan.sweep { (by_length(report)) }
        @else {
            (all(report))
            (distributions(report))
        }
        (known(report))
        (origin(report))
    };
    styled(title, STYLE, &header, &main)
}

/// One table of all probes, by group.
fn all(report: &CostsReport) -> Markup {
    let (groups, reasons) = lines(report);
    html! {
        section {
            h2 { (costs::HEADING) }
            div.scroll role="region" aria-label="Table of costs" tabindex="0" { table.costs {
                thead { tr {
                    th scope="col" { "Probe" } th scope="col" { "Median" } th scope="col" { "95\u{a0}% interval" }
                    th scope="col" { "Spread" }
                } }
                @for (group, lines) in &groups {
                    tbody {
                        tr.group { th scope="rowgroup" colspan="4" { (group.heading()) } }
                        @for line in lines { (row(line)) }
                    }
                }
            } }
            @for line in reasons.lines() { p.note { (line) } }
            @for note in notes(report) { p.note { (note) } }
        }
    }
}

/// A probe, and beneath its name what it is the cost of.
fn row(line: &Line<'_>) -> Markup {
    html! {
        tr {
            th scope="row" {
                code { (line.name) }
                @if let Some(cost) = line.cost { br; span.note { (cost.probe.unit()) } }
                @if let Some(modes) = &line.modes { br; span.modes { (modes) } }
            }
            @match &line.said {
                Said::Figures([median, interval, spread]) => {
                    td.number { (median) }
                    td.number { (interval) }
                    td.number { (spread) }
                }
                Said::Below(text, spread) => { td.instead colspan="2" { (text) } td.number { (spread) } }
                Said::Absent(text) => td.instead colspan="3" { (text) },
            }
        }
    }
}

/// A histogram of each probe, by group.
fn distributions(report: &CostsReport) -> Markup {
    html! {
        @if measured(report).next().is_some() {
            section {
                h2 { "How the repetitions are distributed" }
                (histogram::key())
                @for (group, list) in grouped(report) {
                    @if list.iter().any(|(_, cost)| cost.is_ok()) {
                        h3 { (group.heading()) }
                        div.multiples {
                            @for cost in list.iter().filter_map(|(_, cost)| cost.as_ref().ok()) { (histogram::draw(cost)) }
                        }
                    }
                }
            }
        }
    }
}

/// A chart and a table for each probe.
fn by_length(report: &CostsReport) -> Markup {
    html! {
        @for (probe, (heading, content)) in lengths::probes(report).into_iter().zip(sweeps(report)) {
            section {
                h2 { (heading) }
                (lengths::draw(report, probe))
                (table(content, &heading))
            }
        }
        section {
            h2 { "What the reasons mean" }
            @for text in sweep_reasons(report) { p { (text) } }
            @for note in notes(report) { p.note { (note) } }
        }
    }
}

/// What is known of the clocks beside what was measured of them, where any was.
fn known(report: &CostsReport) -> Markup {
    let any = report.record.clocks.iter().any(|clock| report.record.plan.probes.contains(&clock.probe));
    html! {
        @if any && !report.record.plan.sweep {
            section {
                h2 { (CLOCKS) }
                (table(clocks(report), "Table of clocks"))
                @for (name, said) in clock_lines(report) {
                    h3 { code { (name) } }
                    dl { @for (label, text) in said { (facts::fact(label, text)) } }
                }
            }
        }
    }
}

/// The machine and the plan.
fn origin(report: &CostsReport) -> Markup {
    let record = &report.record;
    html! {
        section {
            h2 { "Where, when and how" }
            dl {
                (facts::fact("begun", &crate::json::started(record.started)))
                @for (label, text) in costs::facts(report) { (facts::fact(label, &text)) }
                (facts::host(&record.host, &facts::cpus(&record.host)))
                (facts::reading("git revision", &record.revision, |revision| one_line(revision)))
                (facts::fact("seed", &record.plan.seed.to_string()))
            }
            p { "To measure the same again:" }
            pre { code { (repeat_costs(&record.plan)) } }
        }
    }
}
