//! Pairs of runs, and their properties that do not depend on an assumed effect.

use serde::{Deserialize, Serialize};
use steady_model::Layout;

/// The minimum number of pairs for a test at 5 %: the smallest p-value of n pairs is `2^(1 - n)`.
pub const MIN_PAIRS: usize = 6;

/// Returns the minimum number of pairs for a test at `level`, at least [`MIN_PAIRS`].
pub fn least_pairs(level: f64) -> usize {
    let needed = 1.0 - level.max(f64::MIN_POSITIVE).log2();
    (needed.ceil() as usize).max(MIN_PAIRS)
}

/// The random draws of a pair, from the point of view of NEW, as `+1` or `-1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// Whether NEW started second (`+1`) or first (`-1`).
    pub order: i8,
    /// The CPU to which NEW was pinned in a duet; `0` in turns, where the CPU is not drawn.
    pub cpu: i8,
}

impl Slot {
    /// Returns the slot after exchanging OLD and NEW.
    pub fn swapped(self) -> Slot {
        Slot { order: -self.order, cpu: -self.cpu }
    }
}

/// One run of each command. Costs may be in any unit (seconds, bytes), and are zero or more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// How the two runs were arranged in time.
    pub layout: Layout,
    /// The random draws of order and CPU.
    pub slot: Slot,
    /// The cost of the reference command.
    pub old: f64,
    /// The cost of the command that is compared with the reference.
    pub new: f64,
}

impl Pair {
    /// Returns the pair with OLD and NEW exchanged.
    pub fn swapped(self) -> Pair {
        Pair { slot: self.slot.swapped(), old: self.new, new: self.old, ..self }
    }
}

/// The pairs of one layout, in time order.
#[derive(Debug)]
pub(crate) struct Stratum {
    /// The layout of the pairs.
    pub(crate) layout: Layout,
    /// Log ratios: log NEW - log OLD.
    pub(crate) difference: Vec<f64>,
    /// The random draw whose bias is removed: the CPU in duets, the order in turns.
    pub(crate) slot: Vec<f64>,
    /// The order in duets, where it is a second random draw; empty in turns.
    pub(crate) second_slot: Vec<f64>,
    /// The bin of the pair's cost sum, from cheap to expensive.
    pub(crate) bin: Vec<u8>,
    /// The number of bins.
    pub(crate) bins: usize,
}

/// Pairs prepared for testing, with everything that does not depend on the tested effect.
#[derive(Debug)]
pub struct Paired {
    pub(crate) strata: Vec<Stratum>,
    pairs: usize,
    zeros: usize,
    relative_grain: f64,
}

impl Paired {
    /// Prepares `pairs`, which are in time order. `grain` is the resolution of the instrument, in the unit of the
    /// costs; 0 if they are exact. A cost of zero counts as half of it, because its logarithm must be finite.
    pub fn new(pairs: &[Pair], grain: f64) -> Paired {
        let least = half_grain(pairs, grain);
        let strata = Layout::ALL
            .into_iter()
            .filter_map(|layout| {
                let chosen: Vec<Pair> = pairs.iter().filter(|pair| pair.layout == layout).copied().collect();
                (!chosen.is_empty()).then(|| Stratum::new(layout, &chosen, least))
            })
            .collect();
        let zeros = pairs.iter().filter(|pair| pair.old == pair.new).count();
        let total: f64 = pairs.iter().map(|pair| pair.old + pair.new).sum();
        let mean = total / (2 * pairs.len().max(1)) as f64;
        let relative_grain = match grain > 0.0 {
            true if mean > 0.0 => grain / mean,
            true => f64::INFINITY,
            false => 0.0,
        };
        Paired { strata, pairs: pairs.len(), zeros, relative_grain }
    }

    /// Returns the number of pairs.
    pub fn pairs(&self) -> usize {
        self.pairs
    }

    /// Returns the share of pairs in which both commands have exactly the same cost; 0 without pairs.
    pub fn zero_share(&self) -> f64 {
        self.zeros as f64 / self.pairs.max(1) as f64
    }

