//! Differences in seconds: how often the interval misses the truth on simulated machines.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use steady_model::Layout;
use steady_stats::{mean, shift, weights};

use crate::simulated::{Machine, NOISES, Noise, most};

const ALPHA: f64 = 0.05;

/// Returns pairs of costs around one second; NEW costs `more` in addition.
fn pairs(noise: Noise, count: usize, more: f64, seed: u64) -> Vec<(f64, f64)> {
    let mut machine = Machine::new(noise, seed);
    let pair = |_| {
        let pair = machine.pair(Layout::Turns, 0.0);
        (pair.old, pair.new + more)
    };
    (0..count).map(pair).collect()
}

fn differences(pairs: &[(f64, f64)]) -> Vec<f64> {
    pairs.iter().map(|(old, new)| new - old).collect()
}

#[test]
fn error_rates_and_coverage_are_correct_on_every_machine() {
    let experiments = 600;
    let (mut total, mut all) = (0, 0);
    for noise in NOISES {
        for count in [8, 12, 40, 120] {
            for more in [0.0, 0.05] {
                let missed = (0..experiments).filter(|seed| {
                    let pairs = pairs(noise, count, more, *seed as u64 + 90_000);
                    !shift(&differences(&pairs), &weights(&pairs), ALPHA).interval.holds(more)
                });
                let missed = missed.count();
                assert!(
                    missed <= most(experiments, ALPHA),
                    "{noise:?}, {count} pairs, {more}: {missed} of {experiments}"
                );
                (total, all) = (total + missed, all + experiments);
            }
        }
    }
    assert!(total <= most(all, ALPHA), "{total} of {all}");
}

/// A part of the cost has noise of its own, and the weights come from the whole.
#[test]
fn intervals_of_parts_cover_the_truth_with_the_weights_of_the_whole() {
    let experiments = 600;
    for noise in NOISES {
        for count in [12, 60] {
            let missed = (0..experiments).filter(|seed| {
                let whole = pairs(noise, count, 0.1, *seed as u64 + 7_000);
                let mut coin = ChaCha8Rng::seed_from_u64(*seed as u64);
                // A part of the cost that is sampled by ticks, in whole steps.
                let mut ticks = |cost: f64| (cost * coin.random_range(0.2..0.4) / 0.004).floor() * 0.004;
                let part: Vec<f64> = whole.iter().map(|(old, new)| ticks(new - 0.1) + 0.03 - ticks(*old)).collect();
                !shift(&part, &weights(&whole), ALPHA).interval.holds(0.03)
            });
            let missed = missed.count();
            assert!(missed <= most(experiments, ALPHA), "{noise:?}, {count} pairs: {missed} of {experiments}");
        }
    }
}

/// Counts that hardly vary, such as page faults.
#[test]
fn intervals_of_counts_cover_the_truth() {
    let experiments = 1000;
    for (rare, size) in [(2, 1.0), (10, 1.0), (10, 5000.0)] {
        let missed = (0..experiments).filter(|seed| {
            let mut coin = ChaCha8Rng::seed_from_u64(*seed as u64);
            let mut extra = || if coin.random_range(0..rare) == 0 { size } else { 0.0 };
            let more: Vec<f64> = (0..30).map(|_| 5100.0 + extra() - extra()).collect();
            !shift(&more, &[1.0; 30], ALPHA).interval.holds(5100.0)
        });
        let missed = missed.count();
        assert!(missed <= most(experiments, ALPHA), "one in {rare}, {size}: {missed} of {experiments}");
    }
}

#[test]
fn weights_reduce_the_error_under_bursts() {
    let (mut weighted, mut even, experiments) = (0.0, 0.0, 200);
    for seed in 0..experiments {
        let pairs = pairs(Noise::Bursts, 100, 0.01, seed);
        let error = |weights: &[f64]| (mean(&differences(&pairs), weights) - 0.01).powi(2);
        weighted += error(&weights(&pairs));
        even += error(&[1.0; 100]);
    }
    assert!(weighted < 0.25 * even, "{weighted} {even}");
}
