//! Stacked bars of times, all on one axis.

use maud::{Markup, html};
use steady_model::{Difference, ExplainPairReport, ExplainReport, Line, Metric, Priced};

use crate::html::scale::{Kind, Scale};
use crate::html::svg::{Plot, rectangle, sample};
use crate::units::time;

/// A piece of a bar: its class, its name, its seconds.
type Piece = (&'static str, &'static str, f64);

/// What of the CPU time is drawn in one colour.
fn class(priced: Priced) -> (&'static str, &'static str) {
    match priced {
        Priced::MinorFault | Priced::MinorFaultMany | Priced::MinorFaultCold => ("faults", "page faults"),
        Priced::Switch => ("switches", "switches"),
        Priced::Fork | Priced::Vfork | Priced::Thread | Priced::Exec => ("making", "processes, threads and programs"),
        Priced::KernelEntry | Priced::Call(_) => ("calls", "system calls"),
    }
}

/// The pieces of these events, one for each class, what the counting took, and what they leave.
fn pieces(parts: impl Iterator<Item = (Priced, f64)>, (counting, left): (Option<f64>, Option<f64>)) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (priced, seconds) in parts {
        let (class, name) = class(priced);
        match pieces.iter_mut().find(|piece| piece.0 == class) {
            Some(piece) => piece.2 += seconds,
            None => pieces.push((class, name, seconds)),
        }
    }
    pieces.extend(counting.map(|counting| ("counting", "the counting", counting)));
    pieces.extend(left.map(|left| ("unexplained", "unexplained", left)));
    pieces
}

/// The bars of one command: its time, and its CPU time by what was counted.
pub(super) fn one(report: &ExplainReport) -> Markup {
    let record = &report.record;
    let mut whole = vec![("user", "user", record.user.seconds()), ("system", "system", record.system.seconds())];
    let cpu = record.user.seconds() + record.system.seconds();
    match (&record.waiting, &report.blocked) {
        (Ok(waiting), blocked) => {
            whole.push(("waiting", "waiting for a CPU", waiting.seconds()));
            whole.extend(blocked.as_ref().ok().map(|blocked| ("blocked", "blocked", *blocked)));
        }
        (Err(_), _) => whole.push(("blocked", "waiting for a CPU or blocked", record.wall.seconds() - cpu)),
    }
    let left = report.unexplained.as_ref().ok().map(|(left, _)| *left);
    let counting = record.counting_cost.as_ref().ok().filter(|_| !record.plan.trace).map(|cost| cost.seconds());
    let counted = pieces(report.parts.iter().map(|part| (part.priced, part.seconds)), (counting, left));
    bars(&[("All of its time", whole), ("Its CPU time by what it was counted to do, at this host's prices", counted)])
}

/// A bar for each of two commands: CPU time by what was counted, then the rest.
pub(super) fn pair(report: &ExplainPairReport) -> Markup {
    let of = |command: usize| {
        let known = |line: &Difference| line.seconds.as_ref().ok().map(|seconds| seconds[command]);
        let find = |of: Line| report.lines.iter().find(|line| line.line == of).and_then(known);
        let parts = report.lines.iter().filter_map(|line| match line.line {
            Line::Part(priced) => Some((priced, known(line)?)),
            _ => None,
        });
        let mut all = pieces(parts, (None, find(Line::Unexplained)));
        all.extend(find(Line::Waiting).map(|seconds| ("waiting", "waiting for a CPU", seconds)));
        all.extend(find(Line::Blocked).map(|seconds| ("blocked", "blocked", seconds)));
        all.extend(find(Line::OffCpu).map(|seconds| ("blocked", "waiting for a CPU or blocked", seconds)));
        all
    };
    bars(&[("OLD", of(0)), ("NEW", of(1))])
}

/// Bars below one another; the lowest has the labels of the axis.
fn bars(all: &[(&str, Vec<Piece>)]) -> Markup {
    let drawn: Vec<(&str, Vec<Piece>)> = all
        .iter()
        .map(|(name, pieces)| {
            (*name, pieces.iter().copied().filter(|(.., size)| *size > 0.0 && size.is_finite()).collect())
        })
        .collect();
    let length = |pieces: &[Piece]| pieces.iter().map(|(.., size)| size).sum::<f64>();
    let longest = drawn.iter().map(|(_, pieces)| length(pieces)).fold(0.0, f64::max);
    if longest <= 0.0 {
        return html! { p.note { "There is no time to draw." } };
    }
    let axis = Scale::new(Kind::Cost(Metric::Wall), 0.0, longest);
    let ticks = axis.ticks();
    html! {
        @for (index, (name, pieces)) in drawn.iter().enumerate() {
            h3 { (name) }
            (bar(name, pieces, &axis, &ticks, index + 1 == drawn.len()))
        }
    }
}

fn bar(name: &str, pieces: &[Piece], axis: &Scale, ticks: &[(f64, String)], labels: bool) -> Markup {
    let mut from = 0.0;
    let mut placed = Vec::new();
    for (class, what, seconds) in pieces {
        placed.push((axis.clamped(from), axis.clamped(from + seconds), *class, format!("{what} {}", time(*seconds))));
        from += seconds;
    }
    let inside = html! {
        @for (left, right, class, title) in &placed { (rectangle((*left, *right), (0.1, 0.9), class, title)) }
    };
    let words = placed.iter().map(|(.., title)| title.as_str()).collect::<Vec<_>>().join(", ");
    let label = format!("{name}: {words}.");
    html! {
        (Plot { label: &label, height: "bar", x: ticks, x_labels: labels, y: &[], inside }.draw())
        p.key { @for (_, _, class, title) in &placed { span { (sample(class)) (title) } } }
    }
}
