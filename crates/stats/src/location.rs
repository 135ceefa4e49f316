//! The median of a sample, with an interval that is valid for every distribution.

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::descriptive::quantile;

/// Median, interval and spread of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Location {
    /// The median of the values.
    pub median: f64,
    /// The lower end of the median's interval.
    pub low: f64,
    /// The upper end of the median's interval.
    pub high: f64,
    /// The interquartile range of the values.
    pub spread: f64,
}

/// Returns the median of independent values with an interval of at least `confidence`. `None` if there are too few
/// values for any interval: fewer than 6 for 95 %.
///
/// The ends are values of the sample. For every distribution, the number of values below the true median is binomial
/// with probability 1/2. The k-th lowest and the k-th highest value therefore enclose the median with a known
/// probability (David and Nagaraja, Order Statistics, 2003, 7.1).
pub fn location(values: &[f64], confidence: f64) -> Option<Location> {
    let k = depth(values.len(), confidence)?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |q| quantile(&sorted, q);
    Some(Location {
        median: at(0.5)?,
        low: sorted[k - 1],
        high: sorted[sorted.len() - k],
        spread: at(0.75)? - at(0.25)?,
    })
}

/// Returns the largest k for which the k-th lowest and the k-th highest of `count` values enclose the median with at
/// least `confidence`.
fn depth(count: usize, confidence: f64) -> Option<usize> {
    let binomial = Binomial::new(0.5, count as u64).ok()?;
    let outside = |k: usize| 2.0 * binomial.cdf(k as u64 - 1);
    let (mut below, mut above) = (0, count / 2 + 1);
    while above - below > 1 {
        let middle = (below + above) / 2;
        if outside(middle) <= 1.0 - confidence { below = middle } else { above = middle }
    }
    (below > 0).then_some(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_agree_with_published_tables() {
        // Conover, Practical Nonparametric Statistics, 1999, table A3 at one half: ranks of 95 % intervals.
        let ranks =
            [(5, None), (6, Some(1)), (8, Some(1)), (9, Some(2)), (20, Some(6)), (30, Some(10)), (100, Some(40))];
        for (count, expected) in ranks {
            assert_eq!(depth(count, 0.95), expected, "{count}");
        }
    }

    #[test]
    fn a_sample_has_median_interval_and_spread() {
        let values: Vec<f64> = (1..=9).map(f64::from).collect();
        let found = location(&values, 0.95).unwrap();
        assert_eq!((found.low, found.median, found.high, found.spread), (2.0, 5.0, 8.0, 4.0));
        assert_eq!(location(&values[..5], 0.95), None);
        assert_eq!(location(&[], 0.95), None);
    }
}
