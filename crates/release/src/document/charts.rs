//! The charts of the page: the window as a course of time, looks, changes with their intervals, and wall time.

mod changes;
mod course;
mod looks;
mod wall;

pub(super) use changes::{hosts, routes};
pub(super) use course::course;
pub(super) use looks::looks;
pub(super) use wall::wall;

use steady_render::chart::{Chart, Look, Marks, Series};
use steady_render::document::{Block, Section, Shown};

/// The looks of OLD and NEW.
const LOOKS: [Look; 2] = [Look::First, Look::Second];

/// A section that pages alone have.
fn on_pages(heading: &str, charts: impl IntoIterator<Item = Chart>) -> Section {
    Section::new(heading, charts.into_iter().map(Block::Chart).collect()).shown(Shown::OnPages)
}

fn series(name: &str, look: Look, marks: Marks) -> Series {
    Series { name: Some(name.to_owned()), look, marks }
}
