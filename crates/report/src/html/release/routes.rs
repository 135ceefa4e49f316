//! The change of the service and of its dearest routes, an interval each.

use maud::{Markup, html};
use steady_model::{Interval, ReleaseChange, ReleaseReport};

use crate::html::scale::{Kind, Place, Scale};
use crate::html::svg::{Chart, Path, down, rectangle, sample};
use crate::units::setting;
use crate::words::{count, signed};

/// More rows than this have no room for their numbers.
const ROWS: usize = 12;

/// The intervals below one another, the whole at the top; nothing where no route has one.
pub(super) fn draw(report: &ReleaseReport) -> Markup {
    let all = std::iter::once(("all".to_owned(), &report.total))
        .chain(report.routes.iter().zip(1..).map(|(route, number)| (number.to_string(), &route.change)));
    let known: Vec<(String, f64, Interval)> =
        all.take(ROWS + 1).filter_map(|(name, change)| row(name, change)).collect();
    if report.routes.is_empty() || known.is_empty() {
        return html! {};
    }
    let resolution = report.question.resolution.min(0.999);
    let low = known.iter().map(|(_, _, interval)| interval.low).fold(-resolution, f64::min);
    let high = known.iter().map(|(_, _, interval)| interval.high).fold(resolution, f64::max);
    let values = Scale::new(Kind::Change, low, high).padded();
    let place = |at: usize| 1.0 - (at as f64 + 0.5) / known.len() as f64;
    let (mut bars, mut points) = (Path::default(), Path::default());
    for (at, (_, change, interval)) in known.iter().enumerate() {
        bars.line((values.clamped(interval.low), place(at)), (values.clamped(interval.high), place(at)));
        if let Place::At(x) = values.place(*change) {
            points.dot(x, place(at));
        }
    }
    let (left, right) = (values.clamped((-resolution).ln_1p()), values.clamped(resolution.ln_1p()));
    let inside = html! {
        (rectangle((left, right), (0.0, 1.0), "none", ""))
        (down(&values, 0.0, "zero"))
        (bars.draw("sight"))
        (points.draw("point"))
    };
    let told = known.iter().map(|(name, change, interval)| {
        let ends = Interval { low: interval.low.exp_m1(), high: interval.high.exp_m1() };
        format!("{name}: {}", signed(change.exp_m1(), ends).1)
    });
    let label = format!("Changes of routes, as the table below numbers them. {}.", told.collect::<Vec<_>>().join("; "));
    let names: Vec<(f64, String)> =
        known.iter().enumerate().map(|(at, (name, ..))| (place(at), name.clone())).collect();
    let height = if known.len() <= 4 {
        "low"
    } else if known.len() <= 7 {
        "middle"
    } else {
        "tall"
    };
    let left_out = report.routes.len().saturating_sub(ROWS);
    html! {
        figure {
            (Chart { label: &label, height, x: &values.ticks(), x_labels: true, y: &names, inside }.draw())
            p.key {
                span { (sample("sight")) "interval" }
                span { (sample("point")) "estimate" }
                span { (sample("none")) "±" (setting(resolution)) ", as good as none" }
            }
            p.note {
                "Routes by their place in the table."
                @if left_out > 0 { " " (count(left_out, "further route", "further routes")) " not drawn." }
            }
        }
    }
}

/// A row, its change and its interval as logarithms.
fn row(name: String, change: &ReleaseChange) -> Option<(String, f64, Interval)> {
    let interval = change.interval.as_ref().ok()?;
    let logs = Interval { low: interval.low.ln_1p(), high: interval.high.ln_1p() };
    let change = change.change.as_ref().ok()?.ln_1p();
    (logs.low.is_finite() && logs.high.is_finite() && change.is_finite()).then_some((name, change, logs))
}
