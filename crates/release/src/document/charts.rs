//! Charts of the HTML page: the window over time, looks, changes with their intervals, and wall time.

mod changes;
mod course;
mod wall;

use steady_model::{Interval, Metric};
use steady_render::chart::{Axis, Chart, Height, Look, Marks, Series, Whisker};
use steady_render::document::{Block, Section, Shown};
use steady_render::letters::count;
use steady_render::scale::{AxisPosition, Kind, Scale};

use crate::record::{ReleaseReport, ReleaseSight};
use changes::{log_interval, resolution_label};

pub(super) use changes::{hosts, routes};
pub(super) use course::course;
pub(super) use wall::wall;

/// Styles of the series of OLD and NEW.
const LOOKS: [Look; 2] = [Look::First, Look::Second];

/// Creates a section of charts that only HTML pages show.
fn on_pages(heading: &str, charts: impl IntoIterator<Item = Chart>) -> Section {
    Section::new(heading, charts.into_iter().map(Block::Chart).collect()).shown(Shown::OnPages)
}

fn series(name: &str, look: Look, marks: Marks) -> Series {
    Series { name: Some(name.to_owned()), look, marks }
}

/// The axis is at most this many times as long as the last interval, so that the interval stays visible.
const LONGEST_AXIS: f64 = 24.0;

/// Charts the interval after each look. Returns `None` if no look has an interval.
pub(super) fn looks(report: &ReleaseReport) -> Option<Section> {
    let known: Vec<(&ReleaseSight, Interval)> =
        report.looks.iter().filter_map(|sight| Some((sight, log_interval(sight.interval()?)?))).collect();
    let (_, last) = known.last()?;
    let resolution = report.question.resolution.min(0.999);
    let values = axis(&known, *last, resolution);
    let since = |sight: &ReleaseSight| sight.to.saturating_sub(report.question.from) as f64;
    let end = known.iter().map(|(sight, _)| since(sight)).fold(1.0, f64::max);
    let whiskers = known.iter().map(|(sight, interval)| Whisker {
        x: since(sight),
        low: interval.low.max(values.low),
        high: interval.high.min(values.high),
    });
    let is_inside = |change: &f64| matches!(values.place(*change), AxisPosition::At(_));
    let dots = known.iter().filter_map(|(sight, _)| {
        Some((since(sight), sight.change.as_ref().ok().map(|change| change.ln_1p()).filter(is_inside)?))
    });
    let mut all = vec![
        series("interval: intersection of all looks so far", Look::First, Marks::Intervals(whiskers.collect())),
        series("estimate", Look::First, Marks::Dots(dots.collect())),
    ];
    // A line that is not within the axis would be drawn at its edge.
    let mut line = |value: f64, name: Option<String>, look| {
        if is_inside(&value) {
            all.push(Series { name, look, marks: Marks::Across(value) });
        }
    };
    line(0.0, Some("no difference".to_owned()), Look::Rest);
    line((-resolution).ln_1p(), Some(resolution_label(resolution)), Look::Third);
    line(resolution.ln_1p(), None, Look::Third);
    if let Some(condition) = report.question.fail_if {
        let limit = condition.limit(Metric::Cpu).max(-0.999).ln_1p();
        line(limit, Some(format!("limit: {condition}")), Look::Second);
    }
    let chart = Chart {
        label: format!("Interval of the change after each of {}.", count(known.len(), "look", "looks")),
        height: Height::Middle,
        x: Axis::Scale(Scale::new(Kind::Clock, 0.0, end).padded()),
        y: Axis::Scale(values),
        series: all,
        note: None,
    };
    Some(on_pages("Interval of the change after each look", [chart]))
}

/// Returns an axis with the last interval, and zero, the resolution and earlier intervals as far as [`LONGEST_AXIS`]
/// allows.
fn axis(known: &[(&ReleaseSight, Interval)], last: Interval, resolution: f64) -> Scale {
    let (mut low, mut high) = (last.low, last.high);
    let longest = (high - low).max(1e-9) * LONGEST_AXIS;
    let mut include = |one: f64, other: f64| {
        if high.max(other) - low.min(one) <= longest {
            (low, high) = (low.min(one), high.max(other));
        }
    };
    include(0.0, 0.0);
    include((-resolution).ln_1p(), resolution.ln_1p());
    known.iter().rev().for_each(|(_, interval)| include(interval.low, interval.high));
    Scale::new(Kind::Change, low, high).padded()
}
