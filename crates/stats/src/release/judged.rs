//! Estimates on the logarithm of cost, and the intervals and verdicts that follow from them.

use statrs::distribution::{ContinuousCDF, StudentsT};
use steady_model::{Interval, Verdict};

use crate::{estimate, normal};

/// An effect on a logarithm, with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimated {
    /// The logarithm of NEW minus the logarithm of OLD.
    pub effect: f64,
    /// The variance of the effect.
    pub variance: f64,
    /// The degrees of freedom of the variance.
    pub freedom: f64,
}

impl Estimated {
    /// Returns the standard error of the effect.
    pub fn error(&self) -> f64 {
        self.variance.sqrt()
    }

    /// Returns the interval with error probability `alpha`, by Student's t.
    pub fn interval(&self, alpha: f64) -> Interval {
        let reach = critical(alpha, self.freedom) * self.error();
        Interval { low: self.effect - reach, high: self.effect + reach }
    }

    /// Returns the weighted sum of independent effects, with degrees of freedom by Satterthwaite's rule. `None` without
    /// parts, or if the result is not finite.
    pub fn weighted(parts: impl IntoIterator<Item = (f64, Estimated)>) -> Option<Estimated> {
        let (mut effect, mut variance, mut squares, mut any) = (0.0, 0.0, 0.0, false);
        for (weight, part) in parts {
            let own = weight * weight * part.variance;
            effect += weight * part.effect;
            variance += own;
            squares += own * own / part.freedom;
            any = true;
        }
        any.then_some(Estimated { effect, variance, freedom: variance * variance / squares })
            .filter(|sum| sum.effect.is_finite() && sum.freedom.is_finite())
    }
}

/// Returns the two-sided critical value of Student's t for the probability `alpha`. Infinite if `alpha` or `freedom` is
/// not positive.
pub fn critical(alpha: f64, freedom: f64) -> f64 {
    const NEARLY_NORMAL: f64 = 1e5;
    if alpha <= 0.0 || freedom.is_nan() || freedom <= 0.0 {
        return f64::INFINITY;
    }
    if freedom > NEARLY_NORMAL {
        return normal::two_sided_quantile(alpha);
    }
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(student) => student.inverse_cdf(1.0 - alpha / 2.0),
        Err(_) => f64::INFINITY,
    }
}

/// Converts an interval of logarithms to relative changes.
pub fn relative(log: &Interval) -> Interval {
    Interval { low: log.low.exp_m1(), high: log.high.exp_m1() }
}

/// Returns the verdict for an interval of relative changes.
pub fn verdict(interval: &Interval, resolution: f64) -> Verdict {
    estimate::verdict(interval, resolution)
}

/// Returns the factor by which the time must grow until the interval probably excludes zero or is within the
/// resolution, if the change is as estimated.
pub fn time_if_as_estimated(change: f64, interval: &Interval, resolution: f64) -> Option<f64> {
    estimate::time_if_as_estimated(change, interval, resolution)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_values_agree_with_published_tables() {
        for (freedom, expected) in [(1.0, 12.706), (5.0, 2.571), (30.0, 2.042), (1e9, 1.960)] {
            assert!((critical(0.05, freedom) - expected).abs() < 1e-3, "{freedom}");
        }
        assert_eq!(critical(0.0, 5.0), f64::INFINITY);
        assert_eq!(critical(0.05, f64::NAN), f64::INFINITY);
    }

    #[test]
    fn weighted_parts_are_added() {
        let part = Estimated { effect: 0.02, variance: 1e-4, freedom: 10.0 };
        let sum = Estimated::weighted([(0.5, part), (0.5, part)]).unwrap();
        assert!((sum.effect - 0.02).abs() < 1e-15 && (sum.variance - 5e-5).abs() < 1e-15);
        assert!((sum.freedom - 20.0).abs() < 1e-9);
        assert_eq!(Estimated::weighted([]), None);
    }
}
