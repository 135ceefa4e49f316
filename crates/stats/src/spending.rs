//! The critical values of several looks at a growing number of pairs, from the joint distribution of their statistics.
//!
//! If there is no effect, the statistics Z of successive looks are sums over the same random signs. Together they are
//! approximately normal, and their correlation follows from the scores. An error-spending function (Lan and DeMets,
//! Discrete sequential boundaries for clinical trials, Biometrika 1983) determines how much error the looks up to a
//! certain one may use. The critical value of a look is the value that Z exceeds there *for the first time* with the
//! look's part of the error. This is less strict than the union bound, which ignores that a large Z at one look is
//! usually also large at the next.
//!
//! The probability is integrated recursively over the Z of the previous look (Armitage, McPherson and Rowe, Repeated
//! significance tests on accumulating data, 1969), as if the looks were a Markov chain. They are one if the scores of a
//! pair are the same at each look. The scores do change slightly, because ranks and scales are estimated again. This
//! lowers the correlation of successive looks, which is measured, and so makes the critical values stricter.

use crate::normal;

/// The intervals of Simpson's rule between zero and the critical value.
const STEPS: usize = 48;
/// The largest correlation that the integration resolves. With this one instead of a larger one, the critical value is
/// stricter.
const MAX_CORRELATION: f64 = 0.99;
/// The largest critical value that the integration resolves. A look that would need a larger one spends nothing, and
/// leaves its error to the next.
const MAX_CRITICAL: f64 = 6.0;

/// The largest share of the error rate that may be spent because the precision is sufficient.
pub(crate) const MOST_BY_INFORMATION: f64 = 0.85;

/// Returns the share of the error rate that may be spent so far.
///
/// `time` is the used share of the time budget. Its square saves error for the end, where most comparisons need it that
/// use most of their budget. `information` is the share of the precision that would end the sequence, because on a quiet
/// machine the precision is sufficient long before the time is over. Its contribution is limited, so that the final look
/// has error left to spend.
pub(crate) fn spendable(time: f64, information: f64) -> f64 {
    time.clamp(0.0, 1.0).powi(2).max(information.min(MOST_BY_INFORMATION))
}

/// The looks so far of one test: how much error they spent, and the distribution of the last Z.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Spending {
    /// The error spent by all looks so far.
    spent: f64,
    /// The distribution at the last look; `None` before the first look.
    last: Option<Distribution>,
}

/// The density of |Z| where neither this look nor an earlier one exceeded its critical value.
#[derive(Clone, Debug, PartialEq)]
struct Distribution {
    /// The critical value.
    critical: f64,
    /// The density at equal distances from zero to the critical value.
    density: Vec<f64>,
}

/// The result of one look.
pub(crate) struct Spent {
    /// The two-sided p-value up to which the look rejects.
    pub(crate) level: f64,
    /// The state after the look.
    pub(crate) spending: Spending,
}

impl Spending {
    /// Returns the level of a look after which `allowed` error may be spent in total. `correlation` is that of its Z
    /// with the Z of the last look that spent error, if both have no effect. The level is zero if the look cannot spend
    /// the error.
    pub(crate) fn level(&self, allowed: f64, correlation: f64) -> f64 {
        self.critical(allowed - self.spent, correlation).map_or(0.0, level_of)
    }

    /// Returns the level of a look as [`Spending::level`] does, and the state after the look. A look that spends nothing
    /// cannot reject anything, and leaves the state as it is.
    pub(crate) fn look(&self, allowed: f64, correlation: f64) -> Spent {
        let Some(critical) = self.critical(allowed - self.spent, correlation) else {
            return Spent { level: 0.0, spending: self.clone() };
        };
        let last = match &self.last {
            None => Distribution::with(critical, |z| 2.0 * normal::density(z)),
            Some(before) => before.next(critical, limited(correlation)),
        };
        Spent { level: level_of(critical), spending: Spending { spent: allowed, last: Some(last) } }
    }

