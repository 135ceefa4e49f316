//! Differences in the unit of the costs, such as seconds. They are weighted means, so the difference of a whole is the
//! sum of the differences of its parts. The intervals invert the sign-flip test.
//!
//! Let the absolute values of `d - theta` be given, and weights that do not depend on their signs. If NEW costs exactly
//! `theta` more than OLD, the signs are random and fair. The test statistic is the weighted sum of the differences
//! themselves instead of their ranks (Fisher 1935, Pitman 1937). It is zero if theta is the weighted mean, so estimate
//! and interval belong together. The robustness that ranks would provide under load comes from the weights.

use statrs::distribution::{ContinuousCDF, StudentsT};
use steady_model::Interval;

use crate::descriptive::quantile;
use crate::invert::{Found, Search, Width};
use crate::normal;
use crate::scale::Scratch;
use crate::tail;

/// The weight of a pair falls with this power of its cost. Load makes runs more expensive, and their uncertainty grows
/// faster than their cost.
const POWER: i32 = 4;

/// A mean difference, NEW minus OLD.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The weighted mean over the pairs.
    pub mean: f64,
    /// All shifts that the test does not reject; unbounded if there are too few pairs for the level.
    pub interval: Interval,
}

/// Returns the weight of each pair (OLD, NEW) in means over pairs. The weight falls with the cost sum of the pair
/// relative to the cheapest quarter, because load makes runs more expensive and less certain. It must not depend on
/// which of the two is more expensive: weights that depend on the differences, even on their absolute values only,
/// prefer pairs that agree with the others, and the test then rejects too often. The two costs must be similar: if one of
/// them is most of the sum, the weights prefer pairs in which it is small, and the mean difference is biased.
pub fn weights(pairs: &[(f64, f64)]) -> Vec<f64> {
    let sums: Vec<f64> = pairs.iter().map(|(old, new)| old + new).collect();
    let quiet = quantile(&sums, 0.25).unwrap_or(0.0);
    let weight = |sum: &f64| if *sum > quiet { (quiet / sum).powi(POWER) } else { 1.0 };
    let weights: Vec<f64> = sums.iter().map(weight).collect();
    // If a quarter of the pairs cost nothing, there is no reference.
    if quiet > 0.0 { weights } else { vec![1.0; pairs.len()] }
}

/// Returns the weighted mean; NaN without values.
pub fn mean(values: &[f64], weights: &[f64]) -> f64 {
    let sum: f64 = values.iter().zip(weights).map(|(value, weight)| value * weight).sum();
    sum / weights.iter().sum::<f64>()
}

/// Returns the mean of differences (NEW minus OLD, one for each pair), and all shifts that the test does not reject at
/// `alpha`.
///
/// The level is valid for one look at pairs whose number does not depend on their results.
pub fn shift(differences: &[f64], weights: &[f64], alpha: f64) -> Shift {
    let mean = mean(differences, weights);
    let error = differences.iter().zip(weights).map(|(d, weight)| (weight * (d - mean)).powi(2)).sum::<f64>().sqrt()
        / weights.iter().sum::<f64>();
    let scratch = &mut Scratch::default();
    let level = normal::two_sided_quantile(alpha);
    // Without noise, the first step is a tiny fraction of the difference.
    let step = if error > 0.0 { level * error } else { (mean.abs() * 1e-9).max(f64::MIN_POSITIVE) };
    let mut end = |side: f64| {
        let search = Search { start: 0.0, level, step, width: Width::Relative(1e-3) };
        let found = search.run(|t| {
            let p = p_value(differences, weights, mean + side * t, scratch);
            let distance = normal::two_sided_quantile(p);
            // Rounding in the quantile must not accept a shift that p rejects.
            if p <= alpha { distance.max(level) } else { distance.min(level.next_down()) }
        });
        match found {
            Found::Close(t) | Found::Between(_, t) => mean + side * t,
            Found::Nowhere => side * f64::INFINITY,
        }
    };
    let interval = Interval { low: end(-1.0), high: end(1.0) };
    if error > 0.0 { Shift { mean, interval } } else { without_noise(mean, interval) }
}

/// Returns the interval for equal differences: a point if there are enough pairs.
fn without_noise(mean: f64, interval: Interval) -> Shift {
    let bounded = interval.low.is_finite() && interval.high.is_finite();
    Shift { mean, interval: if bounded { Interval { low: mean, high: mean } } else { interval } }
}

/// Returns the two-sided p-value of the hypothesis that NEW costs exactly `theta` more than OLD.
fn p_value(differences: &[f64], weights: &[f64], theta: f64, scratch: &mut Scratch) -> f64 {
    let mut sum = 0.0;
    scratch.score.clear();
    for (difference, weight) in differences.iter().zip(weights) {
        let score = weight * (difference - theta);
        sum += score;
        scratch.score.push(score.abs());
    }
    tail::two_sided(sum, scratch)
}

