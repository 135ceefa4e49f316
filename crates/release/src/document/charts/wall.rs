//! Charts of the wall time: its distribution with both versions, and the parts of its mean.

use steady_model::{Metric, Nanos};
use steady_render::chart::{Axis, Bar, Chart, Height, Look, Marks};
use steady_render::document::{Block, Section, Shown};
use steady_render::scale::{Kind, Scale};
use steady_render::units::{time, time_unit};

use super::{LOOKS, on_pages, series};
use crate::document::wall::PARTS;
use crate::document::{plain, versions};
use crate::record::{ReleaseReport, ReleaseWall, WallBin, WallParts};

/// Share of the requests at each end of the distribution that the chart leaves out.
const TAIL: f64 = 0.001;
/// Styles of the parts of wall time: on a CPU, waiting for a CPU, blocked.
const OF_PARTS: [Look; 3] = [Look::Rest, Look::First, Look::Third];

/// Returns the charts of the distribution and of the parts, as far as they are available.
pub(in crate::document) fn wall(report: &ReleaseReport) -> Vec<Section> {
    let Ok(wall) = &report.wall else { return Vec::new() };
    let mut sections = Vec::new();
    if !wall.distribution.is_empty() {
        sections.push(distribution(report, wall));
    }
    sections.extend(wall.parts.as_ref().ok().and_then(|parts| of_parts(report, parts)));
    sections
}

/// Charts both distributions as outlines over a logarithmic axis of times.
fn distribution(report: &ReleaseReport, wall: &ReleaseWall) -> Section {
    const HEADING: &str = "Distribution of wall time";
    let bins = shown(&wall.distribution);
    let most = bins.iter().flat_map(|bin| bin.shares).fold(0.0, f64::max);
    let ends = bins.first().zip(bins.last()).map(|(first, last)| (first.below.seconds(), last.below.seconds()));
    let Some((low, high)) = ends.filter(|(low, high)| bins.len() >= 3 && most > 0.0 && low < high) else {
        let few = match most > 0.0 {
            true => "Not available: nearly all requests have the same wall time.".to_owned(),
            false => "Not available: there are too few requests.".to_owned(),
        };
        return Section::new(HEADING, vec![Block::Paragraph(plain(few))]).shown(Shown::OnPages);
    };
    let (unit, scale) = time_unit(high);
    let log = |seconds: f64| (seconds * scale).ln();
    let outline = |side: usize| {
        let mut points = vec![(log(low), 0.0)];
        let mut left = log(low);
        for bin in &bins {
            let (right, top) = (log(bin.below.seconds()), bin.shares[side]);
            points.extend([(left, top), (right, top)]);
            left = right;
        }
        Marks::Line(points)
    };
    let [old, new] = versions(report);
    let chart = Chart {
        label: format!("Distribution of the wall time of requests with {old} and with {new}."),
        height: Height::Middle,
        x: Axis::Scale(Scale::new(Kind::LogNumber, log(low), log(high))),
        y: Axis::Scale(Scale::new(Kind::Share, 0.0, 1.04 * most)),
        series: vec![series(&old, LOOKS[0], outline(0)), series(&new, LOOKS[1], outline(1))],
        note: Some(format!(
            "x axis: wall time of a request in {unit} (log scale); y axis: share of the version's requests. The \
             outermost 0.1 % of the requests at each end are left out."
        )),
    };
    on_pages(HEADING, [chart])
}

/// Returns the bins of the distribution without its tails.
fn shown(distribution: &[WallBin]) -> Vec<WallBin> {
    let sum = |bins: &[WallBin], side: usize| bins.iter().map(|bin| bin.shares[side]).sum::<f64>();
    let is_kept = |at: usize| {
        let (below, above) = (&distribution[..=at], &distribution[at..]);
        (0..2).any(|side| sum(below, side) > TAIL) && (0..2).any(|side| sum(above, side) > TAIL)
    };
    let kept = (0..distribution.len()).filter(|at| is_kept(*at)).map(|at| distribution[at]);
    kept.filter(|bin| bin.below > Nanos::ZERO).collect()
}

/// Charts the mean of each version as a stacked bar of its parts. Returns `None` if all parts are zero.
fn of_parts(report: &ReleaseReport, parts: &WallParts) -> Option<Section> {
    let parts = parts.in_order().map(|part| part.map(Nanos::seconds));
    let longest = [0, 1].map(|side| parts.iter().map(|part| part[side]).sum::<f64>()).into_iter().fold(0.0, f64::max);
    if longest <= 0.0 {
        return None;
    }
    let bars = |at: usize| {
        let bar = |side: usize| {
            let from: f64 = parts[..at].iter().map(|part| part[side]).sum();
            Bar { row: side, from, to: from + parts[at][side], text: time(parts[at][side]) }
        };
        Marks::Bars(vec![bar(0), bar(1)])
    };
    let name = |at: usize| PARTS[at].split(':').next().unwrap_or_default();
    let chart = Chart {
        label: "Parts of the mean wall time".to_owned(),
        height: Height::Low,
        x: Axis::Scale(Scale::new(Kind::Cost(Metric::Wall), 0.0, longest)),
        y: Axis::Names(versions(report).into()),
        series: (0..PARTS.len()).map(|at| series(name(at), OF_PARTS[at], bars(at))).collect(),
        note: None,
    };
    Some(on_pages("Parts of the mean wall time", [chart]))
}
