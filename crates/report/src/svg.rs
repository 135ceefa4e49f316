//! Charts as drawings by themselves, for a text or a slide: they need nothing besides themselves either. Those of load
//! experiments.

use maud::{Markup, PreEscaped, html};
use steady_model::LoadReport;

use crate::text::load::rates::{Rate, Rates, steps};
use crate::units::short;

/// The drawing, and what of it the axes take.
const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 72.0;

/// Light, and dark where that is preferred.
const STYLE: &str = "
svg { background: #ffffff; } text { font: 14px system-ui, sans-serif; fill: #1c2126; } .quiet { fill: #565f69; }
.grid { stroke: #e9ecef; } .edge { stroke: #565f69; stroke-dasharray: 2 4; } path { fill: none; stroke-width: 2; }
.cpu { stroke: #1f5fae; } .wall { stroke: #b0480c; stroke-dasharray: 7 3; } circle.cpu, circle.wall { stroke: none; }
circle.cpu { fill: #1f5fae; } circle.wall { fill: #b0480c; }
@media (prefers-color-scheme: dark) {
svg { background: #14171a; } text { fill: #e7eaed; } .quiet { fill: #a3adb8; } .grid { stroke: #262c32; }
.edge { stroke: #a3adb8; } .cpu { stroke: #6aa9f4; } .wall { stroke: #f3955a; }
circle.cpu { fill: #6aa9f4; } circle.wall { fill: #f3955a; } }
";

/// Work per CPU time and per wall time against the number of processes, as an SVG; without a line where there are fewer than
/// two points.
pub fn load_svg(report: &LoadReport) -> String {
    let rates = Rates::of(report);
    let title = rates.as_ref().map_or_else(
        || "There is no chart: it takes two numbers of processes".to_owned(),
        |rates| format!("{} per {} of one process", rates.what(), rates.per),
    );
    let drawing = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } width=(WIDTH) height=(HEIGHT) role="img" {
            title { (title) }
            style { (PreEscaped(STYLE)) }
            text x=(LEFT) y="26" { (title) }
            @if let Some(rates) = &rates { (chart(rates)) }
        }
    };
    crate::words::harmless(drawing.into_string()) + "\n"
}

/// The axes, the edges and both lines.
fn chart(rates: &Rates) -> Markup {
    let ticks = steps(rates.top());
    let top = ticks.last().copied().unwrap_or(1.0);
    html! {
        @for tick in &ticks {
            line.grid x1=(LEFT) x2=(WIDTH - RIGHT) y1=(y(tick / top)) y2=(y(tick / top)) {}
            text.quiet x=(LEFT - 10.0) y=(y(tick / top) + 5.0) text-anchor="end" { (short(*tick)) }
        }
        (numbers(rates))
        (edges(rates))
        (series(rates, top, "wall", |rate| rate.per_wall))
        (series(rates, top, "cpu", |rate| rate.per_cpu))
        (key("cpu", LEFT, &format!("per CPU {}", rates.per)))
        (key("wall", LEFT + 150.0, &format!("per wall {}", rates.per)))
        text.quiet x=(WIDTH - RIGHT) y=(HEIGHT - 14.0) text-anchor="end" { "processes at once" }
    }
}

/// As many numbers of processes below the axis as have room, the last among them.
fn numbers(rates: &Rates) -> Markup {
    let mut free = f64::INFINITY;
    html! {
        @for rate in rates.points.iter().rev() {
            @let (at, text) = (x(rates, rate.procs).unwrap_or(LEFT), short(rate.procs));
            @let half = 5.0 * text.len() as f64;
            @if at + half < free {
                ({ free = at - half; html! { text.quiet x=(round(at)) y=(HEIGHT - BOTTOM + 22.0) text-anchor="middle" { (text) } } })
            }
        }
    }
}

/// Where cores, CPUs and the quota end, in words below the axis.
fn edges(rates: &Rates) -> Markup {
    let seen: Vec<(f64, &str)> =
        rates.marks.iter().filter_map(|(at, text)| Some((x(rates, *at)?, text.as_str()))).collect();
    let words: Vec<&str> = seen.iter().map(|(_, text)| *text).collect();
    html! {
        @for (at, _) in &seen { line.edge x1=(round(*at)) x2=(round(*at)) y1=(TOP) y2=(HEIGHT - BOTTOM) {} }
        @if !words.is_empty() { text.quiet x=(LEFT) y=(HEIGHT - 14.0) { "dotted: " (words.join(", then ")) } }
    }
}

/// A line, and a dot at each point.
fn series(rates: &Rates, top: f64, class: &str, pick: fn(&Rate) -> f64) -> Markup {
    let points: Vec<(f64, f64)> =
        rates.points.iter().filter_map(|rate| Some((round(x(rates, rate.procs)?), y(pick(rate) / top)))).collect();
    let path: Vec<String> = points.iter().map(|(x, y)| format!("{x} {y}")).collect();
    html! {
        path class=(class) d={ "M" (path.join("L")) } {}
        @for (x, y) in &points { circle class=(class) cx=(x) cy=(y) r="4" {} }
    }
}

fn key(class: &str, left: f64, text: &str) -> Markup {
    html! {
        path class=(class) d={ "M" (left) " 46h28" } {}
        text x=(left + 36.0) y="51" { (text) }
    }
}

/// The place of a number of processes, if it lies on the axis.
fn x(rates: &Rates, procs: f64) -> Option<f64> {
    rates.place(procs).map(|place| LEFT + place * (WIDTH - LEFT - RIGHT))
}

/// The place of a share of the highest step.
fn y(share: f64) -> f64 {
    round(TOP + (1.0 - share.clamp(0.0, 1.0)) * (HEIGHT - TOP - BOTTOM))
}

/// To a tenth of a pixel.
fn round(place: f64) -> f64 {
    (place * 10.0).round() / 10.0
}
