//! How the differences, or the costs, are distributed, by layout on one axis.

use maud::{Markup, html};
use steady_model::{Judgement, Layout};

use super::points::{Point, Points};
use super::scale::{Kind, Place, Scale};
use super::svg::{Path, Plot, down, sample};
use super::timeline::zero_key;
use super::{capital_layout, thousands};
use crate::units::percent;

/// How many columns a histogram of so many points has.
fn columns(points: usize) -> usize {
    (2.0 * (points as f64).sqrt()).clamp(12.0, 48.0) as usize
}

/// A histogram per layout.
pub(super) fn draw(points: &Points, values: &Scale, judgement: Option<&Judgement>) -> Markup {
    let change = values.kind == Kind::Change;
    let last = points.by_layout.len().saturating_sub(1);
    let mut estimates = false;
    let panels: Vec<Markup> = points
        .by_layout
        .iter()
        .enumerate()
        .map(|(index, (layout, list))| {
            let estimate = judgement.and_then(|judgement| judgement.layouts.iter().find(|one| one.layout == *layout));
            estimates |= estimate.is_some();
            let inside = html! {
                @if let Some(estimate) = estimate {
                    (band(values, estimate.interval.low, estimate.interval.high))
                }
                (histogram(list, values, *layout))
                @if change { (down(values, 0.0, "zero")) }
                @if let Some(estimate) = estimate { (down(values, estimate.change.ln_1p(), "estimate")) }
            };
            let (x, y) = (values.ticks(), [(0.0, String::new()), (1.0, percent(tallest(list, values)))]);
            let label = format!(
                "Histogram of {} {}.",
                thousands(list.len()),
                if change { capital_layout(*layout) } else { "runs".into() }
            );
            let chart = Plot { label: &label, height: "middle", x: &x, x_labels: index == last, y: &y, inside };
            html! {
                h4 { (if change { capital_layout(*layout) } else { "All runs".to_owned() }) }
                (chart.draw())
                p.note { (beyond(list, values)) }
            }
        })
        .collect();
    html! {
        @for panel in panels { (panel) }
        p.key {
            @if change { (zero_key(values)) }
            @if estimates {
                span { (sample("estimate")) "the layout's estimate" }
                span { (sample("band")) "its interval" }
            }
            span { "heights: share of the layout's " (if change { "pairs" } else { "runs" }) ", one column each" }
        }
    }
}

/// The interval of an estimate; changes, not logarithms.
fn band(values: &Scale, low: f64, high: f64) -> Markup {
    let (left, right) = (values.clamped(low.ln_1p()), values.clamped(high.ln_1p()));
    super::svg::rectangle((left, right), (0.0, 1.0), "band", "")
}

/// How many points each column holds.
fn bins(points: &[Point], values: &Scale) -> Vec<usize> {
    let columns = columns(points.len());
    let mut bins = vec![0; columns];
    for point in points {
        if let Place::At(share) = values.place(point.value) {
            bins[((share * columns as f64) as usize).min(columns - 1)] += 1;
        }
    }
    bins
}

/// The share of all points that the fullest column holds.
fn tallest(points: &[Point], values: &Scale) -> f64 {
    bins(points, values).into_iter().max().unwrap_or(0) as f64 / points.len().max(1) as f64
}

fn histogram(points: &[Point], values: &Scale, layout: Layout) -> Markup {
    let bins = bins(points, values);
    let most = bins.iter().copied().max().unwrap_or(0).max(1) as f64;
    let mut path = Path::default();
    let place = |index: usize| index as f64 / bins.len() as f64;
    for (index, &count) in bins.iter().enumerate().filter(|(_, count)| **count > 0) {
        path.column(place(index), place(index + 1), count as f64 / most);
    }
    path.draw(&format!("bars {}", layout.name()))
}

/// How many are not in the picture, on either side.
fn beyond(points: &[Point], values: &Scale) -> String {
    let count = |side: Place| points.iter().filter(|point| values.place(point.value) == side).count();
    match (count(Place::Below), count(Place::Above)) {
        (0, 0) => format!("All {} lie within the axis.", thousands(points.len())),
        (below, above) => format!(
            "Of {}, {} lie below the axis and {} above it.",
            thousands(points.len()),
            thousands(below),
            thousands(above)
        ),
    }
}
