//! CPU time per request over the window, as it was and with load and mix taken off, and the load below it.

use steady_model::{Metric, Nanos, Timestamp};
use steady_render::chart::{Axis, Chart, Height, Look, Marks, Series};
use steady_render::document::{Block, Section, Shown};
use steady_render::letters::count;
use steady_render::scale::{Kind, Scale};
use steady_render::timestamp;

use super::{LOOKS, on_pages, series};
use crate::document::{plain, versions};
use crate::record::{ReleaseMoment, ReleaseReport};

/// More moments than this are drawn as means of several.
const MOST: usize = 600;
/// A line goes on through gaps of so many stretches: one version's slots have the other's between them.
const GAP: f64 = 3.5;

/// A reading of a moment for each version.
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

/// The charts; a sentence if nothing is known.
pub(in crate::document) fn course(report: &ReleaseReport) -> Vec<Section> {
    let stretches = stretches(report);
    let Some(values) = axis(&stretches) else {
        let nothing = "There is nothing to draw: no moment of the window is known.".to_owned();
        return vec![Section::new("Over time", vec![Block::Paragraph(plain(nothing))]).shown(Shown::OnPages)];
    };
    let time = Scale::new(Kind::Clock, 0.0, stretches.last().map_or(1.0, |last| last.to));
    let chart = |label: &str, of: fn(&Stretch) -> [Option<f64>; 2]| {
        let lines = versions(report)
            .into_iter()
            .enumerate()
            .flat_map(|(side, version)| lines(&stretches, &version, LOOKS[side], |one| of(one)[side]));
        Chart {
            label: format!("CPU time per request of both versions over the window, {label}."),
            height: Height::Middle,
            x: Axis::Scale(time),
            y: Axis::Scale(values),
            series: lines.collect(),
            note: None,
        }
    };
    let taken_off = "with load and mix of routes taken off";
    vec![
        on_pages("CPU time per request over time, as it was", [chart("as it was", |one| one.raw)]),
        on_pages(&format!("The same, {taken_off}"), [chart(taken_off, |one| one.adjusted)]),
        load(report, &stretches, time),
    ]
}

/// The moments as stretches; of many several together.
fn stretches(report: &ReleaseReport) -> Vec<Stretch> {
    let course = &report.course;
    let group = course.moments.len().div_ceil(MOST).max(1);
    let since = |second: u64| second.saturating_sub(report.question.from) as f64;
    let mean = |moments: &[ReleaseMoment], pick: Pick, side: usize| {
        let each = moments
            .iter()
            .filter_map(|one| Some((pick(one)[side]?.seconds().ln(), one.requests()[side].max(1) as f64)));
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
            from: since(first.at_seconds),
            to: since(last.at_seconds.saturating_add(course.step_seconds.max(1))),
            raw: [0, 1].map(|side| mean(moments, ReleaseMoment::raw, side)),
            adjusted: [0, 1].map(|side| mean(moments, ReleaseMoment::adjusted, side)),
            busy: plain(moments, |one| one.busy_ratio.as_ref().ok().copied()),
            rulers: plain(moments, |one| one.rulers_ratio.as_ref().ok().copied()),
        })
    };
    course.moments.chunks(group).filter_map(stretch).collect()
}

/// One axis for both charts, so that they can be compared.
fn axis(stretches: &[Stretch]) -> Option<Scale> {
    let all = || stretches.iter().flat_map(|one| one.raw.into_iter().chain(one.adjusted)).flatten();
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    (low <= high).then(|| Scale::new(Kind::Cost(Metric::Cpu), low, high).padded())
}

/// Steps, each as long as its stretch; a line for each piece without a gap, of which the first is named.
fn lines(stretches: &[Stretch], name: &str, look: Look, of: impl Fn(&Stretch) -> Option<f64>) -> Vec<Series> {
    let mut pieces: Vec<Vec<(f64, f64)>> = Vec::new();
    for one in stretches {
        let Some(value) = of(one) else { continue };
        let goes_on =
            |piece: &Vec<(f64, f64)>| piece.last().is_some_and(|(end, _)| one.from - end <= GAP * (one.to - one.from));
        let step = [(one.from, value), (one.to, value)];
        match pieces.last_mut().filter(|piece| goes_on(piece)) {
            Some(piece) => piece.extend(step),
            None => pieces.push(step.into()),
        }
    }
    let named = |(at, piece)| Series { name: (at == 0).then(|| name.to_owned()), look, marks: Marks::Line(piece) };
    pieces.into_iter().enumerate().map(named).collect()
}

/// How busy the CPUs were, and the rulers over their mean.
fn load(report: &ReleaseReport, stretches: &[Stretch], time: Scale) -> Section {
    let chart = |label: &str, y: Scale, series: Vec<Series>| Chart {
        label: label.to_owned(),
        height: Height::Low,
        x: Axis::Scale(time),
        y: Axis::Scale(y),
        series,
        note: None,
    };
    let busy = lines(stretches, "CPUs busy", Look::Third, |one| one.busy.map(|share| share.clamp(0.0, 1.0)));
    let factors = || stretches.iter().filter_map(|one| one.rulers).filter(|factor| *factor > 0.0);
    let (low, high) = (factors().fold(1.0, f64::min), factors().fold(1.0, f64::max));
    let name = "rulers: the machine slower or faster than on average";
    let logs = |one: &Stretch| one.rulers.filter(|factor| *factor > 0.0).map(f64::ln);
    let mut rulers = lines(stretches, name, Look::Third, logs);
    let absent: Vec<&str> = [(busy.is_empty(), "how busy the CPUs were"), (rulers.is_empty(), "what rulers read")]
        .into_iter()
        .filter_map(|(is_absent, what)| is_absent.then_some(what))
        .collect();
    let mut charts = Vec::new();
    if !busy.is_empty() {
        let label = "Share of time in which the hosts' CPUs did something, over the window.";
        // Above all of the time there is room for the line.
        charts.push(chart(label, Scale::new(Kind::Share, 0.0, 1.06), busy));
    }
    if !rulers.is_empty() {
        rulers.insert(0, series("their mean", Look::Rest, Marks::Across(0.0)));
        let scale = Scale::new(Kind::Change, low.max(1e-9).ln(), high.max(1e-9).ln()).padded();
        charts.push(chart("What rulers read over the window, relative to their mean.", scale, rulers));
    }
    let mut section = on_pages("The load at the same time", charts);
    let begun = timestamp::text(Timestamp(report.question.from));
    let merged = report.course.moments.len().div_ceil(MOST);
    let mut note = format!("From left to right: time since {begun}.");
    if merged > 1 {
        note += &format!(" Drawn are means of {} in a row.", count(merged, "stretch", "stretches"));
    }
    if !absent.is_empty() {
        note += &format!(" It is not known {}.", absent.join(" and "));
    }
    section.blocks.push(Block::Paragraph(plain(note)));
    section
}
