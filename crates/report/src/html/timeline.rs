//! Pair differences, or a command's costs, over time by layout, with the machine's load below them.

use maud::{Markup, html};
use steady_model::{Layout, Record};

use super::points::{Point, Points, kept_in_words, thin};
use super::scale::{Kind, Place, Scale};
use super::svg::{Path, Plot, across, down, sample};
use super::{moments, thousands};

/// The charts, one per layout and one of the load, all on one axis of time. At most about `most` points are drawn.
pub(super) fn draw(record: &Record, points: &Points, values: &Scale, most: usize) -> Markup {
    let time = time(record, points);
    let change = values.kind == Kind::Change;
    let looks = html! { @for look in record.looks.iter().filter(|_| change) { (down(&time, look_at(record, look.blocks), "look")) } };
    let panels = points.by_layout.iter().map(|(layout, list)| {
        let (kept, stretch) = thin(list, (most * list.len() / points.len().max(1)).max(200));
        let heading = match (change, layout) {
            (false, _) => "Each run".to_owned(),
            (true, layout) => super::capital_layout(*layout),
        };
        let label = format!(
            "{} of {}, over time.",
            if change { "Difference" } else { "Cost" },
            counted(change, *layout, list.len())
        );
        let inside = html! {
            (looks)
            @if change { (across(values, 0.0, "zero")) }
            (dots(&kept, &time, values, *layout))
        };
        let (x, y) = (time.ticks(), values.ticks());
        let chart = Plot { label: &label, height: "tall", x: &x, x_labels: record.moments.is_empty(), y: &y, inside };
        html! {
            h4 { (heading) }
            (chart.draw())
            p.note { (drawn(change, *layout, list, &kept, stretch)) (outside(list, values)) }
        }
    });
    let key = html! {
        @if change { (zero_key(values)) }
        @if !record.looks.is_empty() && change { span { (sample("look")) "a look at the evidence" } }
    };
    html! {
        @for panel in panels { (panel) }
        (moments::draw(record, &time, &looks, &key))
    }
}

/// What the line at zero means, or where zero lies if the axis does not show it.
pub(super) fn zero_key(values: &Scale) -> Markup {
    match values.place(0.0) {
        Place::At(_) => html! { span { (sample("zero")) "no difference" } },
        Place::Below => html! { span { "zero, no difference, lies below the axis" } },
        Place::Above => html! { span { "zero, no difference, lies above the axis" } },
    }
}

/// The time that the points and the moments of load take.
fn time(record: &Record, points: &Points) -> Scale {
    let moments = record.moments.iter().map(|moment| moment.at.seconds());
    let all = points.by_layout.iter().flat_map(|(_, points)| points).map(|point| point.at);
    let high = moments.chain(all).fold(0.0, f64::max);
    Scale::new(Kind::Clock, 0.0, high)
}

/// When the last block before a look had ended.
fn look_at(record: &Record, blocks: usize) -> f64 {
    blocks.checked_sub(1).and_then(|last| record.blocks.get(last)).map_or(f64::NAN, |block| block.ended.seconds())
}

/// A dot per point, and a mark at the edge for each that lies outside.
fn dots(points: &[Point], time: &Scale, values: &Scale, layout: Layout) -> Markup {
    /// How long the marks of what lies outside are.
    const MARK: f64 = 0.05;
    /// So few that dots need not show through one another.
    const FEW: usize = 1_000;
    let few = if points.len() <= FEW { " few" } else { "" };
    let (mut inside, mut outside) = (Path::default(), Path::default());
    for point in points {
        let x = time.clamped(point.at);
        match values.place(point.value) {
            Place::At(y) => inside.dot(x, y),
            Place::Below => outside.line((x, 0.0), (x, MARK)),
            Place::Above => outside.line((x, 1.0 - MARK), (x, 1.0)),
        }
    }
    html! { (inside.draw(&format!("dots {}{few}", layout.name()))) (outside.draw("out")) }
}

/// So many pairs in turns, or runs.
fn counted(change: bool, layout: Layout, number: usize) -> String {
    let what = if change { "pairs" } else { "runs" };
    let how = if change { format!(" {}", crate::text::pairs::label(layout)) } else { String::new() };
    format!("{} {what}{how}", thousands(number))
}

/// How many there are, and which of them are drawn.
fn drawn(change: bool, layout: Layout, list: &[Point], kept: &[Point], stretch: Option<usize>) -> String {
    let all = counted(change, layout, list.len());
    match stretch {
        Some(stretch) => {
            format!("Drawn: {} of {all}, extremes kept ({}).", thousands(kept.len()), kept_in_words(stretch))
        }
        None => format!("{}.", super::capital(&all)),
    }
}

/// How many lie outside of the axis, and how far.
pub(super) fn outside(list: &[Point], values: &Scale) -> String {
    let out: Vec<f64> =
        list.iter().map(|point| point.value).filter(|value| !matches!(values.place(*value), Place::At(_))).collect();
    if out.is_empty() {
        return String::new();
    }
    let (low, high) =
        out.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    let ends = match (low < values.low, high > values.high) {
        (true, true) => format!("from {} to {}", values.told(low), values.told(high)),
        (true, false) => format!("down to {}", values.told(low)),
        _ => format!("up to {}", values.told(high)),
    };
    match out.len() {
        1 => format!(" 1 lies outside of the axis, {ends}: a mark at its edge."),
        more => format!(" {} lie outside of the axis, {ends}: marks at its edge.", thousands(more)),
    }
}
