//! The interval as it narrowed, where a release was followed live.

use maud::{Markup, html};
use steady_model::{Interval, ReleaseReport, ReleaseSight};

use crate::html::scale::{Kind, Place, Scale};
use crate::html::svg::{Path, Plot, across, rectangle, sample};
use crate::units::setting;
use crate::words::count;

/// The last interval takes at least one part in so many of the axis.
const PARTS: f64 = 24.0;

/// A bar per look; nothing where there were none.
pub(super) fn draw(report: &ReleaseReport) -> Markup {
    let known: Vec<(&ReleaseSight, Interval)> =
        report.looks.iter().filter_map(|sight| Some((sight, logs(sight.interval?)?))).collect();
    let Some((_, last)) = known.last() else { return html! {} };
    let resolution = report.question.resolution.min(0.999);
    let values = axis(&known, *last, resolution);
    let begun = report.question.from;
    let since = |sight: &ReleaseSight| sight.to.saturating_sub(begun) as f64;
    let end = known.iter().map(|(sight, _)| since(sight)).fold(1.0, f64::max);
    let time = Scale::new(Kind::Clock, 0.0, end).padded();
    let (mut bars, mut points) = (Path::default(), Path::default());
    for (sight, interval) in &known {
        let x = time.clamped(since(sight));
        bars.line((x, values.clamped(interval.low)), (x, values.clamped(interval.high)));
        if let Some(Place::At(y)) = sight.change.map(|change| values.place(change.ln_1p())) {
            points.dot(x, y);
        }
    }
    let (low, high) = (values.clamped((-resolution).ln_1p()), values.clamped(resolution.ln_1p()));
    let inside = html! {
        @if high > low { (rectangle((0.0, 1.0), (low, high), "none", "")) }
        (across(&values, 0.0, "zero"))
        @if let Some(condition) = report.question.fail_if { (across(&values, condition.limit().max(-0.999).ln_1p(), "limit")) }
        (bars.draw("sight"))
        (points.draw("point"))
    };
    let label = format!("The interval of the change after each of {}.", count(known.len(), "look", "looks"));
    html! {
        section {
            h2 { "The interval as it narrowed" }
            figure {
                (Plot { label: &label, height: "middle", x: &time.ticks(), x_labels: true, y: &values.ticks(), inside }.draw())
                p.key {
                    span { (sample("sight")) "interval, as all looks so far leave it" }
                    span { (sample("point")) "estimate" }
                    span { (sample("zero")) "no difference" }
                    span { (sample("none")) "±" (setting(resolution)) ", as good as none" }
                    @if let Some(condition) = report.question.fail_if { span { (sample("limit")) "limit: " (condition) } }
                }
            }
        }
    }
}

fn logs(interval: Interval) -> Option<Interval> {
    let logs = Interval { low: interval.low.ln_1p(), high: interval.high.ln_1p() };
    (logs.low.is_finite() && logs.high.is_finite()).then_some(logs)
}

/// The last interval, zero, the resolution, and as much of the earlier ones as leaves the last to be seen.
fn axis(known: &[(&ReleaseSight, Interval)], last: Interval, resolution: f64) -> Scale {
    let (mut low, mut high) = (last.low, last.high);
    let most = (high - low).max(1e-9) * PARTS;
    let mut take = |one: f64, other: f64| {
        if high.max(other) - low.min(one) <= most {
            (low, high) = (low.min(one), high.max(other));
        }
    };
    take(0.0, 0.0);
    take((-resolution).ln_1p(), resolution.ln_1p());
    known.iter().rev().for_each(|(_, interval)| take(interval.low, interval.high));
    Scale::new(Kind::Change, low, high).padded()
}
