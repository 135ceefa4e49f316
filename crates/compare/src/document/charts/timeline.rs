//! The chart of the differences of pairs, or of the costs of a command's runs, over time.

use steady_model::{Layout, Record};
use steady_render::document::Block;
use steady_render::scale::{AxisPosition, Kind, Scale};
use steady_render::units::thousands;
use steady_render::{Axis, Chart, Height, Look, Marks};

use super::points::{Point, Points, kept_in_words, thin};
use super::{look, series};
use crate::document::pairs;
use crate::words::capital;

/// The chart: a dot for each pair or run, or for a selection of about `most` of them.
pub(super) fn block(record: &Record, points: &Points, values: &Scale, most: usize) -> Block {
    let is_change = values.kind == Kind::Change;
    let mut all = Vec::new();
    if is_change {
        let looks = record.looks.iter().map(|look| look_at(record, look.blocks)).filter(|at| at.is_finite());
        for (index, at) in looks.enumerate() {
            let name = (index == 0).then_some("a look");
            all.push(series(name, Look::Rest, Marks::Down(at)));
        }
        if let AxisPosition::At(_) = values.place(0.0) {
            all.push(series(Some("no difference"), Look::Rest, Marks::Across(0.0)));
        }
    }
    let mut notes = vec![match is_change {
        true => "Differences over time; y axis: change relative to the first command (log scale).".to_owned(),
        false => "Costs over time.".to_owned(),
    }];
    for (layout, list) in &points.by_layout {
        let (kept, stretch) = thin(list, (most * list.len() / points.len().max(1)).max(200));
        let dots = kept.iter().map(|point| (point.at, point.value)).collect();
        all.push(series(is_change.then(|| pairs::label(*layout)), look(*layout), Marks::Dots(dots)));
        notes.push(drawn(is_change, *layout, list, &kept, stretch) + &outside(list, values));
    }
    match values.place(0.0) {
        AxisPosition::Below if is_change => notes.push("Zero (no difference) is below the axis.".to_owned()),
        AxisPosition::Above if is_change => notes.push("Zero (no difference) is above the axis.".to_owned()),
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

/// The time axis: from 0 to the last point or reading of the load.
pub(super) fn time(record: &Record, points: &Points) -> Scale {
    let moments = record.moments.iter().map(|moment| moment.at.seconds());
    let all = points.by_layout.iter().flat_map(|(_, points)| points).map(|point| point.at);
    let high = moments.chain(all).fold(0.0, f64::max);
    Scale::new(Kind::Clock, 0.0, high)
}

/// The end of the last block before a look, in seconds. NaN if there is none.
fn look_at(record: &Record, blocks: usize) -> f64 {
    blocks.checked_sub(1).and_then(|last| record.blocks.get(last)).map_or(f64::NAN, |block| block.ended.seconds())
}

/// The number of points, and which of them are shown.
fn drawn(is_change: bool, layout: Layout, list: &[Point], kept: &[Point], stretch: Option<usize>) -> String {
    let number = thousands(list.len());
    let is_one = list.len() == 1;
    let all = match (is_change, is_one) {
        (true, true) => format!("{number} pair {}", pairs::label(layout)),
        (true, false) => format!("{number} pairs {}", pairs::label(layout)),
        (false, true) => format!("{number} run"),
        (false, false) => format!("{number} runs"),
    };
    match stretch {
        Some(stretch) => {
            format!("Shown: {} of {all}, extremes kept ({}).", thousands(kept.len()), kept_in_words(stretch))
        }
        None => format!("{}.", capital(&all)),
    }
}

/// The number of points outside the axis, and the range of their values.
fn outside(list: &[Point], values: &Scale) -> String {
    let out: Vec<f64> = list
        .iter()
        .map(|point| point.value)
        .filter(|value| !matches!(values.place(*value), AxisPosition::At(_)))
        .collect();
    if out.is_empty() {
        return String::new();
    }
    let (low, high) =
        out.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    match out.len() {
        1 => format!(" 1, with {}, is outside the axis and is shown at its edge.", values.label(low)),
        more => format!(
            " {}, with {} to {}, are outside the axis and are shown at its edge.",
            thousands(more),
            values.label(low),
            values.label(high)
        ),
    }
}
