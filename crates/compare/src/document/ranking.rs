//! The ranking of at least three commands: a table, and a chart of their intervals.

use steady_model::{Judgement, Rank, Report};
use steady_render::document::{Block, Emphasis, Section, Shown};
use steady_render::scale::{Kind, Scale};
use steady_render::table::{Cell, Column, Table};
use steady_render::units::level;
use steady_render::{Axis, Chart, Height, Look, Marks, Whisker};

use super::verdicts::mean_cost;
use super::{charts, plain, secondary};
use crate::words::{capital, label, noun};

/// The table, and for pages the chart. Empty for fewer than three commands.
pub(super) fn sections(report: &Report) -> Vec<Section> {
    if report.ranking.is_empty() {
        return vec![];
    }
    let heading = format!("Ranking by {}", noun(report.record.primary));
    let table = Section::new(&heading, vec![Block::Table(table(report)), Block::Paragraph(plain(note(report)))]);
    let chart = chart(report).map(|chart| Section::new("All commands", vec![chart]).shown(Shown::OnPages));
    std::iter::once(table.whole()).chain(chart).collect()
}

fn table(report: &Report) -> Table {
    let (plan, metric) = (&report.record.plan, report.record.primary);
    let rows = &report.ranking;
    let columns = vec![
        Column::words("Rank", rows, rank_in_words),
        Column::words("Command", rows, |rank| {
            let name = format!("{}: {}", rank.command + 1, label(plan, rank.command));
            Cell::Text(Emphasis::Code, name)
        }),
        Column::words(&capital(&noun(metric)), rows, |rank| mean_cost(report, rank.command, metric)),
        Column::words("Relative to 1", rows, |rank| match judgement(report, rank.command) {
            Some(judgement) => {
                let text = secondary::line(&report.record.plan, judgement).into_iter().map(|(_, text)| text).collect();
                Cell::Text(secondary::emphasis(judgement.verdict), text)
            }
            None => Cell::Nothing,
        }),
    ];
    Table { label: "Ranking".to_owned(), rows: ("command", "commands"), columns }
}

/// The rank, as in `2`, or `2 to 3` for a tie.
fn rank_in_words(rank: &Rank) -> String {
    match rank.best == rank.worst {
        true => rank.best.to_string(),
        false => format!("{} to {}", rank.best, rank.worst),
    }
}

fn note(report: &Report) -> String {
    let level = level(report.record.plan.confidence);
    let tie = match report.ranking.iter().any(|rank| rank.best != rank.worst) {
        true => "A range of ranks is a tie: the order of these commands is not certain. ",
        false => "",
    };
    format!(
        "{tie}The verdicts relative to command 1 hold together at a confidence of {level}, and so does the order of the \
         others."
    )
}

fn judgement(report: &Report, command: usize) -> Option<&Judgement> {
    report.primary().find(|judgement| judgement.command == command)
}

/// The changes relative to the first command with their intervals, in the order of the ranks. `None` if no interval has
/// two ends.
fn chart(report: &Report) -> Option<Block> {
    let known = |(place, rank): (usize, &Rank)| {
        let found = judgement(report, rank.command)?;
        let (change, interval) = (found.change.as_ref().ok()?, found.interval.as_ref().ok()?);
        let [low, change, high] = [interval.low, *change, interval.high].map(f64::ln_1p);
        let is_finite = low.is_finite() && change.is_finite() && high.is_finite();
        is_finite.then_some(((place as f64, change), Whisker { x: place as f64, low, high }))
    };
    let known: Vec<((f64, f64), Whisker)> = report.ranking.iter().enumerate().filter_map(known).collect();
    let low = known.iter().map(|(_, interval)| interval.low).reduce(f64::min)?;
    let high = known.iter().map(|(_, interval)| interval.high).reduce(f64::max)?;
    let names = report.ranking.iter().map(|rank| (rank.command + 1).to_string());
    let series = vec![
        charts::series(Some("command 1"), Look::Rest, Marks::Across(0.0)),
        charts::series(Some("interval"), Look::First, Marks::Intervals(known.iter().map(|one| one.1).collect())),
        charts::series(Some("estimate"), Look::First, Marks::Dots(known.iter().map(|one| one.0).collect())),
    ];
    Some(Block::Chart(Chart {
        label: format!("{} relative to command 1", capital(&noun(report.record.primary))),
        height: Height::Tall,
        x: Axis::Names(names.collect()),
        y: Axis::Scale(Scale::new(Kind::Change, low.min(0.0), high.max(0.0)).padded()),
        series,
        note: Some("The commands by their numbers, in the order of their ranks.".to_owned()),
    }))
}
