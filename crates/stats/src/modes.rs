//! Detects whether values form two groups.

/// With fewer values, two groups cannot be distinguished from chance.
pub const FEWEST: usize = 30;
/// More values are reduced to this number of quantiles, which carry the same information about groups.
const MOST: usize = 100;
/// The minimum share and number of values in a group; fewer are outliers.
const LEAST_SHARE: f64 = 0.12;
const LEAST_VALUES: usize = 5;
/// One value of this many is dropped at each end, so that outliers beyond a group do not hide it.
const PER_OUTLIER: usize = 50;
/// Critical values: the statistic exceeds them in at most 5 % of the samples of one group, for every shape.
/// `CRITICAL_FEW` is for fewer than 50 values, `CRITICAL` for 50 and for 100 values, with log-log interpolation between
/// them. They come from simulation (`tests/truth/modes.rs`); the worst shapes are skewed and have no tail on one side.
const CRITICAL_FEW: f64 = 6.7;
const CRITICAL: [(f64, f64); 2] = [(50.0, 6.3), (100.0, 3.0)];

/// A group of neighbouring values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// The median of the group.
    pub median: f64,
    /// The share of the group in all values.
    pub share: f64,
}

/// Returns the two groups that values form, the lower one first. `None` if one group explains the values, or if the gap
/// between the groups is not wider than `least_gap`.
///
/// The statistic is the product of two ratios: the distance of the groups' means and the gap between the groups, each
/// divided by the standard deviation within the groups. It is maximised over all ways to split the ordered values in
/// two. A single group is mistaken for two in at most 5 % of samples, even if it is skewed and heavy-tailed. Two normal
/// groups six deviations apart are found in at least 90 %, if the smaller one has at least 15 % of the values.
pub fn two(values: &[f64], least_gap: f64) -> Option<[Group; 2]> {
    if values.len() < FEWEST {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let looked_at = thinned(&sorted);
    let outliers = looked_at.len() / PER_OUTLIER;
    let inner = &looked_at[outliers..looked_at.len() - outliers];
    let (cut, statistic) = best_cut(inner);
    let (below, above) = (inner[cut - 1], inner[cut]);
    if statistic <= critical(looked_at.len()) || above - below <= least_gap {
        return None;
    }
    let place = sorted.partition_point(|value| *value < (below + above) / 2.0);
    let group = |part: &[f64]| Group { median: middle(part), share: part.len() as f64 / sorted.len() as f64 };
    let (lower, upper) = sorted.split_at(place);
    Some([group(lower), group(upper)])
}

/// Returns at most [`MOST`] values with the same distribution.
fn thinned(sorted: &[f64]) -> Vec<f64> {
    if sorted.len() <= MOST {
        return sorted.to_vec();
    }
    (0..MOST).map(|place| sorted[(2 * place + 1) * sorted.len() / (2 * MOST)]).collect()
}

fn critical(count: usize) -> f64 {
    let [(few, at_few), (many, at_many)] = CRITICAL;
    let count = count as f64;
    if count < few {
        return CRITICAL_FEW;
    }
    let way = (count / few).ln() / (many / few).ln();
    at_few * (at_many / at_few).powf(way)
}

/// Returns the best split and its statistic.
fn best_cut(sorted: &[f64]) -> (usize, f64) {
    let least = ((LEAST_SHARE * sorted.len() as f64).ceil() as usize).max(LEAST_VALUES);
    let cuts = (least..=sorted.len() - least).map(|cut| (cut, statistic(sorted, cut)));
    cuts.fold((least, 0.0), |best, next| if next.1 > best.1 { next } else { best })
}

fn statistic(sorted: &[f64], cut: usize) -> f64 {
    let (lower, upper) = sorted.split_at(cut);
    let gap = upper[0] - lower[cut - 1];
    if gap <= 0.0 {
        return 0.0;
    }
    let ((mean_below, below), (mean_above, above)) = (moments(lower), moments(upper));
    // For groups of equal values the variance is zero and the result infinite.
    (mean_above - mean_below) * gap / ((below + above) / 2.0)
}

/// Returns mean and variance.
fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0))
}

fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { (sorted[half - 1] + sorted[half]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(from: f64, count: usize) -> impl Iterator<Item = f64> {
        (0..count).map(move |n| from + n as f64 / count as f64)
    }

    #[test]
    fn two_groups_are_found_with_their_shares() {
        for scale in [1.0, 1e-9] {
            let values: Vec<f64> = group(100.0, 75).chain(group(110.0, 25)).map(|value| value * scale).collect();
            let [lower, upper] = two(&values, 0.0).unwrap();
            assert_eq!((lower.share, upper.share), (0.75, 0.25));
            assert!((lower.median / scale - 100.5).abs() < 0.1 && (upper.median / scale - 110.5).abs() < 0.1);
        }
    }

    #[test]
    fn outliers_form_no_group_and_hide_none() {
        let values: Vec<f64> = group(100.0, 97).chain([200.0, 201.0, 202.0]).collect();
        assert_eq!(two(&values, 0.0), None);
        let values: Vec<f64> = group(100.0, 68).chain(group(110.0, 30)).chain([900.0, 5000.0]).collect();
        assert_eq!(two(&values, 0.0).map(|groups| groups[1].share), Some(0.32));
    }

    #[test]
    fn values_one_clock_step_apart_form_no_groups() {
        let values: Vec<f64> = (0..60).map(|n| f64::from(n % 2)).collect();
        assert_eq!(two(&values, 1.0), None);
        assert!(two(&values, 0.5).is_some());
        assert_eq!(two(&[3.0; 80], 0.0), None);
    }

    #[test]
    fn few_values_form_no_groups() {
        let values: Vec<f64> = group(0.0, 15).chain(group(100.0, 14)).collect();
        assert_eq!(two(&values, 0.0), None);
        assert_eq!(two(&[], 0.0), None);
    }

    #[test]
    fn thousands_of_values_are_reduced_to_quantiles() {
        let values: Vec<f64> = group(0.0, 40_000).chain(group(6.0, 10_000)).collect();
        assert_eq!(two(&values, 0.0).map(|groups| groups[0].share), Some(0.8));
        let one: Vec<f64> = group(0.0, 50_000).collect();
        assert_eq!(two(&one, 0.0), None);
    }
}
