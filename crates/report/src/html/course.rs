//! The interval as it narrowed from look to look.

use maud::{Markup, html};
use steady_model::{Interval, Report, Sight};

use super::scale::{Kind, Place, Scale};
use super::svg::{Path, Plot, across, rectangle, sample};
use super::thousands;
use crate::units::setting;
use crate::words::{blocks, signed};

/// The chart for one contender; a sentence where there was nothing to draw.
pub(super) fn draw(report: &Report, contender: usize) -> Markup {
    let sights: Vec<&Sight> = report.course.iter().filter(|sight| sight.command == contender).collect();
    let known: Vec<(&Sight, Interval)> =
        sights.iter().filter_map(|sight| Some((*sight, logs(sight.interval?)?))).collect();
    if known.is_empty() {
        return html! { p.note { "No look came to an interval with two ends." } };
    }
    let values = axis(report, &known);
    let pairs = pairs_axis(&sights);
    let inside = html! {
        (background(report, &values))
        @for (sight, interval) in &known { (whisker(report, sight, *interval, &pairs, &values)) }
    };
    let label = format!("The interval after each of {} looks, narrowing as pairs were added.", sights.len());
    let (x, y) = (ticks(&sights, &pairs), values.ticks());
    let chart = Plot { label: &label, height: "tall", x: &x, x_labels: true, y: &y, inside };
    html! {
        (chart.draw())
        p.key {
            span { (sample("sight")) "interval on which the verdict stands" }
            span { (sample("point")) "estimate of the size" }
            @if seen(&values, 0.0) { span { (sample("zero")) "no difference" } }
            @if seen(&values, report.record.plan.resolution.ln_1p()) {
                span { (sample("none")) "±" (setting(report.record.plan.resolution)) ", as good as none" }
            }
            @if let Some(condition) = report.record.plan.fail_if {
                @if seen(&values, condition.limit().ln_1p()) { span { (sample("limit")) "limit: " (condition) } }
            }
        }
        p.note { (left_out(report, &sights, &known, &values)) }
    }
}

/// An interval of changes as logarithms; the smallest change there is has none.
fn logs(interval: Interval) -> Option<Interval> {
    let logs = Interval { low: interval.low.ln_1p(), high: interval.high.ln_1p() };
    (logs.low.is_finite() && logs.high.is_finite()).then_some(logs)
}

fn seen(values: &Scale, value: f64) -> bool {
    matches!(values.place(value), Place::At(_))
}

/// The axis: the last interval, then what else finds room, without the last becoming too small to see: zero, the
/// resolution and the limit first, then earlier intervals.
fn axis(report: &Report, known: &[(&Sight, Interval)]) -> Scale {
    /// The last interval takes at least one part in so many.
    const PARTS: f64 = 24.0;
    let (last, interval) = known[known.len() - 1];
    let change = last.change.map(f64::ln_1p).filter(|change| change.is_finite());
    let mut low = change.map_or(interval.low, |change| interval.low.min(change));
    let mut high = change.map_or(interval.high, |change| interval.high.max(change));
    let most = (high - low).max(1e-9) * PARTS;
    let mut take = |one: f64, other: f64| {
        if high.max(other) - low.min(one) <= most {
            (low, high) = (low.min(one), high.max(other));
        }
    };
    let resolution = report.record.plan.resolution.min(0.999);
    take(0.0, 0.0);
    take((-resolution).ln_1p(), resolution.ln_1p());
    if let Some(limit) = report.record.plan.fail_if.map(|condition| condition.limit().max(-0.999).ln_1p()) {
        take(limit, limit);
    }
    known.iter().rev().for_each(|(_, interval)| take(interval.low, interval.high));
    Scale::new(Kind::Change, low, high).padded()
}

