//! Wall time: its distribution under both versions, and where it goes.

use maud::{Markup, html};
use steady_model::{Metric, Nanos, ReleaseReport, ReleaseWall};

use super::key;
use crate::html::scale::{Kind, Scale};
use crate::html::svg::{Path, Plot, rectangle, sample};
use crate::html::tree::tree;
use crate::units::{TIE, percent, short, time, time_unit};
use crate::words::release;

/// The parts of wall time: the class of their colour, and their name.
const PARTS: [(&str, &str); 3] = [("user", "on a CPU"), ("waiting", "waiting for a CPU"), ("blocked", "blocked")];
/// Labels are so far apart that they have room on a phone.
const APART: f64 = 0.16;
/// Of each tail this share is not drawn.
const TAIL: f64 = 0.001;

/// The distribution, the parts and the table; the reason where wall time is absent.
pub(super) fn draw(report: &ReleaseReport) -> Markup {
    let heads = release::wall_heads(report);
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    html! {
        section {
            h2 { (release::wall_heading(report)) }
            @match (&report.wall, &release::wall(report)) {
                (Ok(wall), Ok(times)) => {
                    @if !wall.distribution.is_empty() { (distribution(report, wall)) }
                    (parts(report, wall))
                    (tree(times, &heads, ""))
                }
                (Err(absent), _) | (_, Err(absent)) => p.note { "Absent: " (release::named_reason(&absent.0)) "." },
            }
        }
    }
}

/// Both distributions as outlines over one axis of times in equal factors.
fn distribution(report: &ReleaseReport, wall: &ReleaseWall) -> Markup {
    let bars = shown(&wall.distribution);
    let most = bars.iter().flat_map(|(_, shares)| *shares).fold(0.0, f64::max);
    let (Some(first), Some(last), true) = (bars.first(), bars.last(), most > 0.0) else {
        return html! { p.note { "There are too few requests to draw their distribution." } };
    };
    let (low, high) = (first.0.ln(), last.0.ln());
    if bars.len() < 3 || high <= low {
        return html! { p.note { "There are too few requests to draw their distribution." } };
    }
    let place = |seconds: f64| ((seconds.ln() - low) / (high - low)).clamp(0.0, 1.0);
    let outline = |side: usize| {
        let mut path = Path::default();
        path.start((0.0, 0.0));
        let mut left = 0.0;
        for (end, shares) in &bars {
            let (right, top) = (place(*end), (shares[side] / most * 0.96).clamp(0.0, 1.0));
            path.on((left, top));
            path.on((right, top));
            left = right;
        }
        path
    };
    let inside = html! { (outline(0).draw("percpu")) (outline(1).draw("perwall")) };
    let mut ticks: Vec<(f64, String)> = Vec::new();
    for one in round_times(first.0, last.0) {
        if ticks.last().is_none_or(|(before, _)| place(one) - before >= APART) {
            ticks.push((place(one), brief(one)));
        }
    }
    let y = [(0.0, String::new()), (0.96, percent(most))];
    let [old, new] = release::versions(report);
    let label = format!("Distribution of wall time under {old} and under {new}.");
    html! {
        h3 { "How it is distributed" }
        figure {
            (Plot { label: &label, height: "middle", x: &ticks, x_labels: true, y: &y, inside }.draw())
            p.key { (key(report)) span { "heights: share of the version's requests" } }
            p.note { "Below: wall time of a request, in equal factors; what is rarer than one in a thousand at the ends is left out." }
        }
    }
}

/// The distribution without its long ends, times in seconds.
fn shown(distribution: &[(Nanos, [f64; 2])]) -> Vec<(f64, [f64; 2])> {
    let ended = |below: &[(Nanos, [f64; 2])], side: usize| below.iter().map(|(_, shares)| shares[side]).sum::<f64>();
    let kept = |at: usize| {
        let (below, above) = (&distribution[..=at], &distribution[at..]);
        (0..2).any(|side| ended(below, side) > TAIL) && (0..2).any(|side| ended(above, side) > TAIL)
    };
    let all = (0..distribution.len()).filter(|at| kept(*at)).map(|at| distribution[at]);
    all.filter(|(end, _)| *end > Nanos::ZERO).map(|(end, shares)| (end.seconds(), shares)).collect()
}

/// A time of one digit: `5 ms`.
fn brief(seconds: f64) -> String {
    let (unit, scale) = time_unit(seconds);
    format!("{}{TIE}{unit}", short(seconds * scale))
}

/// Times of one digit, 1, 2 and 5 of each power where they are few.
fn round_times(low: f64, high: f64) -> Vec<f64> {
    let among = |steps: &[f64]| -> Vec<f64> {
        let each = |power: i32| steps.iter().map(move |step| step * 10f64.powi(power)).collect::<Vec<_>>();
        (-9..=6).flat_map(each).filter(|one| (low..=high).contains(one)).collect()
    };
    let dense = among(&[1.0, 2.0, 5.0]);
    if dense.len() <= 7 { dense } else { among(&[1.0]) }
}

/// The mean of each version as a bar of its parts.
fn parts(report: &ReleaseReport, wall: &ReleaseWall) -> Markup {
    let Ok(parts) = &wall.parts else { return html! {} };
    let whole = [0, 1].map(|side| parts.iter().map(|part| part[side].seconds()).sum::<f64>());
    let longest = whole[0].max(whole[1]);
    if longest <= 0.0 {
        return html! {};
    }
    let axis = Scale::new(Kind::Cost(Metric::Wall), 0.0, longest);
    let ticks = axis.ticks();
    html! {
        h3 { "Where the mean goes" }
        @for (side, name) in release::versions(report).iter().enumerate() {
            h4 { (name) }
            (bar(&parts.map(|part| part[side].seconds()), name, (&axis, &ticks), side == 1))
        }
        p.key { @for (class, what) in PARTS { span { (sample(class)) (what) } } }
    }
}

fn bar(seconds: &[f64; 3], name: &str, (axis, ticks): (&Scale, &[(f64, String)]), labels: bool) -> Markup {
    let mut from = 0.0;
    let mut pieces = Vec::new();
    for ((class, what), length) in PARTS.iter().zip(seconds) {
        pieces.push(((axis.clamped(from), axis.clamped(from + length)), *class, format!("{what} {}", time(*length))));
        from += length;
    }
    let words = pieces.iter().map(|(_, _, text)| text.as_str()).collect::<Vec<_>>().join(", ");
    let inside = html! { @for (ends, class, text) in &pieces { (rectangle(*ends, (0.1, 0.9), class, text)) } };
    let label = format!("{name}: {words}.");
    html! {
        (Plot { label: &label, height: "bar", x: ticks, x_labels: labels, y: &[], inside }.draw())
        p.note { (words) }
    }
}
