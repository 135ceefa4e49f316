//! The cost of one probe against the length of its loop, both in equal factors, with the reason of each point.

use maud::{Markup, html};
use steady_model::{Cost, CostsReport, LengthReason, Probe};

use crate::html::svg::{Path, Plot, sample};
use crate::words::costs::{amount, lengths, reason};

/// The ends of the axis of costs lie at least by this factor apart: noise is not to fill the chart.
const LEAST: f64 = 4.0;
/// Other costs, in seconds, are none of any machine's.
const DRAWN: std::ops::Range<f64> = 1e-15..1e9;

/// The probes of a sweep, in its order.
pub(super) fn probes(report: &CostsReport) -> Vec<Probe> {
    let mut probes: Vec<Probe> = Vec::new();
    for (probe, _) in &report.costs {
        if !probes.contains(probe) {
            probes.push(*probe);
        }
    }
    probes
}

/// The chart; a sentence where fewer than two lengths can be drawn.
pub(super) fn draw(report: &CostsReport, probe: Probe) -> Markup {
    let mut all = lengths(report, probe);
    all.sort_by_key(|(cost, _)| cost.loops);
    let drawable = |cost: &Cost| cost.loops > 0 && DRAWN.contains(&cost.median);
    let (drawn, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|(cost, _)| drawable(cost));
    let (Some(first), Some(last)) = (drawn.first(), drawn.last()) else { return nothing() };
    if first.0.loops == last.0.loops {
        return nothing();
    }
    // A little room, so that the dots at the ends are whole.
    let x = Factors { low: first.0.loops as f64 / 1.5, high: last.0.loops as f64 * 1.5 };
    let y = Factors::around(drawn.iter().map(|(cost, _)| cost.median));
    let label = format!("What {} of {} costs, by length of the loop.", probe.unit(), probe.name());
    let inside = html! { (line(&drawn, &x, &y)) (dots(&drawn, &x, &y)) };
    let (rounds, costs) = (x.ticks(&[1.0], rounds), y.ticks(&[1.0, 2.0, 5.0], amount));
    let chart = Plot { label: &label, height: "tall", x: &rounds, x_labels: true, y: &costs, inside };
    html! {
        figure { (chart.draw()) }
        p.key {
            @for why in reasons(&drawn) { span { (sample(&format!("dots {}", class(why)))) (reason(why)) } }
            span { "below: rounds of the loop; both in equal factors" }
        }
        @if !rest.is_empty() {
            p.note { "Not drawn: " (rest.len()) " with a cost that is not above zero." }
        }
    }
}

fn nothing() -> Markup {
    html! { p.note { "There is no chart: it takes two lengths with a cost above zero." } }
}

/// The reasons that occur, each once.
fn reasons(drawn: &[(&Cost, LengthReason)]) -> Vec<LengthReason> {
    let mut found = Vec::new();
    for (_, why) in drawn {
        if !found.contains(why) {
            found.push(*why);
        }
    }
    found
}

fn line(drawn: &[(&Cost, LengthReason)], x: &Factors, y: &Factors) -> Markup {
    let mut path = Path::default();
    for (index, (cost, _)) in drawn.iter().enumerate() {
        let to = (x.place(cost.loops as f64), y.place(cost.median));
        if index == 0 { path.start(to) } else { path.on(to) }
    }
    path.draw("cost")
}

/// A dot for each length, in the class of its reason.
fn dots(drawn: &[(&Cost, LengthReason)], x: &Factors, y: &Factors) -> Markup {
    html! {
        @for why in reasons(drawn) {
            @let path = drawn.iter().filter(|(_, of)| *of == why).fold(Path::default(), |mut path, (cost, _)| {
                path.dot(x.place(cost.loops as f64), y.place(cost.median));
                path
            });
            (path.draw(&format!("dots few {}", class(why))))
        }
    }
}

/// The class of a reason in the style sheet: its name, hyphens for spaces.
fn class(why: LengthReason) -> String {
    reason(why).replace(' ', "-")
}

/// An axis of positive numbers in equal factors.
struct Factors {
    low: f64,
    high: f64,
}

impl Factors {
    /// One that has room for all of these.
    fn around(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) =
            values.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), one| (low.min(one), high.max(one)));
        let more = (LEAST / (high / low)).max(1.0).sqrt();
        Factors { low: low / more / 1.3, high: high * more * 1.3 }
    }

    fn place(&self, value: f64) -> f64 {
        ((value / self.low).ln() / (self.high / self.low).ln()).clamp(0.0, 1.0)
    }

    /// Round numbers on it: these times powers of ten, or the powers alone where there would be many.
    fn ticks(&self, steps: &[f64], label: impl Fn(f64) -> String) -> Vec<(f64, String)> {
        const MANY: usize = 8;
        let of = |steps: &[f64]| {
            let each = |power: i32| steps.iter().map(move |step| step * 10f64.powi(power)).collect::<Vec<_>>();
            let inside = |value: &f64| (self.low * 0.999..=self.high * 1.001).contains(value);
            (-12..=12).flat_map(each).filter(inside).collect::<Vec<f64>>()
        };
        let dense = of(steps);
        let chosen = if dense.len() <= MANY { dense } else { of(&[1.0]) };
        chosen.into_iter().map(|value| (self.place(value), label(value))).collect()
    }
}

/// A number of rounds, shortly.
fn rounds(value: f64) -> String {
    match value.round() {
        value if value >= 1e6 => format!("{} M", value / 1e6),
        value if value >= 1e3 => format!("{} k", value / 1e3),
        value => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_lie_equally_far_apart() {
        let axis = Factors { low: 10.0, high: 1e7 };
        let ticks = axis.ticks(&[1.0], rounds);
        let labels: Vec<&str> = ticks.iter().map(|(_, label)| label.as_str()).collect();
        assert_eq!(labels, ["10", "100", "1 k", "10 k", "100 k", "1 M", "10 M"]);
        assert!((ticks[3].0 - 0.5).abs() < 1e-9 && ticks[0].0.abs() < 1e-9);
        let narrow = Factors::around([1.0e-9, 1.01e-9].into_iter());
        assert!(narrow.high / narrow.low > LEAST && !narrow.ticks(&[1.0, 2.0, 5.0], amount).is_empty());
    }
}