    /// Returns whether more than half of the differences are zero because of the resolution of the clock.
    pub fn below_grain(&self) -> bool {
        2 * self.zeros > self.pairs
    }

    /// Returns the resolution of the instrument divided by the mean cost.
    pub fn relative_grain(&self) -> f64 {
        self.relative_grain
    }
}

impl Stratum {
    fn new(layout: Layout, pairs: &[Pair], least: f64) -> Stratum {
        let log = |cost: f64| if cost > 0.0 { cost.min(f64::MAX).ln() } else { least.ln() };
        let logs: Vec<(f64, f64)> = pairs.iter().map(|pair| (log(pair.old), log(pair.new))).collect();
        let slot = |slot: Slot| if layout == Layout::Duet { slot.cpu } else { slot.order };
        let bins = (pairs.len() / 12).clamp(1, 8);
        Stratum {
            layout,
            difference: logs.iter().map(|(old, new)| new - old).collect(),
            slot: pairs.iter().map(|pair| f64::from(slot(pair.slot))).collect(),
            second_slot: pairs
                .iter()
                .filter(|_| layout == Layout::Duet)
                .map(|pair| f64::from(pair.slot.order))
                .collect(),
            bin: equal_bins(logs.iter().map(|(old, new)| old + new), bins),
            bins,
        }
    }
}

/// Returns the replacement for a cost of zero: half the grain, or half the smallest cost if no grain is known.
fn half_grain(pairs: &[Pair], grain: f64) -> f64 {
    if grain > 0.0 {
        return grain / 2.0;
    }
    let smallest = pairs.iter().flat_map(|pair| [pair.old, pair.new]).filter(|&cost| cost > 0.0).reduce(f64::min);
    smallest.map_or(1.0, |cost| (cost / 2.0).max(f64::MIN_POSITIVE))
}

/// Assigns values to `bins` bins of equal size by rank. Ties are ordered by position.
fn equal_bins(values: impl Iterator<Item = f64>, bins: usize) -> Vec<u8> {
    let mut order: Vec<(f64, u32)> = values.zip(0..).collect();
    let count = order.len();
    let mut bin = vec![0; count];
    let mut end = count;
    // Only the borders of the bins need sorting; the uppermost bin is split off first.
    for upper in (1..bins).rev() {
        let start = (upper * count).div_ceil(bins);
        order[..end].select_nth_unstable_by(start, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        order[start..end].iter().for_each(|&(_, index)| bin[index as usize] = upper as u8);
        end = start;
    }
    bin
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tested;

    #[test]
    fn bins_are_equal_and_ordered() {
        let values: Vec<f64> = (0..100).map(|i| f64::from(i * 37 % 100)).collect();
        let bin = equal_bins(values.iter().copied(), 8);
        for (value, bin) in values.iter().zip(bin) {
            assert_eq!(usize::from(bin), *value as usize * 8 / 100);
        }
        assert_eq!(equal_bins([1.0, 1.0, 1.0, 1.0].into_iter(), 2), [0, 0, 1, 1]);
    }

    #[test]
    fn zero_costs_count_as_half_the_grain() {
        let slot = Slot { order: 1, cpu: 0 };
        let pair = Pair { layout: Layout::Turns, slot, old: 0.0, new: 0.004 };
        assert_eq!(Paired::new(&[pair], 0.004).strata[0].difference, [0.004_f64.ln() - 0.002_f64.ln()]);
        assert_eq!(Paired::new(&[pair], 0.0).strata[0].difference, [0.004_f64.ln() - 0.002_f64.ln()]);
        let nothing = Pair { new: 0.0, ..pair };
        assert_eq!(Paired::new(&[nothing], 0.0).zero_share(), 1.0);
        assert_eq!(Paired::new(&[nothing; 8], 0.0).test(0.0), Tested { z: 0.0, p: 1.0 });
    }
}
