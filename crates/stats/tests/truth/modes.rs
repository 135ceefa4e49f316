//! How often one group is mistaken for two, and how often two groups are found, in simulated samples.

use rand::Rng;
use steady_stats::modes::two;

use crate::simulated::{Machine, Noise};

const SAMPLES: usize = 1_500;
const COUNTS: [usize; 6] = [30, 40, 49, 50, 70, 100];
/// The rates are estimated: the limits are three standard errors above 5 % and below 90 %.
const MOST: f64 = 0.05 + 3.0 * 0.0056;
const LEAST: f64 = 0.9 - 3.0 * 0.0077;

type Draw = fn(&mut Machine) -> f64;

fn uniform(machine: &mut Machine) -> f64 {
    machine.coin.random::<f64>().max(1e-300)
}

fn exponential(machine: &mut Machine) -> f64 {
    -uniform(machine).ln()
}

/// Draws from Student's t distribution.
fn student(machine: &mut Machine, degrees: u32) -> f64 {
    let squares: f64 = (0..degrees).map(|_| machine.normal().powi(2)).sum();
    machine.normal() / (squares / f64::from(degrees)).sqrt()
}

/// Distributions with a single mode.
const SHAPES: [(&str, Draw); 13] = [
    ("normal", |machine| machine.normal()),
    ("uniform", uniform),
    ("exponential", exponential),
    ("minus exponential", |machine| -exponential(machine)),
    ("Laplace", |machine| if machine.coin.random() { exponential(machine) } else { -exponential(machine) }),
    ("log-normal, 0.5", |machine| (0.5 * machine.normal()).exp()),
    ("log-normal, 1", |machine| machine.normal().exp()),
    ("log-normal, 1.5", |machine| (1.5 * machine.normal()).exp()),
    ("chi-squared", |machine| machine.normal().powi(2)),
    ("Weibull, 0.5", |machine| exponential(machine).powi(2)),
    ("t, 3", |machine| student(machine, 3)),
    ("Cauchy", |machine| student(machine, 1)),
    ("outliers", |machine| {
        let scale = if machine.coin.random_bool(0.05) { 20.0 } else { 1.0 };
        scale * machine.normal()
    }),
];

fn share_called_two(count: usize, seed: u64, draw: &mut dyn FnMut(&mut Machine, usize) -> f64) -> f64 {
    let mut machine = Machine::new(Noise::Heavy, seed);
    let mut sample = || (0..count).map(|place| draw(&mut machine, place)).collect::<Vec<f64>>();
    (0..SAMPLES).filter(|_| two(&sample(), 0.0).is_some()).count() as f64 / SAMPLES as f64
}

#[test]
fn one_group_is_rarely_mistaken_for_two() {
    for (name, draw) in SHAPES {
        for count in COUNTS {
            let share = share_called_two(count, 7, &mut |machine, _| draw(machine));
            assert!(share <= MOST, "{name}, {count} values: {share}");
        }
    }
}

#[test]
fn two_groups_are_found() {
    for part in [0.15, 0.25, 0.5] {
        for count in COUNTS {
            let lesser = (part * count as f64).ceil() as usize;
            for side in [6.0, -6.0] {
                let mut draw =
                    |machine: &mut Machine, place| machine.normal() + if place < lesser { side } else { 0.0 };
                let share = share_called_two(count, 8, &mut draw);
                assert!(share >= LEAST, "{lesser} of {count}: {share}");
            }
        }
    }
}

#[test]
fn intervals_of_the_median_cover_it() {
    for count in [6, 9, 15, 40, 100] {
        for (name, draw) in SHAPES.into_iter().filter(|(name, _)| ["normal", "exponential", "Cauchy"].contains(name)) {
            let truth = if name == "exponential" { std::f64::consts::LN_2 } else { 0.0 };
            let mut machine = Machine::new(Noise::Heavy, 9);
            let mut covers = || {
                let values: Vec<f64> = (0..count).map(|_| draw(&mut machine)).collect();
                let found = steady_stats::location::location(&values, 0.95).unwrap();
                found.low <= truth && truth <= found.high
            };
            let share = (0..SAMPLES).filter(|_| covers()).count() as f64 / SAMPLES as f64;
            assert!(share >= 0.95 - 3.0 * 0.0056, "{name}, {count} values: {share}");
        }
    }
}
