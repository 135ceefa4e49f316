//! Combines pairs that share a random draw into one pair.
//!
//! A snapshot of a program has fixed addresses, and therefore a fixed effect of these addresses on its cost. Pairs of
//! the same snapshots are not independent, however many they are: only the sign of all of them together is random and
//! fair. They are therefore combined into one pair. Exchanging the labels changes the sign of its log ratio and leaves
//! its cost sum unchanged.

use crate::pair::{Pair, Slot};

/// The share of values trimmed at each end, because a mean is sensitive to runs that were disturbed by load.
const TRIMMED: f64 = 0.2;

/// Combines `pairs` into one; `None` without pairs. `grain` is the resolution of the instrument, in the unit of the
/// costs.
///
/// The combined pair has no slot, because the slots of its pairs are assumed to be balanced. A single pair is returned
/// unchanged.
pub fn gather(pairs: &[Pair], grain: f64) -> Option<Pair> {
    let (first, rest) = pairs.split_first()?;
    if rest.is_empty() {
        return Some(*first);
    }
    let least = if grain > 0.0 { grain / 2.0 } else { f64::MIN_POSITIVE };
    let log = |cost: f64| cost.clamp(least, f64::MAX).ln();
    let logs = || pairs.iter().map(|pair| (log(pair.old), log(pair.new)));
    let difference = trimmed_mean(logs().map(|(old, new)| new - old).collect());
    let sum = trimmed_mean(logs().map(|(old, new)| new + old).collect());
    let (old, new) = (((sum - difference) / 2.0).exp(), ((sum + difference) / 2.0).exp());
    Some(Pair { layout: first.layout, slot: Slot { order: 0, cpu: 0 }, old, new })
}

/// Returns the mean after trimming the same number of values at both ends. Negating all values negates it.
fn trimmed_mean(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let cut = (TRIMMED * values.len() as f64) as usize;
    let kept = &values[cut..values.len() - cut];
    // Sum from both ends in parallel, so that negated values give exactly the negated sum, to the last bit.
    let sum: f64 = (0..kept.len()).map(|place| kept[place] + kept[kept.len() - 1 - place]).sum();
    sum / (2 * kept.len()) as f64
}

#[cfg(test)]
mod tests {
    use steady_model::Layout;

    use super::*;

    fn pair(old: f64, new: f64) -> Pair {
        Pair { layout: Layout::Turns, slot: Slot { order: 1, cpu: 0 }, old, new }
    }

    #[test]
    fn exchanging_the_labels_mirrors_the_result() {
        let pairs: Vec<Pair> = (1..40).map(|i| pair(f64::from(i * 7 % 13 + 1), f64::from(i * 5 % 11 + 1))).collect();
        let swapped: Vec<Pair> = pairs.iter().map(|pair| pair.swapped()).collect();
        let (one, other) = (gather(&pairs, 1e-6).unwrap(), gather(&swapped, 1e-6).unwrap());
        assert_eq!((one.old, one.new), (other.new, other.old));
    }

    #[test]
    fn disturbed_runs_are_ignored_and_effects_are_not_reduced() {
        let mut pairs = vec![pair(1.0, 1.1); 8];
        pairs.push(pair(1.0, 50.0));
        pairs.push(pair(80.0, 1.1));
        let all = gather(&pairs, 1e-6).unwrap();
        assert!((all.new / all.old - 1.1).abs() < 1e-9 && (all.old - 1.0).abs() < 1e-9, "{all:?}");
    }

    #[test]
    fn single_pairs_are_unchanged_and_no_pairs_give_none() {
        assert_eq!(gather(&[pair(1.0, 2.0)], 1e-6), Some(pair(1.0, 2.0)));
        assert_eq!(gather(&[], 1e-6), None);
        assert!(gather(&[pair(0.0, 2e-6), pair(0.0, 2e-6)], 1e-6).unwrap().old > 0.0);
    }
}
