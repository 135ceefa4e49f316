//! Charts of the CPU time per request over the window, not adjusted and adjusted for load and mix, and of the load.

use steady_model::{Metric, Nanos, Timestamp};
use steady_render::chart::{Axis, Chart, Height, Look, Marks, Series};
use steady_render::document::{Block, Section, Shown};
use steady_render::letters::count;
use steady_render::scale::{Kind, Scale};
use steady_render::timestamp;

use super::{LOOKS, on_pages, series};
use crate::document::{plain, versions};
use crate::record::{ReleaseMoment, ReleaseReport};

/// Most points of a line. More time steps are averaged.
const MOST: usize = 600;
/// Longest gap that a line crosses, in steps. With a switchback, slots of the other version are such gaps.
const GAP: f64 = 3.5;

/// Selects the means of OLD and NEW of a time step.
type Pick = fn(&ReleaseMoment) -> [Option<Nanos>; 2];

/// One or more time steps: their bounds in seconds since the window began, and their means.
struct Stretch {
    from: f64,
    to: f64,
    raw: [Option<f64>; 2],
    adjusted: [Option<f64>; 2],
    busy: Option<f64>,
    rulers: Option<f64>,
}

/// Returns the charts over time, or a sentence if no time step has a mean.
pub(in crate::document) fn course(report: &ReleaseReport) -> Vec<Section> {
    let stretches = stretches(report);
    let Some(values) = axis(&stretches) else {
        let nothing = "Not available: no time step of the window has a CPU time per request.".to_owned();
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
    let (raw, adjusted) = ("not adjusted for load", "adjusted for load and mix of routes");
    let heading = |label: &str| format!("CPU time per request over time, {label}");
    let mut sections = vec![on_pages(&heading(raw), [chart(raw, |one| one.raw)])];
    // If the versions never served at the same time, there are no adjusted means.
    if stretches.iter().any(|one| one.adjusted.iter().any(Option::is_some)) {
        sections.push(on_pages(&heading(adjusted), [chart(adjusted, |one| one.adjusted)]));
    }
    sections.push(load(report, &stretches, time));
    sections
}

/// Groups consecutive time steps so that at most [`MOST`] groups remain.
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

/// Returns a common axis for both charts, so that readers can compare them. Returns `None` if there are no means.
fn axis(stretches: &[Stretch]) -> Option<Scale> {
    let all = || stretches.iter().flat_map(|one| one.raw.into_iter().chain(one.adjusted)).flatten();
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    (low <= high).then(|| Scale::new(Kind::Cost(Metric::Cpu), low, high).padded())
}

/// Returns step lines, one for each run of stretches without a gap longer than [`GAP`]. Only the first line has the
/// name.
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

/// Returns the charts of the load: CPU utilisation, and the readings of the rulers relative to their mean.
fn load(report: &ReleaseReport, stretches: &[Stretch], time: Scale) -> Section {
    let chart = |label: &str, y: Scale, series: Vec<Series>| Chart {
        label: label.to_owned(),
        height: Height::Low,
        x: Axis::Scale(time),
        y: Axis::Scale(y),
        series,
        note: None,
    };
    let busy = lines(stretches, "CPU utilisation", Look::Third, |one| one.busy.map(|share| share.clamp(0.0, 1.0)));
    let factors = || stretches.iter().filter_map(|one| one.rulers).filter(|factor| *factor > 0.0);
    let (low, high) = (factors().fold(1.0, f64::min), factors().fold(1.0, f64::max));
    let name = "rulers: above their mean, the machine is slower than on average";
    let logs = |one: &Stretch| one.rulers.filter(|factor| *factor > 0.0).map(f64::ln);
    let mut rulers = lines(stretches, name, Look::Third, logs);
    let absent: Vec<&str> = [(busy.is_empty(), "CPU utilisation"), (rulers.is_empty(), "readings of rulers")]
        .into_iter()
        .filter_map(|(is_absent, what)| is_absent.then_some(what))
        .collect();
    let mut charts = Vec::new();
    if !busy.is_empty() {
        let label = "CPU utilisation of the hosts over the window.";
        // The axis ends above 100 %, so that a line at 100 % is visible.
        charts.push(chart(label, Scale::new(Kind::Share, 0.0, 1.06), busy));
    }
    if !rulers.is_empty() {
        rulers.insert(0, series("their mean", Look::Rest, Marks::Across(0.0)));
        let scale = Scale::new(Kind::Change, low.max(1e-9).ln(), high.max(1e-9).ln()).padded();
        charts.push(chart("Readings of the rulers over the window, relative to their mean.", scale, rulers));
    }
    let mut section = on_pages("Load over time", charts);
    let begun = timestamp::text(Timestamp(report.question.from));
    let merged = report.course.moments.len().div_ceil(MOST);
    let mut note = format!("x axis: time since {begun}.");
    if merged > 1 {
        note += &format!(" Each point is the mean of {}.", count(merged, "time step", "time steps"));
    }
    if !absent.is_empty() {
        note += &format!(" Not measured: {}.", absent.join(", "));
    }
    section.blocks.push(Block::Paragraph(plain(note)));
    section
}
