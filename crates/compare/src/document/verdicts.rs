//! The verdicts as a table: a row for each command, a column for each metric.

use steady_model::{Metric, Report};
use steady_render::document::{Block, Emphasis, Section, Shown};
use steady_render::table::{Cell, Column, Table};
use steady_render::units::{count, level, memory, time_with, with_unit_and_interval};

use super::{plain, secondary};
use crate::words::{ELAPSED, capital, name, noun};

/// The table. It is left out on a terminal, where the sentences and the secondary metrics have the same content.
pub(super) fn section(report: &Report) -> Section {
    let plan = &report.record.plan;
    let primary = report.record.primary;
    let is_judged = |metric: &Metric| report.judgements.iter().any(|judgement| judgement.metric == *metric);
    let others = report.record.metrics().filter(|metric| *metric != primary && is_judged(metric));
    let commands: Vec<usize> = (0..plan.commands.len()).collect();
    let mut columns = vec![
        Column::words("", &commands, |command| (command + 1).to_string()),
        Column::words("Command", &commands, |command| Cell::Text(Emphasis::Code, name(plan, *command))),
    ];
    for metric in std::iter::once(primary).chain(others) {
        columns.push(Column::words(&capital(&noun(metric)), &commands, |command| cell(report, *command, metric)));
    }
    let table = Table { label: "Verdicts".to_owned(), rows: ("command", "commands"), columns };
    let mut note = format!(
        "Changes relative to the first command, with {} intervals. The error guarantee covers {} only.",
        level(plan.confidence),
        noun(primary)
    );
    if primary != Metric::Elapsed && is_judged(&Metric::Elapsed) {
        note.push_str(&format!(" {ELAPSED}."));
    }
    let blocks = vec![Block::Table(table), Block::Paragraph(plain(note))];
    Section::new("Verdicts", blocks).whole().shown(Shown::OffTerminal)
}

/// The verdict on one command by one metric.
fn cell(report: &Report, command: usize, metric: Metric) -> Cell {
    let found = report.judgements.iter().find(|one| one.command == command && one.metric == metric);
    match found {
        Some(judgement) => {
            let text = secondary::line(&report.record.plan, judgement).into_iter().map(|(_, text)| text).collect();
            let emphasis = if judgement.primary { secondary::emphasis(judgement.verdict) } else { Emphasis::Plain };
            Cell::Text(emphasis, text)
        }
        None => mean_cost(report, command, metric),
    }
}

/// The mean cost of a command.
pub(super) fn mean_cost(report: &Report, command: usize, metric: Metric) -> Cell {
    let found = report.breakdowns.iter().find(|one| one.command == command && one.runs > 0);
    let cost = found.and_then(|found| match metric {
        Metric::Cpu => Some(time_with(found.cpu.mean, found.cpu.interval)),
        Metric::Wall => Some(time_with(found.wall.mean, found.wall.interval)),
        Metric::Memory => found.peak_memory.as_ref().ok().map(|bytes| memory(bytes.0 as f64)),
        Metric::Elapsed => found.elapsed.as_ref().ok().map(|elapsed| time_with(elapsed.mean, elapsed.interval)),
        Metric::Faults => Some(count(found.minor_faults + found.major_faults)),
        Metric::Switches => Some(count(found.voluntary_switches)),
        Metric::Energy | Metric::Custom(_) => {
            let (_, spread) = found.values.iter().find(|value| value.0 == metric)?;
            let spread = spread.as_ref().ok()?;
            Some(with_unit_and_interval(spread.mean, spread.interval, metric.unit()))
        }
        Metric::Instructions => found.counters.and_then(|means| means.instructions).map(count),
    });
    cost.map_or(Cell::Nothing, Cell::from)
}
