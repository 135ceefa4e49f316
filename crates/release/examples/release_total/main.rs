//! Evaluates the change of the total on recorded requests of unequal cost: wrong signs, coverage, precision. See
//! bench/release_total.py.
#![allow(clippy::print_stdout, reason = "the program prints a table")]

#[path = "../../tests/support/mod.rs"]
mod support;

use support::mixtures::{Mixture, Outcome, Tail};
use support::trials::Source;

/// `release_total WINDOWS NAME` evaluates mixtures whose name contains `NAME`.
fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let windows = words.first().and_then(|text| text.parse().ok()).unwrap_or(240);
    let only = words.get(1).map_or("", String::as_str);
    let sources = [Source::recorded(), Source::stretch("one")];
    println!(
        "| requests | true change | seconds | windows | found | wrong | wrong by the usual request | coverage | mean error | \
         sd | half-width | over that of the usual request | changed requests named |\n|---|---|---|---|---|---|---|---|---|---|\
         ---|---|---|"
    );
    for (name, mixture) in mixtures() {
        for seconds in [10, 40, 120] {
            if name.contains(only) {
                let halves = [0, 1].map(|at| Outcome::of(&sources[at], windows / 2, seconds, &mixture, at as u64 + 1));
                println!("{}", line(name, seconds, &mixture, &joined(halves)));
            }
        }
    }
}

fn mixtures() -> Vec<(&'static str, Mixture)> {
    let tail = |tail: Tail, change: f64| Mixture { tail, ..Mixture::even(change) };
    let known = |mixture: Mixture| Mixture { known: true, ..mixture };
    vec![
        ("all alike", Mixture::even(0.0)),
        ("all alike", Mixture::even(0.01)),
        ("all alike", Mixture::even(0.2)),
        ("a tenth x16, +28 / -4 %", Mixture::of(0.1, 16.0, 0.28, -0.04)),
        ("a tenth x16, +28 / -4 %, class known", known(Mixture::of(0.1, 16.0, 0.28, -0.04))),
        ("a tenth x16", Mixture::of(0.1, 16.0, 0.0, 0.0)),
        ("a tenth x16, -2 / +3.6 % (zero)", Mixture::of(0.1, 16.0, -0.02, 0.02 * 1.6 / 0.9)),
        ("1 % x50, +30 / -2 %", Mixture::of(0.01, 50.0, 0.3, -0.02)),
        ("1 % x50", Mixture::of(0.01, 50.0, 0.0, 0.0)),
        ("30 % x3, +15 / -6 %", Mixture::of(0.3, 3.0, 0.15, -0.06)),
        ("half x2, +10 / -12 %", Mixture::of(0.5, 2.0, 0.1, -0.12)),
        ("half x30, +5 / -20 %", Mixture::of(0.5, 30.0, 0.05, -0.2)),
        ("5 % x5, -20 / +2 %", Mixture::of(0.05, 5.0, -0.2, 0.02)),
        ("log-normal, sigma 1", tail(Tail::LogNormal(1.0), 0.0)),
        ("log-normal, sigma 1", tail(Tail::LogNormal(1.0), 0.1)),
        ("Pareto 3", tail(Tail::Pareto(3.0), 0.0)),
        ("Pareto 2.5", tail(Tail::Pareto(2.5), 0.0)),
        ("Pareto 2.5", tail(Tail::Pareto(2.5), 0.1)),
    ]
}

fn joined([mut one, other]: [Outcome; 2]) -> Outcome {
    one.windows += other.windows;
    one.errors.extend(other.errors);
    one.missed += other.missed;
    one.wrong += other.wrong;
    one.found += other.found;
    one.usual_wrong += other.usual_wrong;
    one.half_widths += other.half_widths;
    one.usual_half_widths += other.usual_half_widths;
    one.named += other.named;
    one
}

fn line(name: &str, seconds: u64, mixture: &Mixture, outcome: &Outcome) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let fine = |share: f64| format!("{:.2} %", 100.0 * share);
    let (mean, spread) = outcome.spread();
    format!(
        "| {name} | {} | {seconds} | {} | {} | {} | {} | {} | {} | {} | {} | {:.2} | {} |",
        percent(mixture.truth()),
        outcome.windows,
        percent(outcome.share(outcome.found)),
        percent(outcome.share(outcome.wrong)),
        percent(outcome.share(outcome.usual_wrong)),
        percent(1.0 - outcome.share(outcome.missed)),
        fine(mean),
        fine(spread),
        fine(outcome.share(1) * outcome.half_widths),
        outcome.half_widths / outcome.usual_half_widths,
        percent(outcome.share(outcome.named)),
    )
}