    /// Returns the value that Z exceeds at the next look, and did not exceed before, with probability `error`. `None` if
    /// there is no error, or so little that the value is larger than [`MAX_CRITICAL`].
    fn critical(&self, error: f64, correlation: f64) -> Option<f64> {
        if error <= 0.0 {
            return None;
        }
        let Some(before) = &self.last else { return Some(normal::two_sided_quantile(error)) };
        let excess = |critical| before.exceeding(critical, limited(correlation)) - error;
        (excess(MAX_CRITICAL) <= 0.0).then(|| root(MAX_CRITICAL, excess))
    }
}

/// Returns the two-sided p-value of a critical value.
fn level_of(critical: f64) -> f64 {
    2.0 * normal::upper_tail(critical)
}

/// Limits a correlation to those that the integration resolves.
fn limited(correlation: f64) -> f64 {
    correlation.clamp(0.0, MAX_CORRELATION)
}

impl Distribution {
    fn with(critical: f64, density: impl Fn(f64) -> f64) -> Distribution {
        let density = (0..=STEPS).map(|step| density(critical * step as f64 / STEPS as f64)).collect();
        Distribution { critical, density }
    }

    /// Returns the probability that Z exceeds `critical` at the next look.
    fn exceeding(&self, critical: f64, correlation: f64) -> f64 {
        let spread = (1.0 - correlation * correlation).sqrt();
        self.integral(|before| {
            let centre = correlation * before;
            normal::upper_tail((critical - centre) / spread) + normal::upper_tail((critical + centre) / spread)
        })
    }

    /// Returns the distribution at the next look, whose critical value is `critical`.
    fn next(&self, critical: f64, correlation: f64) -> Distribution {
        let spread = (1.0 - correlation * correlation).sqrt();
        Distribution::with(critical, |z| {
            self.integral(|before| {
                let centre = correlation * before;
                (normal::density((z - centre) / spread) + normal::density((z + centre) / spread)) / spread
            })
        })
    }

    /// Integrates a function of |Z| over the distribution, by Simpson's rule.
    fn integral(&self, function: impl Fn(f64) -> f64) -> f64 {
        let step = self.critical / STEPS as f64;
        let each = self.density.iter().enumerate().map(|(place, density)| {
            let weight = match place {
                0 | STEPS => 1.0,
                _ if place % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * density * function(place as f64 * step)
        });
        each.sum::<f64>() * step / 3.0
    }
}

/// Returns the root of a decreasing function between zero and `most`, by bisection.
fn root(most: f64, function: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, most);
    for _ in 0..24 {
        let middle = (low + high) / 2.0;
        if function(middle) > 0.0 { low = middle } else { high = middle }
    }
    high
}

/// Returns the correlation of two sums over the same random signs, from the signed scores of each. The pairs of the
/// earlier sum are the first ones of the later sum. Zero if all scores are zero.
pub(crate) fn correlation<'a>(strata: impl Iterator<Item = (&'a [f64], &'a [f64])>) -> f64 {
    let (mut shared, mut earlier, mut later) = (0.0, 0.0, 0.0);
    for (before, now) in strata {
        shared += before.iter().zip(now).map(|(one, other)| one * other).sum::<f64>();
        earlier += before.iter().map(|score| score * score).sum::<f64>();
        later += now.iter().map(|score| score * score).sum::<f64>();
    }
    let size: f64 = (earlier * later).sqrt();
    if size > 0.0 { shared / size } else { 0.0 }
}

