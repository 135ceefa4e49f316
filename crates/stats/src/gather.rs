//! Pairs that share something which was drawn once for all of them: together they are one.
//!
//! A snapshot of a program has its addresses for good, and what they do to its cost. Pairs of the same snapshots are not
//! independent, however many they are; what is fair is the sign of all of them at once. So they become one pair, whose log
//! ratio changes its sign where the labels change places, and whose cost sum does not change then.

use crate::pair::{Pair, Slot};

/// The share that is cut off at each end: runs that a load hit tell little, and a mean believes them.
const TRIMMED: f64 = 0.2;

/// All of `pairs` as one; none of none. `grain` is the smallest difference that the instrument shows.
///
/// Their places are taken to be balanced, so that the whole has none; one alone stays what it is.
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

/// The mean of what is left when as many are cut off at each end: where all values change their sign, so does it.
fn trimmed_mean(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let cut = (TRIMMED * values.len() as f64) as usize;
    let kept = &values[cut..values.len() - cut];
    // From both ends at once, so that the sum of mirrored values is the mirrored sum to the last bit.
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
    fn labels_that_change_places_mirror_it() {
        let pairs: Vec<Pair> = (1..40).map(|i| pair(f64::from(i * 7 % 13 + 1), f64::from(i * 5 % 11 + 1))).collect();
        let swapped: Vec<Pair> = pairs.iter().map(|pair| pair.swapped()).collect();
        let (one, other) = (gather(&pairs, 1e-6).unwrap(), gather(&swapped, 1e-6).unwrap());
        assert_eq!((one.old, one.new), (other.new, other.old));
    }

    #[test]
    fn what_was_hit_counts_for_nothing_and_an_effect_for_all_of_it() {
        let mut pairs = vec![pair(1.0, 1.1); 8];
        pairs.push(pair(1.0, 50.0));
        pairs.push(pair(80.0, 1.1));
        let all = gather(&pairs, 1e-6).unwrap();
        assert!((all.new / all.old - 1.1).abs() < 1e-9 && (all.old - 1.0).abs() < 1e-9, "{all:?}");
    }

    #[test]
    fn one_stays_what_it_is_and_none_is_none() {
        assert_eq!(gather(&[pair(1.0, 2.0)], 1e-6), Some(pair(1.0, 2.0)));
        assert_eq!(gather(&[], 1e-6), None);
        assert!(gather(&[pair(0.0, 2e-6), pair(0.0, 2e-6)], 1e-6).unwrap().old > 0.0);
    }
}
