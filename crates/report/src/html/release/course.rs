//! CPU time per request over the window, as it was and with load and mix taken off, and the load below it.

use maud::{Markup, html};
use steady_model::{Metric, Nanos, ReleaseMoment, ReleaseReport};

use super::key;
use crate::html::scale::{Kind, Scale};
use crate::html::svg::{Path, Plot, sample};
use crate::json::started;
use crate::units::percent;
use crate::words::count;

/// More moments than this are drawn as means of several.
const MOST: usize = 600;
/// How high all of the time is drawn: below the edge, where a line would lose half of its width.
const FULL: f64 = 0.94;
/// The classes of the lines of OLD and NEW.
const LINES: [&str; 2] = ["percpu", "perwall"];

/// A reading of a moment for each version, in seconds.
type Pick = fn(&ReleaseMoment) -> [Option<Nanos>; 2];

/// A stretch of time, in seconds since the window began, and what was read in it.
struct Stretch {
    from: f64,
    to: f64,
    raw: [Option<f64>; 2],
    adjusted: [Option<f64>; 2],
    busy: Option<f64>,
    rulers: Option<f64>,
}

/// The charts; a sentence where nothing is known.
pub(super) fn draw(report: &ReleaseReport) -> Markup {
    let stretches = stretches(report);
    let Some(values) = axis(&stretches) else {
        return html! {
            section { h2 { "Over time" } p.note { "There is nothing to draw: no moment of the window is known." } }
        };
    };
    let end = stretches.last().map_or(1.0, |last| last.to);
    let time = Scale::new(Kind::Clock, 0.0, end);
    let merged = report.course.moments.len().div_ceil(MOST);
    html! {
        section {
            h2 { "CPU time per request over time" }
            h3 { "As it was" }
            figure { (chart("as it was", &stretches, (&time, &values), |one| one.raw)) }
            h3 { "With load and mix of routes taken off" }
            figure { (chart("with load and mix of routes taken off", &stretches, (&time, &values), |one| one.adjusted)) }
            p.key { (key(report)) }
            h3 { "The load meanwhile" }
            figure { (load(&stretches, &time)) }
            p.note {
                "Below: time since " (started(steady_model::Timestamp(report.question.from))) "."
                @if merged > 1 { " Drawn are means of " (count(merged, "stretch", "stretches")) " in a row." }
            }
        }
    }
}

/// The moments as stretches; of many several together.
fn stretches(report: &ReleaseReport) -> Vec<Stretch> {
    let course = &report.course;
    let group = course.moments.len().div_ceil(MOST).max(1);
    let since = |second: u64| second.saturating_sub(report.question.from) as f64;
    let mean = |moments: &[ReleaseMoment], pick: Pick, side: usize| {
        let each =
            moments.iter().filter_map(|one| Some((pick(one)[side]?.seconds().ln(), one.requests[side].max(1) as f64)));
        let (sum, weight) = each.fold((0.0, 0.0), |(sum, weight), (log, one)| (sum + one * log, weight + one));
        Some((sum / weight).exp()).filter(|mean| mean.is_finite() && *mean > 0.0)
    };
    let plain = |moments: &[ReleaseMoment], pick: fn(&ReleaseMoment) -> Option<f64>| {
        let known: Vec<f64> = moments.iter().filter_map(pick).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64).filter(|mean| mean.is_finite())
    };
    let stretch = |moments: &[ReleaseMoment]| {
        let (first, last) = (moments.first()?, moments.last()?);
        Some(Stretch {
            from: since(first.second),
            to: since(last.second.saturating_add(course.step_seconds.max(1))),
            raw: [0, 1].map(|side| mean(moments, |one| one.raw, side)),
            adjusted: [0, 1].map(|side| mean(moments, |one| one.adjusted, side)),
            busy: plain(moments, |one| one.busy),
            rulers: plain(moments, |one| one.rulers),
        })
    };
    course.moments.chunks(group).filter_map(stretch).collect()
}

/// One axis for both charts, so that they can be held against each other.
fn axis(stretches: &[Stretch]) -> Option<Scale> {
    let all = || stretches.iter().flat_map(|one| one.raw.into_iter().chain(one.adjusted)).flatten();
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    (low <= high).then(|| Scale::new(Kind::Cost(Metric::Cpu), low, high).padded())
}

fn chart(
    what: &str,
    stretches: &[Stretch],
    (time, values): (&Scale, &Scale),
    pick: fn(&Stretch) -> [Option<f64>; 2],
) -> Markup {
    let inside = html! {
        @for (side, class) in LINES.iter().enumerate() { (line(stretches, time, class, |one| pick(one)[side].map(|value| values.clamped(value)))) }
    };
    let label = format!("CPU time per request of both versions over the window, {what}.");
    Plot { label: &label, height: "middle", x: &time.ticks(), x_labels: true, y: &values.ticks(), inside }.draw()
}

/// Steps, each as long as its stretch; where nothing is known, there is a gap.
fn line(stretches: &[Stretch], time: &Scale, class: &str, place: impl Fn(&Stretch) -> Option<f64>) -> Markup {
    let mut path = Path::default();
    let mut end = None;
    for one in stretches {
        let Some(y) = place(one) else { continue };
        let (left, right) = (time.clamped(one.from), time.clamped(one.to));
        // One version's slots have the other's between them: the line goes on through short gaps.
        match end {
            Some(before) if left - before <= 3.5 * (right - left) => path.on((left, y)),
            _ => path.start((left, y)),
        }
        path.on((right, y));
        end = Some(right);
    }
    path.draw(class)
}

/// How busy the CPUs were, and the rulers over their mean.
fn load(stretches: &[Stretch], time: &Scale) -> Markup {
    let rulers = || stretches.iter().filter_map(|one| one.rulers);
    let (busy, read) = (stretches.iter().any(|one| one.busy.is_some()), rulers().next().is_some());
    if !busy && !read {
        return html! { p.note { "Neither how busy the CPUs were nor what rulers read is known." } };
    }
    let ticks = vec![(0.5 * FULL, percent(0.5)), (FULL, percent(1.0))];
    let busy_line = html! { (line(stretches, time, "busy", |one| one.busy.map(|share| share.clamp(0.0, 1.0) * FULL))) };
    let (low, high) = (rulers().fold(1.0, f64::min), rulers().fold(1.0, f64::max));
    let factors = Scale::new(Kind::Change, low.max(1e-9).ln(), high.max(1e-9).ln()).padded();
    let rulers_line = html! {
        (crate::html::svg::across(&factors, 0.0, "zero"))
        (line(stretches, time, "estimate", |one| one.rulers.filter(|factor| *factor > 0.0).map(|factor| factors.clamped(factor.ln()))))
    };
    let busy_label = "Share of time in which the hosts' CPUs did something, over the window.";
    let rulers_label = "What rulers read over the window, beside their mean.";
    html! {
        @if busy { (Plot { label: busy_label, height: "low", x: &time.ticks(), x_labels: true, y: &ticks, inside: busy_line }.draw()) }
        @if read { (Plot { label: rulers_label, height: "low", x: &time.ticks(), x_labels: true, y: &factors.ticks(), inside: rulers_line }.draw()) }
        p.key {
            @if busy { span { (sample("busy")) "CPUs busy" } } @else { span { "CPUs busy: absent" } }
            @if read {
                span { (sample("estimate")) "rulers: the machine slower or faster than on average" }
                span { (sample("zero")) "their mean" }
            } @else { span { "rulers: absent" } }
        }
    }
}
