//! Wall time: its distribution under both versions, and where it goes.

use steady_model::{Metric, Nanos};
use steady_render::chart::{Axis, Bar, Chart, Height, Look, Marks};
use steady_render::document::{Block, Section, Shown};
use steady_render::scale::{Kind, Scale};
use steady_render::units::{time, time_unit};

use super::{LOOKS, on_pages, series};
use crate::document::wall::PARTS;
use crate::document::{plain, versions};
use crate::record::{ReleaseReport, ReleaseWall, WallBin, WallParts};

/// Of each tail this share is not drawn.
const TAIL: f64 = 0.001;
/// The looks of the parts of wall time.
const OF_PARTS: [Look; 3] = [Look::Rest, Look::First, Look::Third];

/// The distribution and the parts; nothing of wall time that is absent.
pub(in crate::document) fn wall(report: &ReleaseReport) -> Vec<Section> {
    let Ok(wall) = &report.wall else { return Vec::new() };
    let mut sections = Vec::new();
    if !wall.distribution.is_empty() {
        sections.push(distribution(report, wall));
    }
    sections.extend(wall.parts.as_ref().ok().and_then(|parts| of_parts(report, parts)));
    sections
}

/// Both distributions as outlines over one axis of times in equal factors.
fn distribution(report: &ReleaseReport, wall: &ReleaseWall) -> Section {
    const HEADING: &str = "How wall time is distributed";
    let bins = shown(&wall.distribution);
    let most = bins.iter().flat_map(|bin| bin.shares).fold(0.0, f64::max);
    let ends = bins.first().zip(bins.last()).map(|(first, last)| (first.below.seconds(), last.below.seconds()));
    let Some((low, high)) = ends.filter(|(low, high)| bins.len() >= 3 && most > 0.0 && low < high) else {
        let few = "There are too few requests to draw their distribution.".to_owned();
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
        label: format!("Distribution of wall time under {old} and under {new}."),
        height: Height::Middle,
        x: Axis::Scale(Scale::new(Kind::LogNumber, log(low), log(high))),
        y: Axis::Scale(Scale::new(Kind::Share, 0.0, 1.04 * most)),
        series: vec![series(&old, LOOKS[0], outline(0)), series(&new, LOOKS[1], outline(1))],
        note: Some(format!(
            "From left to right: wall time of a request in {unit}, in equal factors; heights: share of the version's \
             requests. What is rarer than one in a thousand at the ends is left out."
        )),
    };
    on_pages(HEADING, [chart])
}

/// The distribution without its long ends.
fn shown(distribution: &[WallBin]) -> Vec<WallBin> {
    let sum = |bins: &[WallBin], side: usize| bins.iter().map(|bin| bin.shares[side]).sum::<f64>();
    let is_kept = |at: usize| {
        let (below, above) = (&distribution[..=at], &distribution[at..]);
        (0..2).any(|side| sum(below, side) > TAIL) && (0..2).any(|side| sum(above, side) > TAIL)
    };
    let kept = (0..distribution.len()).filter(|at| is_kept(*at)).map(|at| distribution[at]);
    kept.filter(|bin| bin.below > Nanos::ZERO).collect()
}

/// The mean of each version as a bar of its parts.
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
        label: "Where the mean wall time goes".to_owned(),
        height: Height::Low,
        x: Axis::Scale(Scale::new(Kind::Cost(Metric::Wall), 0.0, longest)),
        y: Axis::Names(versions(report).into()),
        series: (0..PARTS.len()).map(|at| series(name(at), OF_PARTS[at], bars(at))).collect(),
        note: None,
    };
    Some(on_pages("Where the mean wall time goes", [chart]))
}
