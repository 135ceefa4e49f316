//! Where the time of each command's runs went, as stacked bars on one axis.

use maud::{Markup, html};
use steady_model::{Breakdown, Report};

use super::scale::{Kind, Scale};
use super::svg::{Plot, rectangle, sample};
use crate::units::time;
use crate::words::name;

/// A part of a run's time: its class, its name, its mean in seconds.
type Part = (&'static str, String, f64);

/// A bar per command.
pub(super) fn draw(report: &Report) -> Markup {
    let plan = &report.record.plan;
    let found: Vec<(usize, Option<&Breakdown>)> = (0..plan.commands.len())
        .map(|command| (command, report.breakdowns.iter().find(|one| one.command == command && one.runs > 0)))
        .collect();
    let total = |one: &Breakdown| parts(one).iter().map(|(.., mean)| mean).sum::<f64>();
    let longest = found.iter().filter_map(|(_, one)| one.map(total)).filter(|sum| sum.is_finite()).fold(0.0, f64::max);
    if longest <= 0.0 {
        return html! { p.note { "No time of any run is known." } };
    }
    let axis = Scale::new(Kind::Cost(steady_model::Metric::Wall), 0.0, longest);
    let ticks = axis.ticks();
    let last = found.len() - 1;
    html! {
        @for (command, one) in found {
            h3 { (command + 1) " " code { (name(plan, command)) } }
            @match one {
                Some(one) => (bar(one, command, &axis, &ticks, command == last)),
                None => p.note { "No run succeeded." },
            }
        }
    }
}

/// The bar of one command, and its parts in words in the same order.
fn bar(one: &Breakdown, command: usize, axis: &Scale, ticks: &[(f64, String)], labels: bool) -> Markup {
    let parts = parts(one);
    let ends: Vec<f64> = parts
        .iter()
        .scan(0.0, |sum, (.., mean)| {
            *sum += mean;
            Some(*sum)
        })
        .collect();
    let inside = html! {
        @for ((class, what, mean), end) in parts.iter().zip(&ends) {
            (rectangle((axis.clamped(end - mean), axis.clamped(*end)), (0.1, 0.9), class, &format!("{what} {}", time(*mean))))
        }
    };
    let words = parts.iter().map(|(_, what, mean)| format!("{what} {}", time(*mean))).collect::<Vec<_>>().join(", ");
    let label = format!("Command {}: {words}.", command + 1);
    html! {
        (Plot { label: &label, height: "bar", x: ticks, x_labels: labels, y: &[], inside }.draw())
        p.key {
            @for (class, what, mean) in &parts { span { (sample(class)) (what) " " (time(*mean)) } }
        }
        @for text in told(one) { p.note { (text) } }
    }
}

/// The parts that are known, in their order from left to right.
fn parts(one: &Breakdown) -> Vec<Part> {
    let mut parts = vec![("user", "user".to_owned(), one.user.mean), ("system", "system".to_owned(), one.system.mean)];
    match (&one.run_delay, &one.blocked) {
        (Ok(delay), Ok(blocked)) => {
            parts.push(("waiting", "waiting for a CPU".to_owned(), delay.mean));
            parts.push(("blocked", "blocked".to_owned(), blocked.mean));
        }
        (Ok(delay), Err(_)) => parts.push(("waiting", "waiting for a CPU".to_owned(), delay.mean)),
        (Err(_), _) => {
            let rest = one.wall.mean - one.cpu.mean;
            parts.push(("blocked", "waiting for a CPU or blocked".to_owned(), rest));
        }
    }
    parts.retain(|(.., mean)| mean.is_finite() && *mean > 0.0);
    parts
}

/// What the bar cannot show, and why.
fn told(one: &Breakdown) -> Vec<String> {
    let mut told = Vec::new();
    if let Err(absent) = &one.run_delay {
        told.push(format!("Waiting for a CPU and being blocked cannot be told apart: {absent}."));
    } else if let Err(absent) = &one.blocked {
        told.push(format!("The time spent blocked is absent: {absent}."));
    }
    if one.cpu.mean > one.wall.mean {
        let wall = time(one.wall.mean);
        told.push(format!("The CPU time is more than the {wall} on the wall: several CPUs worked at once."));
    }
    told
}