/// The axis of pairs is one of logarithms: looks come at numbers that grow by a factor.
fn pairs_axis(sights: &[&Sight]) -> Scale {
    let log = |sight: &&Sight| (sight.blocks.max(1) as f64).ln();
    let low = sights.iter().map(log).fold(f64::INFINITY, f64::min);
    let high = sights.iter().map(log).fold(f64::NEG_INFINITY, f64::max);
    let room = ((high - low) * 0.05).max(0.02);
    Scale::new(Kind::Share, low - room, high + room)
}

/// As many looks as have room for their number of pairs below them, the last among them.
fn ticks(sights: &[&Sight], pairs: &Scale) -> Vec<(f64, String)> {
    const APART: f64 = 0.15;
    let mut ticks: Vec<(f64, String)> = Vec::new();
    for sight in sights.iter().rev() {
        let place = pairs.clamped((sight.blocks.max(1) as f64).ln());
        if ticks.last().is_none_or(|(before, _)| before - place >= APART) {
            ticks.push((place, thousands(sight.blocks)));
        }
    }
    ticks
}

/// Zero, what counts as none, and the limit.
fn background(report: &Report, values: &Scale) -> Markup {
    let plan = &report.record.plan;
    let resolution = plan.resolution.min(0.999);
    let (low, high) = (values.clamped((-resolution).ln_1p()), values.clamped(resolution.ln_1p()));
    html! {
        @if high > low { (rectangle((0.0, 1.0), (low, high), "none", "")) }
        (across(values, 0.0, "zero"))
        @if let Some(condition) = plan.fail_if { (across(values, condition.limit().ln_1p(), "limit")) }
    }
}

/// One look: a bar as long as its interval, a dot at its estimate, an arrow's head where the bar leaves the axis.
fn whisker(report: &Report, sight: &Sight, interval: Interval, pairs: &Scale, values: &Scale) -> Markup {
    let x = pairs.clamped((sight.blocks.max(1) as f64).ln());
    let (low, high) = (values.clamped(interval.low), values.clamped(interval.high));
    let (mut bar, mut point, mut arrows) = (Path::default(), Path::default(), Path::default());
    bar.line((x, low), (x, high));
    let (wide, long) = (0.008, 0.05);
    for (end, inwards, out) in [(low, 1.0, interval.low < values.low), (high, -1.0, interval.high > values.high)] {
        if out {
            arrows.start((x - wide, end + inwards * long));
            arrows.on((x, end));
            arrows.on((x + wide, end + inwards * long));
        }
    }
    if let Some(Place::At(y)) = sight.change.map(|change| values.place(change.ln_1p())) {
        point.dot(x, y);
    }
    let (change, range) = signed(sight.change.unwrap_or(f64::NAN), sight.interval.unwrap_or(Interval::EVERYTHING));
    let change = if sight.change.is_some() { format!("{change}, ") } else { String::new() };
    let title = format!("{}: {change}{range}", blocks(&report.record.plan, sight.blocks));
    html! {
        g { title { (title) } (bar.draw("sight")) (arrows.draw("sight")) (point.draw("point")) }
    }
}

/// What the chart does not show.
fn left_out(report: &Report, sights: &[&Sight], known: &[(&Sight, Interval)], values: &Scale) -> String {
    let what = if report.record.plan.commands.len() == 2 { "pairs" } else { "blocks" };
    let mut text = format!("Below: {what} until the look, in equal factors.");
    let open = sights.len() - known.len();
    if open > 0 {
        text.push_str(&format!(" {open} of {} looks had no interval with two ends yet.", sights.len()));
    }
    let far = |value: f64, what: &str| match values.place(value) {
        Place::Below => format!(" {what} lies below the axis."),
        Place::Above => format!(" {what} lies above the axis."),
        Place::At(_) => String::new(),
    };
    text.push_str(&far(0.0, "Zero"));
    if let Some(condition) = report.record.plan.fail_if {
        text.push_str(&far(condition.limit().ln_1p(), &format!("The limit {condition}")));
    }
    if known.iter().any(|(_, interval)| interval.low < values.low || interval.high > values.high) {
        text.push_str(" Arrows: the interval goes on beyond the axis.");
    }
    text
}
