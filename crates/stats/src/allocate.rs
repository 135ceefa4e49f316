//! Which layout the next pair should have: the one that resolves more per second, judged blind to signs.

use steady_model::Layout;

use crate::pair::{Pair, Paired, Stratum};
use crate::scale::{Scratch, median};

/// Every layout is explored with this many pairs before its precision counts.
pub const EXPLORATION_PAIRS: usize = 8;
/// No layout's share of the pairs falls below this: loads change.
pub const FLOOR: f64 = 0.1;
/// How sharply shares follow precision.
const SHARPNESS: f64 = 1.5;

/// How a layout has done so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// How many pairs it has had.
    pub pairs: usize,
    /// How long one of them takes, in seconds.
    pub seconds_per_pair: f64,
    /// The variance of one pair's information, from [`variance`]: in squared log ratios.
    pub variance: Option<f64>,
}

/// The share of the coming pairs that each layout should get; the caller draws the coin. Sums to one.
///
/// A layout's half-width after some seconds goes with the root of variance times seconds per pair; its share goes with
/// (1 / that squared)^1.5, over a floor. While any layout has fewer than 8 pairs, or has been run for less than
/// `exploration_seconds`, each gets the same time.
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

/// The variance of one pair of `layout`, over all contenders (their geometric mean): how well the weighted pairs of that
/// layout resolve, times their number. Blind to signs: exchanging OLD and NEW in any pair leaves it as it is, so that
/// what is run next owes nothing to which command leads. `None` with fewer than 8 pairs or no spread at all.
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

/// The harmonic mean of the bins' variances. Within a bin the spread of sizes around their median stands for sigma: a
/// large effect moves that median, where it would inflate the sizes themselves.
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

/// Lifts shares to the floor, at the others' cost in proportion to what they have above it.
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
    fn explores_evenly_by_time() {
        let shares = shares(&[standing(7, 0.02, 1.0), standing(500, 0.01, 9.0)], 0.0);
        assert!((shares[0] - 1.0 / 3.0).abs() < 1e-12, "{shares:?}");
        let shares = super::shares(&[standing(8, 0.01, 1.0), standing(8, 0.01, 9.0)], 0.5);
        assert_eq!(shares, [0.5, 0.5]);
    }

    #[test]
    fn follows_precision_per_second_down_to_the_floor() {
        let shares = shares(&[standing(50, 0.02, 1.0), standing(50, 0.01, 1.0)], 0.5);
        assert!((shares[1] / shares[0] - 2.0_f64.powf(1.5)).abs() < 1e-9, "{shares:?}");
        let shares = super::shares(&[standing(50, 0.02, 1.0), standing(50, 0.02, 1e6)], 0.5);
        assert!((shares[1] - FLOOR).abs() < 1e-12 && (shares[0] - 0.9).abs() < 1e-12, "{shares:?}");
        assert_eq!(super::shares(&[standing(50, 0.02, 1.0)], 0.5), [1.0]);
    }

    #[test]
    fn variance_is_blind_to_signs_and_sees_noise() {
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