/// Returns the share of an error rate for the `number`-th of a sequence of tests whose length is not known, from 1:
/// `6 / (pi^2 number^2)`. All shares add up to 1.
pub fn share_of_test(number: u64) -> f64 {
    6.0 / (std::f64::consts::PI * number as f64).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_tests_add_up_to_one() {
        let sum: f64 = (1..100_000).map(share_of_test).sum();
        assert!(sum < 1.0 && sum > 0.9999, "{sum}");
    }

    /// The critical values of looks after these shares of the pairs.
    fn critical(shares: &[f64], spent: impl Fn(f64) -> f64) -> Vec<f64> {
        let (mut spending, mut before) = (Spending::default(), 0.0);
        let each = shares.iter().map(|share| {
            let look = spending.look(spent(*share), f64::sqrt(before / share));
            before = *share;
            spending = look.spending;
            normal::two_sided_quantile(look.level)
        });
        each.collect()
    }

    /// All error that is spent, and the probability of no rejection so far, sum to one, whatever the correlations.
    #[test]
    fn spent_error_and_the_rest_of_the_distribution_sum_to_one() {
        for correlation in [0.0, 0.3, 0.7, 0.9, 0.97, 0.99, 1.0] {
            let mut spending = Spending::default();
            for allowed in [1e-9, 1e-6, 1e-6, 0.001, 0.01, 0.01, 0.03, 0.05] {
                spending = spending.look(allowed, correlation).spending;
                let rest = spending.last.as_ref().unwrap().integral(|_| 1.0);
                assert!((rest + allowed - 1.0).abs() < 1e-4, "{correlation}, {allowed}: {rest}");
            }
        }
    }

    /// Z exceeds the critical value of a look for the first time, or an earlier look exceeded its own. The level is
    /// therefore at most the error of all looks so far.
    #[test]
    fn tiny_errors_are_spent_exactly_or_left_for_later_looks() {
        for correlation in [0.0, 0.5, 0.9] {
            let mut spending = Spending::default();
            for allowed in [1e-10, 2e-10, 5e-10, 1e-9, 3e-9, 2e-8, 1e-7] {
                let look = spending.look(allowed, correlation);
                assert_eq!(spending.level(allowed, correlation), look.level);
                assert!(look.level <= 1.01 * allowed, "{correlation}, {allowed}: {}", look.level);
                assert_eq!(look.level > 0.0, look.spending != spending);
                spending = look.spending;
            }
            assert_eq!(spending.spent, 1e-7);
        }
    }

    /// A look with the same Z as the previous one cannot reject for the first time if its critical value is not smaller.
    #[test]
    fn equal_looks_have_the_critical_value_of_one() {
        let mut spending = Spending::default();
        let mut levels = vec![];
        for part in 1..=10 {
            let look = spending.look(0.005 * f64::from(part), 1.0);
            levels.push(look.level);
            spending = look.spending;
        }
        assert!(levels.is_sorted() && *levels.last().unwrap() > 0.035, "{levels:?}");
    }

    #[test]
    fn information_alone_leaves_error_for_the_final_look() {
        assert_eq!(spendable(0.1, 0.3), 0.3);
        assert_eq!(spendable(0.1, 9.0), 0.85);
        assert_eq!(spendable(0.5, 0.1), 0.25);
        assert_eq!(spendable(7.0, 0.0), 1.0);
    }

    /// Five equal looks that spend like Pocock's and O'Brien and Fleming's boundaries. The expected values are those of
    /// the R package gsDesign (`sfLDPocock`, `sfLDOF`; also in Jennison and Turnbull 2000, tables 7.1 and 7.2).
    #[test]
    fn critical_values_are_those_of_published_tables() {
        let shares = [0.2, 0.4, 0.6, 0.8, 1.0];
        // The published boundaries are one-sided at 0.025, and these are two-sided at 0.05.
        let pocock = critical(&shares, |share| 0.05 * (1.0 + (std::f64::consts::E - 1.0) * share).ln());
        for (found, published) in pocock.iter().zip([2.438, 2.427, 2.410, 2.397, 2.386]) {
            assert!((found - published).abs() < 2e-3, "{pocock:?}");
        }
        let quantile = normal::two_sided_quantile(0.025);
        let fleming = critical(&shares, |share| 4.0 * normal::upper_tail(quantile / share.sqrt()));
        for (found, published) in fleming.iter().zip([4.877, 3.357, 2.680, 2.290, 2.031]) {
            assert!((found - published).abs() < 2e-3, "{fleming:?}");
        }
    }
}
