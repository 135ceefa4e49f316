//! The histogram of one probe as a drawing by itself.

use maud::{Markup, PreEscaped, html};
use steady_model::{Cost, Metric};

use super::{BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, round};
use crate::html::{Kind, Place, Scale};
use crate::words::costs::{Figures, amount, below, beyond, modes};

/// Light, and dark where that is preferred.
const STYLE: &str = "
svg { background: #ffffff; } text { font: 14px system-ui, sans-serif; fill: #1c2126; } .quiet { fill: #565f69; }
.grid { stroke: #e9ecef; } .bar { fill: #1f5fae; } .band { fill: #1c21261a; } .axis { stroke: #565f69; }
.median { stroke: #1c2126; stroke-width: 2; stroke-dasharray: 5 3; } .mode { stroke: #b0480c; stroke-width: 2; stroke-dasharray: 2 3; }
@media (prefers-color-scheme: dark) {
svg { background: #14171a; } text { fill: #e7eaed; } .quiet { fill: #a3adb8; } .grid { stroke: #262c32; }
.bar { fill: #6aa9f4; } .band { fill: #e7eaed22; } .axis { stroke: #a3adb8; } .median { stroke: #e7eaed; } .mode { stroke: #f3955a; }
}
";

/// The distribution of a probe's repetitions as an SVG, with its median, the interval of that, and two modes where there are
/// two.
pub fn costs_histogram_svg(cost: &Cost) -> String {
    let title = title(cost);
    let drawing = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } width=(WIDTH) height=(HEIGHT) role="img" {
            title { (title) }
            style { (PreEscaped(STYLE)) }
            text x=(LEFT) y="26" { (title) }
            (chart(cost))
        }
    };
    crate::words::harmless(drawing.into_string()) + "\n"
}

/// What it costs, in words.
fn title(cost: &Cost) -> String {
    let size = if cost.below_resolution { below(cost) } else { Figures::of(cost).median() };
    format!("{}: {size} for {}", cost.probe.name(), cost.probe.unit())
}

/// The axes, the bars and what is marked.
fn chart(cost: &Cost) -> Markup {
    let histogram = &cost.histogram;
    let high = histogram.low + histogram.width * histogram.counts.len() as f64;
    let scale = Scale::new(Kind::Cost(Metric::Cpu), histogram.low, high);
    let most = histogram.counts.iter().copied().max().unwrap_or(0);
    let (left, right) = (at(scale.clamped(cost.interval.low)), at(scale.clamped(cost.interval.high)));
    html! {
        @for (place, label) in scale.ticks() {
            line.grid x1=(at(place)) x2=(at(place)) y1=(TOP) y2=(HEIGHT - BOTTOM) {}
            // At the end of the axis half of a label would lie outside.
            text.quiet x=(at(place)) y=(HEIGHT - BOTTOM + 22.0) text-anchor=(if place > 0.95 { "end" } else { "middle" }) { (label) }
        }
        rect.band x=(left) y=(TOP) width=(round(right - left)) height=(HEIGHT - BOTTOM - TOP) {}
        (bars(cost, &scale, most))
        line.axis x1=(LEFT) x2=(WIDTH - RIGHT) y1=(HEIGHT - BOTTOM) y2=(HEIGHT - BOTTOM) {}
        text.quiet x=(LEFT - 10.0) y=(TOP + 5.0) text-anchor="end" { (most) }
        @for mode in cost.modes.iter().filter(|_| cost.modes.len() == 2) { (mark(&scale, mode.median, "mode")) }
        (mark(&scale, cost.median, "median"))
        text.quiet x=(LEFT) y="48" { (beneath(cost)) }
        text.quiet x=(LEFT) y=(HEIGHT - 14.0) { (key(cost)) }
    }
}

/// A bar for each bin that holds something.
fn bars(cost: &Cost, scale: &Scale, most: u32) -> Markup {
    let histogram = &cost.histogram;
    let edge = |bin: usize| at(scale.clamped(histogram.low + bin as f64 * histogram.width));
    html! {
        @for (bin, count) in histogram.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            @let top = round((HEIGHT - BOTTOM - TOP) * f64::from(*count) / f64::from(most.max(1)));
            rect.bar x=(edge(bin)) y=(round(HEIGHT - BOTTOM - top)) width=(round(edge(bin + 1) - edge(bin))) height=(top) {}
        }
    }
}

/// A line from top to bottom, where the axis shows it.
fn mark(scale: &Scale, value: f64, class: &str) -> Markup {
    html! {
        @if let Place::At(place) = scale.place(value) {
            line class=(class) x1=(at(place)) x2=(at(place)) y1=(TOP) y2=(HEIGHT - BOTTOM) {}
        }
    }
}

/// What it rests on.
fn beneath(cost: &Cost) -> String {
    let modes = modes(cost).map_or_else(String::new, |modes| format!("; {modes}"));
    let width = amount(cost.histogram.width);
    format!("{} repetitions of {} rounds in bins of {width}{modes}", cost.repetitions, cost.loops)
}

/// What the marks are, and how many repetitions lie beyond the axis.
fn key(cost: &Cost) -> String {
    let beyond = beyond(cost).map_or_else(String::new, |text| format!("; {text}"));
    let modes = if cost.modes.len() == 2 { "; dotted: the two modes" } else { "" };
    format!("dashed: median; shaded: its 95 % interval{modes}{beyond}")
}

/// The place of a share of the axis.
fn at(share: f64) -> f64 {
    round(LEFT + share * (WIDTH - LEFT - RIGHT))
}
