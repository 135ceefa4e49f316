//! Descriptive statistics of one command's costs, for reports.

use serde::{Deserialize, Serialize};

/// Mean, standard deviation, median and range of costs, in the unit of the costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The arithmetic mean of the costs.
    pub mean: f64,
    /// The standard deviation of the costs; infinite with one cost, because it is not known.
    pub deviation: f64,
    /// The middle value, or the mean of the two middle values.
    pub median: f64,
    /// The smallest of the costs.
    pub min: f64,
    /// The largest of the costs.
    pub max: f64,
}

/// Returns mean, standard deviation, median and range of the costs; `None` without costs.
pub fn summary(costs: &[f64]) -> Option<Summary> {
    let (min, max) = (costs.iter().copied().reduce(f64::min)?, costs.iter().copied().reduce(f64::max)?);
    let mean = costs.iter().sum::<f64>() / costs.len() as f64;
    let squares: f64 = costs.iter().map(|cost| (cost - mean).powi(2)).sum();
    let deviation = if costs.len() > 1 { (squares / (costs.len() as f64 - 1.0)).sqrt() } else { f64::INFINITY };
    Some(Summary { mean, deviation, median: quantile(costs, 0.5)?, min, max })
}

/// Returns the quantile `q` (0 to 1), interpolated linearly between neighbours (Hyndman and Fan 1996, type 7); `None`
/// without costs.
pub fn quantile(costs: &[f64], q: f64) -> Option<f64> {
    let mut sorted = costs.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let place = q.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_have_mean_median_and_range() {
        let summary = summary(&[3.0, 1.0, 2.0, 10.0]).unwrap();
        assert_eq!(summary, Summary { mean: 4.0, deviation: (50.0f64 / 3.0).sqrt(), median: 2.5, min: 1.0, max: 10.0 });
        assert_eq!(super::summary(&[]), None);
    }

    #[test]
    fn quantiles_interpolate() {
        let costs = [4.0, 1.0, 3.0, 2.0, 5.0];
        assert_eq!(quantile(&costs, 0.0), Some(1.0));
        assert_eq!(quantile(&costs, 0.25), Some(2.0));
        assert_eq!(quantile(&costs, 0.9), Some(4.6));
        assert_eq!(quantile(&costs, 1.0), Some(5.0));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
