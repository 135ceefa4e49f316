//! The chart of the interval after each look.

use steady_model::{Interval, Report, Sight};
use steady_render::document::Block;
use steady_render::scale::{AxisPosition, Kind, Scale};
use steady_render::units::setting;
use steady_render::{Axis, Chart, Height, Look, Marks, Whisker};

use super::{plain, series};
use crate::words::count;

/// The chart for one contender, or a sentence if no look had an interval.
pub(super) fn block(report: &Report, contender: usize) -> Block {
    let sights: Vec<&Sight> = report.course.iter().filter(|sight| sight.command == contender).collect();
    let known: Vec<(&Sight, Interval)> =
        sights.iter().filter_map(|sight| Some((*sight, logs(sight.interval?)?))).collect();
    if known.is_empty() {
        return Block::Paragraph(plain("No look has an interval with two ends.".to_owned()));
    }
    let values = axis(report, &known);
    let interval =
        |(sight, interval): &(&Sight, Interval)| Whisker { x: log(sight), low: interval.low, high: interval.high };
    let size = |(sight, _): &(&Sight, Interval)| Some((log(sight), sight.change?.ln_1p()));
    let sizes = known.iter().filter_map(size).filter(|size| is_shown(&values, size.1)).collect();
    let (plan, metric) = (&report.record.plan, report.record.primary);
    let mut all = Vec::new();
    let limit = plan.resolution.min(0.999);
    for (end, name) in [((-limit).ln_1p(), None), (limit.ln_1p(), Some(format!("±{}, the resolution", setting(limit))))]
    {
        if is_shown(&values, end) {
            all.push(series(name.as_deref(), Look::Third, Marks::Across(end)));
        }
    }
    if let Some(condition) = plan.fail_if.filter(|condition| is_shown(&values, condition.limit(metric).ln_1p())) {
        let name = format!("limit of --fail-if: {condition}");
        all.push(series(Some(&name), Look::Second, Marks::Across(condition.limit(metric).ln_1p())));
    }
    if is_shown(&values, 0.0) {
        all.push(series(Some("no difference"), Look::Rest, Marks::Across(0.0)));
    }
    let intervals = Marks::Intervals(known.iter().map(interval).collect());
    all.push(series(Some("interval of the estimate"), Look::First, intervals));
    all.push(series(Some("estimate of the size"), Look::First, Marks::Dots(sizes)));
    Block::Chart(Chart {
        label: format!("The interval after each of {}", count(sights.len(), "look", "looks")),
        height: Height::Tall,
        x: Axis::Scale(blocks_axis(&sights)),
        y: Axis::Scale(values),
        series: all,
        note: Some(note(report, &sights, &known, &values)),
    })
}

/// An interval of changes as logarithms. `None` if an end is -100 %, which has no logarithm.
fn logs(interval: Interval) -> Option<Interval> {
    let logs = Interval { low: interval.low.ln_1p(), high: interval.high.ln_1p() };
    (logs.low.is_finite() && logs.high.is_finite()).then_some(logs)
}

/// The x coordinate of a look: the logarithm of its number of blocks.
fn log(sight: &Sight) -> f64 {
    (sight.blocks.max(1) as f64).ln()
}

fn is_shown(values: &Scale, value: f64) -> bool {
    matches!(values.place(value), AxisPosition::At(_))
}

/// The y axis. It contains the last interval, and then zero, the resolution, the limit and earlier intervals, in this
/// order, as long as the last interval stays large enough to see.
fn axis(report: &Report, known: &[(&Sight, Interval)]) -> Scale {
    /// The axis is at most this many times as long as the last interval.
    const PARTS: f64 = 24.0;
    let (last, interval) = known[known.len() - 1];
    let change = last.change.map(f64::ln_1p).filter(|change| change.is_finite());
    let mut low = change.map_or(interval.low, |change| interval.low.min(change));
    let mut high = change.map_or(interval.high, |change| interval.high.max(change));
    let most = (high - low).max(1e-9) * PARTS;
    let mut include = |one: f64, other: f64| {
        if high.max(other) - low.min(one) <= most {
            (low, high) = (low.min(one), high.max(other));
        }
    };
    let (resolution, metric) = (report.record.plan.resolution.min(0.999), report.record.primary);
    include(0.0, 0.0);
    include((-resolution).ln_1p(), resolution.ln_1p());
    if let Some(limit) = report.record.plan.fail_if.map(|condition| condition.limit(metric).max(-0.999).ln_1p()) {
        include(limit, limit);
    }
    known.iter().rev().for_each(|(_, interval)| include(interval.low, interval.high));
    Scale::new(Kind::Change, low, high).padded()
}

/// The x axis: the number of blocks on a log scale, because that number grows by a factor from look to look.
fn blocks_axis(sights: &[&Sight]) -> Scale {
    let low = sights.iter().map(|sight| log(sight)).fold(f64::INFINITY, f64::min);
    let high = sights.iter().map(|sight| log(sight)).fold(f64::NEG_INFINITY, f64::max);
    // The axis of a single look needs a range with labels.
    let room = if high > low { (high - low) * 0.05 } else { 1.5_f64.ln() };
    Scale::new(Kind::LogNumber, low - room, high + room)
}

/// The note below the chart: the axes, and what the chart does not show.
fn note(report: &Report, sights: &[&Sight], known: &[(&Sight, Interval)], values: &Scale) -> String {
    let what = if report.record.plan.commands.len() == 2 { "pairs" } else { "blocks" };
    let mut text = format!("The interval after each look; x axis: {what} so far (log scale).");
    let open = sights.len() - known.len();
    if open > 0 {
        let looks = count(sights.len(), "look", "looks");
        text.push_str(&format!(" {open} of {looks} had no interval with two ends yet."));
    }
    let far = |value: f64, what: &str| match values.place(value) {
        AxisPosition::Below => format!(" {what} is below the axis."),
        AxisPosition::Above => format!(" {what} is above the axis."),
        AxisPosition::At(_) => String::new(),
    };
    text.push_str(&far(0.0, "Zero"));
    if let Some(condition) = report.record.plan.fail_if {
        text.push_str(&far(condition.limit(report.record.primary).ln_1p(), &format!("The limit {condition}")));
    }
    if known.iter().any(|(_, interval)| interval.low < values.low || interval.high > values.high) {
        text.push_str(" Intervals that reach the edge continue beyond it.");
    }
    text
}
