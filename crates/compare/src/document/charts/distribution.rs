//! Histograms of the differences or the costs, one per layout, on a common axis.

use steady_model::{Judgement, Layout};
use steady_render::document::Block;
use steady_render::scale::{AxisPosition, Kind, Scale};
use steady_render::units::thousands;
use steady_render::{Axis, Bin, Chart, Height, Look, Marks, Whisker};

use super::points::{Point, Points};
use super::{look, series};
use crate::document::pairs;

/// The number of columns of a histogram with this number of points.
fn columns(points: usize) -> usize {
    (2.0 * (points as f64).sqrt()).clamp(12.0, 48.0) as usize
}

/// The histograms, one for each layout.
pub(super) fn blocks(points: &Points, values: &Scale, judgement: Option<&Judgement>) -> Vec<Block> {
    let chart = |(layout, list): &(Layout, Vec<Point>)| Block::Chart(chart(*layout, list, values, judgement));
    points.by_layout.iter().map(chart).collect()
}

fn chart(layout: Layout, list: &[Point], values: &Scale, judgement: Option<&Judgement>) -> Chart {
    let is_change = values.kind == Kind::Change;
    let what = if is_change { format!("pairs {}", pairs::label(layout)) } else { "runs".to_owned() };
    let bins = bins(list, values);
    let tallest = bins.iter().map(|bin| bin.height).fold(0.0, f64::max);
    let down = |x: f64| Marks::Intervals(vec![Whisker { x, low: 0.0, high: tallest }]);
    let mut all = vec![series(Some(&what), look(layout), Marks::Columns(bins))];
    if is_change && let AxisPosition::At(_) = values.place(0.0) {
        all.push(series(Some("no difference"), Look::Rest, down(0.0)));
    }
    let estimate = judgement.and_then(|judgement| judgement.layouts.iter().find(|one| one.layout == layout));
    if let Some(estimate) = estimate {
        let ends = [estimate.interval.low, estimate.interval.high].map(f64::ln_1p);
        if ends.iter().all(|end| end.is_finite()) {
            let line = Marks::Line(ends.map(|end| (end, tallest)).to_vec());
            all.push(series(Some("interval in this layout"), Look::Third, line));
        }
        if estimate.change.ln_1p().is_finite() {
            all.push(series(Some("estimate in this layout"), Look::Third, down(estimate.change.ln_1p())));
        }
    }
    Chart {
        label: format!("Histogram of {what}: {}", thousands(list.len())),
        height: Height::Middle,
        x: Axis::Scale(*values),
        y: Axis::Scale(Scale::new(Kind::Share, 0.0, tallest)),
        series: all,
        note: Some(format!("Distribution; heights: share of the {what}. {}", beyond(list, values))),
    }
}

/// The columns, each with its share of the points.
fn bins(points: &[Point], values: &Scale) -> Vec<Bin> {
    let columns = columns(points.len());
    let mut counts = vec![0_usize; columns];
    for point in points {
        if let AxisPosition::At(share) = values.place(point.value) {
            counts[((share * columns as f64) as usize).min(columns - 1)] += 1;
        }
    }
    let edge = |column: usize| values.low + (values.high - values.low) * column as f64 / columns as f64;
    let bin = |(column, count): (usize, usize)| Bin {
        from: edge(column),
        to: edge(column + 1),
        height: count as f64 / points.len().max(1) as f64,
    };
    counts.into_iter().enumerate().map(bin).collect()
}

/// The number of points outside the axis, on each side.
fn beyond(points: &[Point], values: &Scale) -> String {
    let count = |side: AxisPosition| points.iter().filter(|point| values.place(point.value) == side).count();
    let all = thousands(points.len());
    match (count(AxisPosition::Below), count(AxisPosition::Above)) {
        (0, 0) => "All are within the axis.".to_owned(),
        (below, above) => {
            format!("Outside the axis: {} below and {} above, of {all}.", thousands(below), thousands(above))
        }
    }
}
