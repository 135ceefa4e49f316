//! The tables and lists of the page: what the text report tells, and what was measured where.

use maud::{Markup, html};
use steady_model::{Effort, Host, Layout, Metric, Reading, Report};

use crate::text::{breakdown, fresh_warnings, machine, pairs, secondary};
use crate::units::{duration, memory, setting, time_setting};
use crate::words::{as_typed, capital, name, noun, one_line, repeat};

/// The metrics beside the primary one, a row each per command.
pub(super) fn secondary_metrics(report: &Report) -> Markup {
    let judged: Vec<_> = Metric::ALL
        .into_iter()
        .flat_map(|metric| report.judgements.iter().filter(move |one| !one.primary && one.metric == metric))
        .collect();
    let many = report.record.plan.commands.len() > 2;
    html! {
        @if !judged.is_empty() {
            section {
                h2 { "Secondary metrics" }
                p.note { "The error guarantee covers " (noun(report.record.primary)) " only." }
                div.scroll role="region" aria-label="Table of secondary metrics" tabindex="0" { table {
                    thead { tr {
                        th scope="col" { "Metric" }
                        @if many { th scope="col" { "Command" } }
                        th scope="col" { "Beside the first" }
                    } }
                    tbody { @for one in judged { tr {
                        th scope="row" { (capital(noun(one.metric))) }
                        @if many { td { (one.command + 1) } }
                        td { (super::spans(&secondary::line(one))) }
                    } } }
                } }
            }
        }
    }
}

/// The commands, with all that makes them what they are.
pub(super) fn commands(report: &Report) -> Markup {
    let plan = &report.record.plan;
    html! {
        section {
            h2 { (if plan.commands.len() == 1 { "The command" } else { "The commands" }) }
            ol.commands {
                @for (index, command) in plan.commands.iter().enumerate() {
                    li {
                        code { (name(plan, index)) }
                        @if plan.commands.len() > 1 && index == 0 { " " span.note { "(the others are judged beside it)" } }
                        dl {
                            @if as_typed(command) != command.name { (fact("words", &one_line(&as_typed(command)))) }
                            @for (key, value) in &command.parameters {
                                (fact("parameter", &one_line(&format!("{key} = {value}"))))
                            }
                            @if let Some(revision) = &command.revision { (fact("revision", &one_line(revision))) }
                            @for (key, value) in &command.environment {
                                (fact("variable", &one_line(&format!("{key}={value}"))))
                            }
                            @if let Some(directory) = &command.directory {
                                (fact("directory", &one_line(&directory.display().to_string())))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The table of where the time went.
pub(super) fn breakdown_table(report: &Report) -> Markup {
    let (heading, table, notes) = breakdown::content(report);
    html! {
        h3 { (heading) }
        div.scroll role="region" aria-label="Table of times" tabindex="0" { table {
            thead { tr {
                td {}
                @for name in &table.names { th scope="col" { (name) } }
            } }
            tbody { @for quantity in &table.quantities { tr {
                th scope="row" class=[quantity.label.starts_with(' ').then_some("part")] { (quantity.label.trim_start()) }
                @for cell in &quantity.cells { td.number { (cell) } }
            } } }
        } }
        @for line in notes.lines() { p.note { (line) } }
    }
}

/// How the pairs ran and what the machine did, in lists.
pub(super) fn circumstances(report: &Report) -> Markup {
    html! {
        @if report.record.plan.commands.len() > 1 { section { h2 { (pairs::HEADING) } (list(&pairs::lines(report))) } }
        section { h2 { (machine::HEADING) } (list(&machine::lines(report))) }
    }
}

/// The warnings.
pub(super) fn warnings(report: &Report) -> Markup {
    html! { @for warning in fresh_warnings(report) { p.warning role="note" { strong { "Warning:" } " " (warning) } } }
}

fn list(lines: &[(&'static str, String)]) -> Markup {
    html! { dl { @for (label, text) in lines { (fact(label, text)) } } }
}

pub(super) fn fact(label: &str, text: &str) -> Markup {
    html! { div { dt { (label) } dd { (text) } } }
}

/// The machine and the plan.
pub(super) fn origin(report: &Report) -> Markup {
    let record = &report.record;
    html! {
        section {
            h2 { "Where, when and how" }
            dl {
                (fact("begun", &crate::json::started(record.started)))
                (fact("took", &duration(record.elapsed)))
                (fact("asked for", &asked(report)))
                (host(&record.host, &cpus(&record.host)))
                (reading("git revision", &record.revision, |revision| one_line(revision)))
                (reading("counters", &record.counters, |_| "read".to_owned()))
                (fact("seed", &record.plan.seed.to_string()))
            }
            @match repeat(&record.plan) {
                Ok(line) => { p { "To repeat it with the same coins:" } pre { code { (line) } } }
                Err(why) => p.note { "No one command line repeats it: " (why) "." }
            }
        }
    }
}

/// The machine in the lines of a list, with those about its CPUs in their place.
pub(super) fn host(host: &Host, cpus: &Markup) -> Markup {
    html! {
        (reading("host", &host.hostname, |name| one_line(name)))
        (reading("kernel", &host.kernel, |name| one_line(name)))
        (reading("CPU", &host.cpu_model, |name| one_line(name)))
        (cpus)
        (reading("memory", &host.memory, |bytes| memory(bytes.0 as f64)))
        (reading("runs under", &host.hypervisor, |name| {
            name.as_ref().map_or_else(|| "no hypervisor".to_owned(), |name| one_line(name))
        }))
    }
}

/// How many CPUs may be used, and the quota.
pub(super) fn cpus(host: &Host) -> Markup {
    html! {
        (fact("CPUs", &format!("{} of {} online may be used", host.cpus_allowed, host.cpus_online)))
        (reading("quota", &host.cpu_quota, |quota| {
            quota.map_or_else(|| "none".to_owned(), |quota| format!("{:.2} CPUs", quota.cpus()))
        }))
    }
}

/// How much was to be measured, and how finely judged.
fn asked(report: &Report) -> String {
    let plan = &report.record.plan;
    let effort = match plan.effort {
        Effort::Budget(budget) => format!("at most {}", time_setting(budget)),
        Effort::Pairs(pairs) => crate::words::blocks(plan, usize::try_from(pairs).unwrap_or(usize::MAX)),
    };
    let mut text =
        format!("{effort}; resolution ±{}; confidence {}", setting(plan.resolution), setting(plan.confidence));
    if let Some(layout) = plan.layout {
        text.push_str(if layout == Layout::Turns { "; turns only" } else { "; duets only" });
    }
    if let Some(condition) = plan.fail_if {
        text.push_str(&format!("; a failure if {condition}"));
    }
    text
}

pub(super) fn reading<T>(label: &str, reading: &Reading<T>, words: impl Fn(&T) -> String) -> Markup {
    match reading {
        Ok(value) => fact(label, &words(value)),
        Err(absent) => fact(label, &format!("absent: {absent}")),
    }
}
