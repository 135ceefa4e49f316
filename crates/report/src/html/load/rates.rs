//! The charts of what gets done by number of processes: per process, and all together with the law that fits.

use maud::{Markup, html};
use steady_model::{LoadReport, ScalabilityLaw};

use crate::html::svg::{Path, Plot, sample};
use crate::text::load::rates::{MOST_DRAWN, Rate, Rates, steps};
use crate::units::short;

/// The points of the law's curve.
const CURVE: usize = 120;

/// Both charts; a sentence with fewer than two points.
pub(super) fn draw(report: &LoadReport) -> Markup {
    let Some(rates) = Rates::of(report) else {
        return html! { p.note { "There is no chart: it takes two numbers of processes." } };
    };
    let law = report.scaling.as_ref().ok().and_then(|scaling| scaling.law.as_ref().ok());
    html! {
        section {
            h2 { (rates.what()) " per CPU " (rates.per) " and per wall " (rates.per) }
            figure { (each(&rates)) }
            h3 { (rates.what()) " per " (rates.per) " of all together" }
            figure { (together(&rates, law)) }
        }
    }
}

/// What one process gets done.
fn each(rates: &Rates) -> Markup {
    let ticks = steps(rates.top());
    let label = format!(
        "{} per CPU {} and per wall {} of one process, from {} to {} processes at once.",
        rates.what(),
        rates.per,
        rates.per,
        first(rates),
        last(rates)
    );
    let inside = html! {
        (edges(rates))
        (line(rates, &ticks, "perwall", |point| point.per_wall))
        (line(rates, &ticks, "percpu", |point| point.per_cpu))
    };
    html! {
        (chart(rates, &label, &ticks, inside))
        p.key {
            span { (sample("percpu")) "per CPU " (rates.per) }
            span { (sample("perwall")) "per wall " (rates.per) }
            (edge_key(rates))
        }
        p.note { "Below: processes at once" @if rates.logarithmic { ", in equal factors" } "." }
    }
}

/// What all of them get done.
fn together(rates: &Rates, law: Option<&ScalabilityLaw>) -> Markup {
    let curve = law.map(|law| curve(rates, law)).unwrap_or_default();
    let most = rates.points.iter().map(|point| point.throughput).chain(curve.iter().map(|(_, value)| *value));
    let ticks = steps(most.fold(0.0, f64::max));
    let top = ticks.last().copied().unwrap_or(1.0);
    let mut path = Path::default();
    for (index, (place, value)) in curve.iter().enumerate() {
        let to = (*place, (value / top).clamp(0.0, 1.0));
        if index == 0 { path.start(to) } else { path.on(to) }
    }
    let inside =
        html! { (edges(rates)) (path.draw("estimate")) (line(rates, &ticks, "percpu", |point| point.throughput)) };
    let label = format!(
        "{} per {} of all processes together, from {} to {} at once.",
        rates.what(),
        rates.per,
        first(rates),
        last(rates)
    );
    html! {
        (chart(rates, &label, &ticks, inside))
        p.key {
            span { (sample("percpu")) "measured" }
            @if !curve.is_empty() { span { (sample("estimate")) "Universal Scalability Law" } }
            (edge_key(rates))
        }
    }
}

/// The law's throughput along the axis.
fn curve(rates: &Rates, law: &ScalabilityLaw) -> Vec<(f64, f64)> {
    let (low, high) = (rates.points[0].procs, rates.points[rates.points.len() - 1].procs);
    let at = |index: usize| {
        let share = index as f64 / CURVE as f64;
        let n = if rates.logarithmic { low * (high / low).powf(share) } else { low + (high - low) * share };
        let value = law.lambda.value * n / (1.0 + law.sigma.value * (n - 1.0) + law.kappa.value * n * (n - 1.0));
        (rates.place(n).unwrap_or(share), value * rates.scale)
    };
    (0..=CURVE).map(at).filter(|(_, value)| (0.0..=MOST_DRAWN).contains(value)).collect()
}

/// A series: its line, and a dot at each point.
fn line(rates: &Rates, ticks: &[f64], class: &str, pick: fn(&Rate) -> f64) -> Markup {
    let top = ticks.last().copied().unwrap_or(1.0);
    let (mut path, mut dots) = (Path::default(), Path::default());
    for (index, point) in rates.points.iter().enumerate() {
        let to = (rates.place(point.procs).unwrap_or(0.0), (pick(point) / top).clamp(0.0, 1.0));
        if index == 0 {
            path.start(to)
        } else {
            path.on(to)
        }
        dots.dot(to.0, to.1);
    }
    html! { (path.draw(class)) (dots.draw(&format!("dots few {class}"))) }
}

/// Where cores, CPUs and the quota end.
fn edges(rates: &Rates) -> Markup {
    let mut path = Path::default();
    for place in rates.marks.iter().filter_map(|(at, _)| rates.place(*at)) {
        path.line((place, 0.0), (place, 1.0));
    }
    path.draw("look")
}

fn edge_key(rates: &Rates) -> Markup {
    let seen: Vec<&str> =
        rates.marks.iter().filter(|(at, _)| rates.place(*at).is_some()).map(|(_, text)| text.as_str()).collect();
    html! { @if !seen.is_empty() { span { (sample("look")) (seen.join(", then ")) } } }
}

/// The axes.
fn chart(rates: &Rates, label: &str, ticks: &[f64], inside: Markup) -> Markup {
    let top = ticks.last().copied().unwrap_or(1.0);
    let y: Vec<(f64, String)> = ticks.iter().map(|tick| (tick / top, short(*tick))).collect();
    Plot { label, height: "tall", x: &numbers(rates), x_labels: true, y: &y, inside }.draw()
}

/// As many numbers of processes as have room, the last among them.
fn numbers(rates: &Rates) -> Vec<(f64, String)> {
    let mut ticks: Vec<(f64, String)> = Vec::new();
    for point in rates.points.iter().rev() {
        let (place, text) = (rates.place(point.procs).unwrap_or(0.0), short(point.procs));
        let apart = 0.035 + 0.025 * text.len() as f64;
        if ticks.last().is_none_or(|(before, _)| before - place >= apart) {
            ticks.push((place, text));
        }
    }
    ticks
}

fn first(rates: &Rates) -> String {
    short(rates.points[0].procs)
}

fn last(rates: &Rates) -> String {
    short(rates.points[rates.points.len() - 1].procs)
}
