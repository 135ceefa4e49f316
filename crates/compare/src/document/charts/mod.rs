//! The charts of a comparison, for pages.

mod course;
mod distribution;
mod moments;
mod points;
mod split;
mod timeline;

use steady_model::{Layout, Report};
use steady_render::document::{Block, Section, Shown};
use steady_render::scale::Kind;
use steady_render::units::thousands;
use steady_render::{Look, Marks, Series};

use super::plain;
use crate::words::{capital, name, noun};
use points::Points;

pub(super) use split::split;

/// At most about so many points are drawn for one command, and so many on the whole page.
const MOST: usize = 4_000;
const MOST_OF_ALL: usize = 24_000;

/// The charts of every contender, or of the one command.
pub(super) fn sections(report: &Report) -> Vec<Section> {
    let commands = report.record.plan.commands.len();
    let sections: Vec<Section> = match commands {
        1 => vec![alone(report)],
        _ => (1..commands).map(|command| contender(report, command, MOST.min(MOST_OF_ALL / (commands - 1)))).collect(),
    };
    sections.into_iter().map(|section| section.shown(Shown::OnPages)).collect()
}

/// The charts of one command beside the first.
fn contender(report: &Report, command: usize, most: usize) -> Section {
    let record = &report.record;
    let points = Points::of_pairs(record, command);
    let judgement = report.primary().find(|judgement| judgement.command == command);
    let mut blocks = Vec::new();
    if record.plan.commands.len() > 2 {
        blocks.push(Block::Command(name(&record.plan, command)));
    }
    blocks.push(course::block(report, command));
    if points.len() == 0 {
        blocks.push(Block::Paragraph(plain("There is no pair to draw.".to_owned())));
    } else {
        let values = points.scale(Kind::Change);
        blocks.push(timeline::block(record, &points, &values, most));
        blocks.push(moments::block(record, &points));
        blocks.extend(distribution::blocks(&points, &values, judgement));
    }
    blocks.extend(missing(&points, "pairs"));
    let what = capital(noun(record.primary));
    Section::new(&format!("{what} of command {} beside the first", command + 1), blocks)
}

/// The charts of a command alone.
fn alone(report: &Report) -> Section {
    let record = &report.record;
    let points = Points::of_runs(record);
    let mut blocks = Vec::new();
    if points.len() == 0 {
        blocks.push(Block::Paragraph(plain("There is no run to draw.".to_owned())));
    } else {
        let values = points.scale(Kind::Cost(record.primary));
        blocks.push(timeline::block(record, &points, &values, MOST));
        blocks.push(moments::block(record, &points));
        blocks.extend(distribution::blocks(&points, &values, None));
    }
    blocks.extend(missing(&points, "runs"));
    Section::new(&format!("{} of its runs", capital(noun(record.primary))), blocks)
}

/// What the charts leave out.
fn missing(points: &Points, what: &str) -> Vec<Block> {
    let line = |number: usize, why: &str| {
        let text = format!("Not drawn: {} {what} with {why}.", thousands(number));
        (number > 0).then(|| Block::Paragraph(plain(text)))
    };
    [line(points.failed, "a run that failed"), line(points.absent, "a cost that is absent or zero")]
        .into_iter()
        .flatten()
        .collect()
}

/// A series of a chart.
fn series(name: Option<&str>, look: Look, marks: Marks) -> Series {
    Series { name: name.map(str::to_owned), look, marks }
}

/// The look of what was measured in a layout.
fn look(layout: Layout) -> Look {
    match layout {
        Layout::Turns => Look::First,
        Layout::Duet => Look::Second,
    }
}
