//! Chooses the layout of the next pair: the one that gains more precision per second. The choice does not depend on
//! signs.

use steady_model::Layout;

use crate::pair::{Pair, Paired, Stratum};
use crate::scale::{Scratch, median};

/// Each layout gets this many pairs before its precision is used.
pub const EXPLORATION_PAIRS: usize = 8;
/// The minimum share of each layout, because the load may change.
pub const FLOOR: f64 = 0.1;
/// The exponent by which shares follow precision.
const SHARPNESS: f64 = 1.5;

/// The precision and cost of a layout so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// The number of its pairs.
    pub pairs: usize,
    /// The duration of one pair, in seconds.
    pub seconds_per_pair: f64,
    /// The variance of one pair in squared log ratios, from [`variance`].
    pub variance: Option<f64>,
}

/// Returns the probability of each layout for the next pair; they sum to one. The caller makes the random draw.
///
/// The half-width of a layout's interval after a given time is proportional to the square root of variance times
/// seconds per pair. The layout's share is proportional to that product to the power of -1.5, with a minimum. While any
/// layout has fewer than 8 pairs, or has run for less than `exploration_seconds`, all layouts get the same time.
pub fn shares(standings: &[Standing], exploration_seconds: f64) -> Vec<f64> {
    let explored = |standing: &Standing| {
        standing.pairs >= EXPLORATION_PAIRS && standing.pairs as f64 * standing.seconds_per_pair >= exploration_seconds
    };
    let worth: Option<Vec<f64>> = standings
        .iter()
        .map(|standing| {
            let cost = standing.variance.filter(|_| explored(standing))? * standing.seconds_per_pair;
            (cost > 0.0 && cost.is_finite()).then(|| cost.powf(-SHARPNESS))
        })
        .collect();
    match worth {
        Some(worth) => floored(normalised(worth)),
        None => normalised(standings.iter().map(|standing| standing.seconds_per_pair.max(1e-9).recip()).collect()),
    }
}

/// Returns the variance of one pair of `layout`: the squared standard error of the weighted pairs of that layout, times
/// their number. For several contenders it is the geometric mean. Exchanging OLD and NEW in any pair does not change
/// it, so the choice of layouts does not depend on which command is cheaper. `None` with fewer than 8 pairs or without
/// any spread.
pub fn variance(contenders: &[Vec<Pair>], layout: Layout, grain: f64) -> Option<f64> {
    let logs: Option<Vec<f64>> = contenders
        .iter()
        .map(|pairs| {
            let chosen: Vec<Pair> = pairs.iter().filter(|pair| pair.layout == layout).copied().collect();
            let paired = Paired::new(&chosen, grain);
            let stratum = paired.strata.first().filter(|_| chosen.len() >= EXPLORATION_PAIRS)?;
            stratum_variance(stratum).map(f64::ln)
        })
        .collect();
    let logs = logs.filter(|logs| !logs.is_empty())?;
    Some((logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// Returns the harmonic mean of the variances of the bins. The scale of a bin is the spread of absolute residuals
/// around their median. A large effect shifts that median, and would inflate the absolute residuals themselves.
fn stratum_variance(stratum: &Stratum) -> Option<f64> {
    let mut residual = stratum.difference.clone();
    crate::slot::adjust(stratum, &mut residual, &mut Scratch::default());
    let mut bins: Vec<Vec<f64>> = vec![vec![]; stratum.bins];
    for (r, &bin) in residual.iter().zip(&stratum.bin) {
        bins[bin as usize].push(r.abs());
    }
    let mut information = 0.0;
    for sizes in &mut bins {
        let middle = median(sizes);
        sizes.iter_mut().for_each(|size| *size = (*size - middle).abs());
        let spread = median(sizes);
        information += sizes.len() as f64 / (spread * spread);
    }
    let variance = residual.len() as f64 / information;
    (variance > 0.0 && variance.is_finite()).then_some(variance)
}

fn normalised(mut shares: Vec<f64>) -> Vec<f64> {
    let total: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= total);
    shares
}

/// Raises shares to the minimum. The others are reduced in proportion to their excess over the minimum.
fn floored(shares: Vec<f64>) -> Vec<f64> {
    let floor = FLOOR.min(1.0 / shares.len() as f64);
    let above: f64 = shares.iter().map(|share| (share - floor).max(0.0)).sum();
    let free = 1.0 - floor * shares.len() as f64;
    let lift = |share: &f64| floor + if above > 0.0 { (share - floor).max(0.0) / above * free } else { 0.0 };
    shares.iter().map(lift).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::Slot;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn standing(pairs: usize, seconds_per_pair: f64, variance: f64) -> Standing {
        Standing { pairs, seconds_per_pair, variance: Some(variance) }
    }

    #[test]
    fn exploration_gives_each_layout_the_same_time() {
        let shares = shares(&[standing(7, 0.02, 1.0), standing(500, 0.01, 9.0)], 0.0);
        assert!((shares[0] - 1.0 / 3.0).abs() < 1e-12, "{shares:?}");
        let shares = super::shares(&[standing(8, 0.01, 1.0), standing(8, 0.01, 9.0)], 0.5);
        assert_eq!(shares, [0.5, 0.5]);
    }

    #[test]
    fn shares_follow_precision_per_second_down_to_the_minimum() {
        let shares = shares(&[standing(50, 0.02, 1.0), standing(50, 0.01, 1.0)], 0.5);
        assert!((shares[1] / shares[0] - 2.0_f64.powf(1.5)).abs() < 1e-9, "{shares:?}");
        let shares = super::shares(&[standing(50, 0.02, 1.0), standing(50, 0.02, 1e6)], 0.5);
        assert!((shares[1] - FLOOR).abs() < 1e-12 && (shares[0] - 0.9).abs() < 1e-12, "{shares:?}");
        assert_eq!(super::shares(&[standing(50, 0.02, 1.0)], 0.5), [1.0]);
    }

    #[test]
    fn variance_ignores_signs_and_measures_noise() {
        let pairs = |noise: f64| -> Vec<Pair> {
            let mut coin = ChaCha8Rng::seed_from_u64(1);
            let mut cost = || 1.0 + noise * coin.random::<f64>();
            let slot = |i: usize| Slot { order: if i * i % 7 < 3 { 1 } else { -1 }, cpu: 0 };
            (0..60).map(|i| Pair { layout: Layout::Turns, slot: slot(i), old: cost(), new: cost() }).collect()
        };
        let quiet = variance(&[pairs(1e-4)], Layout::Turns, 0.0).unwrap();
        let loud = variance(&[pairs(1e-3)], Layout::Turns, 0.0).unwrap();
        assert!(loud / quiet > 50.0, "{loud} {quiet}");
        let flipped =
            pairs(1e-3).into_iter().enumerate().map(|(i, pair)| if i % 3 == 0 { pair.swapped() } else { pair });
        assert_eq!(variance(&[flipped.collect()], Layout::Turns, 0.0), Some(loud));
        assert_eq!(variance(&[pairs(1e-3)], Layout::Duet, 0.0), None);
    }
}
