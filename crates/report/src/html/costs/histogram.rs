//! The histogram of one probe, small enough to stand beside others.

use maud::{Markup, html};
use steady_model::{Cost, Metric};

use crate::html::scale::{Kind, Scale};
use crate::html::svg::{Path, Plot, down, rectangle, sample};
use crate::words::capital;
use crate::words::costs::{Figures, below, beyond, modes};

/// The most labels that have room below one.
const LABELS: usize = 4;

/// The chart below the probe's name, what it says in words beneath.
pub(super) fn draw(cost: &Cost) -> Markup {
    let histogram = &cost.histogram;
    let span = histogram.width * histogram.counts.len() as f64;
    let scale = Scale::new(Kind::Cost(Metric::Cpu), histogram.low, histogram.low + span);
    let most = histogram.counts.iter().copied().max().unwrap_or(0);
    let inside = html! {
        (rectangle((scale.clamped(cost.interval.low), scale.clamped(cost.interval.high)), (0.0, 1.0), "band", ""))
        (columns(cost, &scale, most))
        @for mode in cost.modes.iter().filter(|_| cost.modes.len() == 2) { (down(&scale, mode.median, "mode")) }
        (down(&scale, cost.median, "estimate"))
    };
    let label = format!("Histogram of {} repetitions of {}.", cost.repetitions, cost.probe.name());
    let y = [(0.0, String::new()), (1.0, most.to_string())];
    let chart = Plot { label: &label, height: "low", x: &labels(&scale), x_labels: true, y: &y, inside };
    html! {
        figure {
            h4 { code { (cost.probe.name()) } ": " (in_words(cost)) }
            (chart.draw())
            @if let Some(text) = beyond(cost) { p.note { (capital(&text)) "." } }
        }
    }
}

/// What it costs.
fn in_words(cost: &Cost) -> String {
    match modes(cost) {
        _ if cost.below_resolution => below(cost),
        Some(modes) => format!("{}; {modes}", Figures::of(cost).median()),
        None => Figures::of(cost).median(),
    }
}

/// A column for each bin that holds something.
fn columns(cost: &Cost, scale: &Scale, most: u32) -> Markup {
    let histogram = &cost.histogram;
    let mut path = Path::default();
    for (at, count) in histogram.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let edge = |at: usize| scale.clamped(histogram.low + at as f64 * histogram.width);
        path.column(edge(at), edge(at + 1), f64::from(*count) / f64::from(most.max(1)));
    }
    path.draw("bars turns")
}

/// As many of the ticks as have room.
fn labels(scale: &Scale) -> Vec<(f64, String)> {
    let ticks = scale.ticks();
    let every = ticks.len().div_ceil(LABELS).max(1);
    ticks.into_iter().step_by(every).collect()
}

/// What the marks are, once for all.
pub(super) fn key() -> Markup {
    html! {
        p.key {
            span { (sample("estimate")) "median" }
            span { (sample("band")) "its 95\u{a0}% interval" }
            span { (sample("mode")) "one of two modes" }
            span { "heights: repetitions in a bin" }
        }
    }
}