/// Returns the difference of the means of two unpaired samples with its interval (Welch 1947). If no sample varies, the
/// interval is a point; with only one value in a sample it is unbounded.
pub fn apart(old: &[f64], new: &[f64], alpha: f64) -> Shift {
    let of = |values: &[f64]| {
        let (count, mean) = (values.len() as f64, values.iter().sum::<f64>() / values.len() as f64);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (mean, squares / (count - 1.0) / count, count)
    };
    let ((old_mean, old_error, olds), (new_mean, new_error, news)) = (of(old), of(new));
    let (mean, error) = (new_mean - old_mean, old_error + new_error);
    let freedom = error.powi(2) / (old_error.powi(2) / (olds - 1.0) + new_error.powi(2) / (news - 1.0));
    let half = match StudentsT::new(0.0, 1.0, freedom) {
        _ if error == 0.0 => 0.0,
        Ok(student) => student.inverse_cdf(1.0 - alpha / 2.0) * error.sqrt(),
        Err(_) => f64::INFINITY,
    };
    Shift { mean, interval: Interval { low: mean - half, high: mean + half } }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVEN: [f64; 8] = [1.0; 8];

    #[test]
    fn the_test_is_zero_at_the_mean() {
        let differences = [3.0, 1.0, 2.0, 5.0, 4.0, 2.5, 1.5, 3.5];
        let shift = shift(&differences, &EVEN, 0.05);
        assert_eq!(shift.mean, 22.5 / 8.0);
        assert!(shift.interval.low > 1.0 && shift.interval.high < 5.0 && shift.interval.holds(shift.mean), "{shift:?}");
        for end in [shift.interval.low, shift.interval.high] {
            let p = p_value(&differences, &EVEN, end, &mut Scratch::default());
            assert!(p <= 0.05 && p > 0.02, "{p}");
        }
    }

    #[test]
    fn exchanging_the_labels_mirrors_the_result() {
        let differences = [3.0, -1.0, 2.0, 0.5, 4.0, 2.5, -1.5, 3.5, 7.0];
        let weights = [1.0, 2.0, 0.5, 1.0, 1.0, 3.0, 1.0, 0.1, 0.2];
        let mirrored = differences.map(|d| -d);
        let (one, other) = (shift(&differences, &weights, 0.05), shift(&mirrored, &weights, 0.05));
        assert_eq!((one.mean, one.interval.low), (-other.mean, -other.interval.high));
    }

    #[test]
    fn parts_sum_to_the_whole() {
        let pairs: Vec<(f64, f64)> = (0..60).map(|i| (f64::from(i * i % 37), f64::from(i * 7 % 31))).collect();
        let weights = weights(&pairs);
        let of = |part: fn(&(f64, f64)) -> f64| mean(&pairs.iter().map(part).collect::<Vec<_>>(), &weights);
        let whole = of(|pair| pair.0 + pair.1);
        assert!((of(|pair| pair.0) + of(|pair| pair.1) - whole).abs() < 1e-12 * whole);
    }

    #[test]
    fn constant_differences_give_a_point_and_few_pairs_no_bound() {
        let shift = |pairs: usize| shift(&vec![5100.0; pairs], &vec![1.0; pairs], 0.05).interval;
        assert_eq!(shift(6), Interval { low: 5100.0, high: 5100.0 });
        assert_eq!(shift(5), Interval::EVERYTHING);
        assert_eq!(super::shift(&[0.0; 9], &[1.0; 9], 0.05).interval, Interval { low: 0.0, high: 0.0 });
    }

    /// All five expensive pairs are of NEW. With equal commands, the probability is 1 in 16.
    #[test]
    fn few_large_differences_do_not_decide() {
        let differences = |large: usize| [vec![0.0; 55], vec![5000.0; large]].concat();
        let low = |large: usize| super::shift(&differences(large), &vec![1.0; 55 + large], 0.05).interval.low;
        assert!(low(5) <= 0.0, "{}", low(5));
        assert!(low(6) > 0.0, "{}", low(6));
    }

    #[test]
    fn unpaired_samples_have_welch_s_interval() {
        assert_eq!(
            apart(&[3.0, 3.0], &[5.0, 5.0], 0.05),
            Shift { mean: 2.0, interval: Interval { low: 2.0, high: 2.0 } }
        );
        assert_eq!(apart(&[3.0], &[5.0, 6.0], 0.05).interval, Interval::EVERYTHING);
        let both = apart(&[1.0, 2.0, 3.0], &[11.0, 12.0, 13.0], 0.05);
        // Four degrees of freedom: 2.776 standard errors.
        assert!((both.interval.half_width() - 2.776 * (2.0f64 / 3.0).sqrt()).abs() < 1e-3, "{both:?}");
    }

    #[test]
    fn expensive_pairs_weigh_less_whichever_run_was_expensive() {
        let pairs = [(1.0, 1.0), (0.9, 1.1), (1.1, 0.9), (1.0, 3.0), (3.0, 1.0)];
        let weights = weights(&pairs);
        assert_eq!(weights[..3], [1.0; 3]);
        assert_eq!(weights[3], weights[4]);
        assert!(weights[3] < 0.1);
        assert_eq!(super::weights(&[(0.0, 0.0), (0.0, 0.0), (0.0, 1.0)]), [1.0; 3]);
    }
}
