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
use crate::words::{capital, name, noun, subject};
use points::Points;

pub(super) use split::split;

/// The approximate maximum number of points for one command, and for the whole page.
const MOST: usize = 4_000;
const MOST_OF_ALL: usize = 24_000;

/// The charts of every contender, or of a single command.
pub(super) fn sections(report: &Report) -> Vec<Section> {
    let commands = report.record.plan.commands.len();
    let sections: Vec<Section> = match commands {
        1 => vec![alone(report)],
        _ => (1..commands).map(|command| contender(report, command, MOST.min(MOST_OF_ALL / (commands - 1)))).collect(),
    };
    sections.into_iter().map(|section| section.shown(Shown::OnPages)).collect()
}

/// The charts of one command compared with the first.
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
        blocks.push(Block::Paragraph(plain("There are no pairs to show.".to_owned())));
    } else {
        let values = points.scale(Kind::Change);
        blocks.push(timeline::block(record, &points, &values, most));
        blocks.push(moments::block(record, &points));
        blocks.extend(distribution::blocks(&points, &values, judgement));
    }
    blocks.extend(missing(&points, "pairs"));
    let what = capital(&noun(record.primary));
    let (who, first) = (subject(&record.plan, command), subject(&record.plan, 0));
    Section::new(&format!("{what} of {who} relative to {first}"), blocks)
}

/// The charts of a single command.
fn alone(report: &Report) -> Section {
    let record = &report.record;
    let points = Points::of_runs(record);
    let mut blocks = Vec::new();
    if points.len() == 0 {
        blocks.push(Block::Paragraph(plain("There are no runs to show.".to_owned())));
    } else {
        let values = points.scale(Kind::Cost(record.primary));
        blocks.push(timeline::block(record, &points, &values, MOST));
        blocks.push(moments::block(record, &points));
        blocks.extend(distribution::blocks(&points, &values, None));
    }
    blocks.extend(missing(&points, "runs"));
    Section::new(&format!("{} of the runs", capital(&noun(record.primary))), blocks)
}

/// Sentences about the pairs or runs that the charts leave out. `what` is their plural.
fn missing(points: &Points, what: &str) -> Vec<Block> {
    let line = |number: usize, why: &str| {
        let text = format!("Not shown: {what} with {why}: {}.", thousands(number));
        (number > 0).then(|| Block::Paragraph(plain(text)))
    };
    [line(points.failed, "a run that failed"), line(points.absent, "a cost that is zero or was not measured")]
        .into_iter()
        .flatten()
        .collect()
}

pub(super) fn series(name: Option<&str>, look: Look, marks: Marks) -> Series {
    Series { name: name.map(str::to_owned), look, marks }
}

/// The style of the points of a layout.
fn look(layout: Layout) -> Look {
    match layout {
        Layout::Turns => Look::First,
        Layout::Duet => Look::Second,
    }
}
