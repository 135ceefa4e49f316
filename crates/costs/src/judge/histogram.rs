//! Computes the bins of a histogram.

use steady_stats::descriptive::quantile;

use crate::record::{Histogram, Mode};

const FEWEST_BINS: f64 = 8.0;
const MOST_BINS: f64 = 40.0;
/// The bins extend this many interquartile ranges beyond the quartiles. Values further out are counted separately.
const REACH: f64 = 2.0;

/// Computes a histogram with 8 to 40 bins of the width of Freedman and Diaconis (1981). Outliers are outside the bins,
/// and both modes of a bimodal distribution are inside. A bin is at least half the resolution wide.
pub(super) fn histogram(values: &[f64], modes: &[Mode], resolution: f64) -> Histogram {
    let at = |q| quantile(values, q).unwrap_or(0.0);
    let (mut low, mut high) = (at(0.25) - REACH * (at(0.75) - at(0.25)), at(0.75) + REACH * (at(0.75) - at(0.25)));
    for mode in modes {
        // By the quartiles alone, the smaller of two modes may be an outlier.
        let reach = (mode.median_seconds - at(0.5)).abs() / 3.0;
        (low, high) = (low.min(mode.median_seconds - reach), high.max(mode.median_seconds + reach));
    }
    let within = || values.iter().copied().filter(|value| (low..=high).contains(value));
    let (low, high) = (within().fold(high, f64::min), within().fold(low, f64::max));
    let fine = 2.0 * (at(0.75) - at(0.25)) / (values.len() as f64).cbrt();
    let count = if high > low { ((high - low) / fine.max(resolution / 2.0)).ceil() } else { 1.0 };
    let count = if high > low && count.is_finite() { count.clamp(FEWEST_BINS, MOST_BINS) } else { 1.0 };
    let width = if high > low { (high - low) / count } else { resolution.max(low.abs() * 1e-3).max(1e-15) };
    let low = if high > low { low } else { low - width / 2.0 };
    let mut found =
        Histogram { low_seconds: low, width_seconds: width, counts: vec![0; count as usize], below: 0, above: 0 };
    values.iter().for_each(|value| put(&mut found, *value, high));
    found
}

fn put(histogram: &mut Histogram, value: f64, high: f64) {
    let last = histogram.counts.len() - 1;
    if value < histogram.low_seconds {
        histogram.below += 1;
    } else if value > high.max(histogram.low_seconds) && last > 0 {
        histogram.above += 1;
    } else {
        let bin = ((value - histogram.low_seconds) / histogram.width_seconds) as usize;
        histogram.counts[bin.min(last)] += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn outliers_are_counted_outside_the_bins() {
        let mut values: Vec<f64> = (0..100).map(|n| 100.0 + f64::from(n % 10)).collect();
        values.extend([1e6, -1e6, 2e6]);
        let histogram = histogram(&values, &[], 0.01);
        assert_eq!((histogram.below, histogram.above), (1, 2));
        assert_eq!(histogram.counts.iter().sum::<u32>(), 100);
        assert!(histogram.low_seconds >= 100.0 && histogram.width_seconds * histogram.counts.len() as f64 <= 9.1);
    }

    #[test]
    fn the_bins_cover_both_modes() {
        let mut values: Vec<f64> = (0..80).map(|n| 100.0 + f64::from(n) / 100.0).collect();
        values.extend((0..20).map(|n| 120.0 + f64::from(n) / 100.0));
        let modes =
            [Mode { median_seconds: 100.4, share_ratio: 0.8 }, Mode { median_seconds: 120.1, share_ratio: 0.2 }];
        let histogram = histogram(&values, &modes, 0.001);
        assert_eq!((histogram.below, histogram.above), (0, 0));
    }

    #[test]
    fn equal_values_have_one_bin() {
        let histogram = histogram(&[5e-9; 30], &[], 1e-10);
        assert_eq!((histogram.counts, histogram.below, histogram.above), (vec![30], 0, 0));
        assert!(histogram.low_seconds < 5e-9 && histogram.low_seconds + histogram.width_seconds > 5e-9);
    }

    proptest! {
        #[test]
        fn every_value_is_counted_once(values in prop::collection::vec(-1e3_f64..1e3, 1..200), resolution in 0.0_f64..10.0) {
            let histogram = histogram(&values, &[], resolution);
            let counted = histogram.counts.iter().sum::<u32>() + histogram.below + histogram.above;
            prop_assert_eq!(counted as usize, values.len());
            prop_assert!(histogram.width_seconds > 0.0 && (1..=40).contains(&histogram.counts.len()));
        }
    }
}
