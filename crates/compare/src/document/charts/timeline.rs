//! Differences of pairs, or costs of a command's runs, over time.

use steady_model::{Layout, Record};
use steady_render::document::Block;
use steady_render::scale::{Kind, Place, Scale};
use steady_render::units::thousands;
use steady_render::{Axis, Chart, Height, Look, Marks};

use super::points::{Point, Points, kept_in_words, thin};
use super::{look, series};
use crate::document::pairs;
use crate::words::capital;

/// The chart: a dot for each pair or run. About `most` of them are drawn at most.
pub(super) fn block(record: &Record, points: &Points, values: &Scale, most: usize) -> Block {
    let is_change = values.kind == Kind::Change;
    let mut all = Vec::new();
    if is_change {
        let looks = record.looks.iter().map(|look| look_at(record, look.blocks)).filter(|at| at.is_finite());
        for (index, at) in looks.enumerate() {
            let name = (index == 0).then_some("a look at the evidence");
            all.push(series(name, Look::Rest, Marks::Down(at)));
        }
        if let Place::At(_) = values.place(0.0) {
            all.push(series(Some("no difference"), Look::Rest, Marks::Across(0.0)));
        }
    }
    let mut notes = vec![if is_change { "Differences over time.".to_owned() } else { "Costs over time.".to_owned() }];
    for (layout, list) in &points.by_layout {
        let (kept, stretch) = thin(list, (most * list.len() / points.len().max(1)).max(200));
        let dots = kept.iter().map(|point| (point.at, point.value)).collect();
        all.push(series(is_change.then(|| pairs::label(*layout)), look(*layout), Marks::Dots(dots)));
        notes.push(drawn(is_change, *layout, list, &kept, stretch) + &outside(list, values));
    }
    match values.place(0.0) {
        Place::Below if is_change => notes.push("Zero, no difference, lies below the axis.".to_owned()),
        Place::Above if is_change => notes.push("Zero, no difference, lies above the axis.".to_owned()),
        _ => {}
    }
    Block::Chart(Chart {
        label: if is_change { "Differences of the pairs over time" } else { "Costs of the runs over time" }.to_owned(),
        height: Height::Tall,
        x: Axis::Scale(time(record, points)),
        y: Axis::Scale(*values),
        series: all,
        note: Some(notes.join(" ")),
    })
}

/// The axis of the time that the points and the moments of load take.
pub(super) fn time(record: &Record, points: &Points) -> Scale {
    let moments = record.moments.iter().map(|moment| moment.at.seconds());
    let all = points.by_layout.iter().flat_map(|(_, points)| points).map(|point| point.at);
    let high = moments.chain(all).fold(0.0, f64::max);
    Scale::new(Kind::Clock, 0.0, high)
}

/// When the last block before a look had ended.
fn look_at(record: &Record, blocks: usize) -> f64 {
    blocks.checked_sub(1).and_then(|last| record.blocks.get(last)).map_or(f64::NAN, |block| block.ended.seconds())
}

/// How many there are, and which of them are drawn.
fn drawn(is_change: bool, layout: Layout, list: &[Point], kept: &[Point], stretch: Option<usize>) -> String {
    let number = thousands(list.len());
    let all = if is_change { format!("{number} pairs {}", pairs::label(layout)) } else { format!("{number} runs") };
    match stretch {
        Some(stretch) => {
            format!("Drawn: {} of {all}, extremes kept ({}).", thousands(kept.len()), kept_in_words(stretch))
        }
        None => format!("{}.", capital(&all)),
    }
}

/// How many lie outside of the axis, and how far.
fn outside(list: &[Point], values: &Scale) -> String {
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
        1 => format!(" 1 lies outside of the axis, {ends}, and is drawn at its edge."),
        more => format!(" {} lie outside of the axis, {ends}, and are drawn at its edge.", thousands(more)),
    }
}
