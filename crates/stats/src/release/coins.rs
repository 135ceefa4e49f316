//! Switchbacks: a random draw puts the versions into the first and the second of two slots. Uses the test of
//! [`Paired`], with covariates.
//!
//! The difference of first and second slot does not depend on the labels. If NEW costs `theta` more, the sign of the
//! difference without `theta` (or plus `theta`, depending on the draw) is random and fair. Anything learned without the
//! labels may be subtracted from it: here, what differences of rulers explain. All of it is repeated for every `theta`,
//! as [`Paired`] does with slots.

use steady_model::{Interval, Layout};

use super::{Estimated, HostShare, linear};
use crate::invert::{Found, Search, Width};
use crate::pair::{MIN_PAIRS, Pair, Paired, Slot};
use crate::scale::median;
use crate::score::Tested;

/// The minimum number of pairs for each covariate. With fewer, estimating its slope costs more precision than it gains.
const PAIRS_PER_COVARIATE: usize = 10;
/// The maximum deviation of a pair in the estimation of slopes, in standard deviations.
const CLIP: f64 = 2.5;
/// The maximum distance of the interval's ends from the estimate, as a logarithm.
const FARTHEST: f64 = 8.0;

/// A pair of slots, for the change of the usual request.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotPair {
    /// The logarithm of cost: first slot minus second slot.
    pub difference: f64,
    /// The load level of both slots together. Only the order of levels matters.
    pub level: f64,
    /// Whether NEW served in the first slot.
    pub new_first: bool,
    /// Measures of the load: first slot minus second slot.
    pub covariates: Vec<f64>,
}

impl SlotPair {
    fn sign(&self) -> f64 {
        if self.new_first { 1.0 } else { -1.0 }
    }
}

/// A pair of slots, for the change of the total.
#[derive(Clone, Debug, PartialEq)]
pub struct CostPair {
    /// The mean cost of a request divided by its expected cost, for OLD and NEW.
    pub costs: [f64; 2],
    /// The weight of the pair, such as the expected cost of its requests.
    pub weight: f64,
    /// Whether NEW served in the first slot.
    pub new_first: bool,
    /// Measures of the load, as logarithms: first slot minus second slot.
    pub covariates: Vec<f64>,
}

/// The change of the total over pairs of slots.
#[derive(Clone, Debug)]
pub struct PairedTotal {
    /// The logarithm of the ratio of the costs, NEW / OLD.
    pub estimated: Estimated,
    /// The contribution of each pair.
    pub shares: Vec<HostShare>,
}

/// Returns the ratio of the costs of NEW and OLD from pairs of slots, in which a random draw gave one slot to NEW. It
/// is the ratio at which the difference between first and second slots does not depend on the draw. `None` with fewer
/// than 6 pairs.
///
/// If NEW costs `exp(theta)` times OLD, costs after moving half of `theta` from NEW to OLD do not depend on the draw.
/// Neither does the part of the difference that covariates explain. The draws are independent, so autocorrelated load
/// does not matter. Costs are compared in levels: expensive requests count in full.
pub fn paired_total(pairs: &[CostPair]) -> Option<PairedTotal> {
    const MOST_STEPS: usize = 50;
    const CONVERGED: f64 = 1e-12;
    if pairs.len() < MIN_PAIRS {
        return None;
    }
    let sum = |side: usize| pairs.iter().map(|pair| pair.weight * pair.costs[side]).sum::<f64>();
    let mut theta = sum(1).ln() - sum(0).ln();
    let used = used_covariates(pairs.len(), pairs.iter().map(|pair| pair.covariates.len()));
    let (mut left, mut levels, mut columns) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..MOST_STEPS {
        (left, levels, columns) = beyond_load(pairs, theta, used);
        let step = left.iter().sum::<f64>() / levels.iter().sum::<f64>();
        theta += step;
        if !step.is_finite() || step.abs() < CONVERGED {
            break;
        }
    }
    let n = pairs.len() as f64;
    let all: f64 = levels.iter().sum();
    let power = |power: i32| levels.iter().map(|level| level.powi(power)).sum::<f64>();
    // The effective number of pairs: that many pairs of equal weight would have the same precision.
    let counting = power(2) * power(2) / power(4);
    let freedom = (counting - 1.0 - used as f64).max(1.0);
    // Residuals of pairs that influenced the slopes are too small, and are corrected by their leverage (HC3, MacKinnon
    // and White 1985). Without covariates, this is the usual variance of a mean.
    let leverages = linear::leverages(&columns).into_iter().chain(std::iter::repeat(0.0));
    let squares: f64 = left.iter().zip(leverages).map(|(left, own)| (left / (1.0 - own)).powi(2)).sum();
    let variance = squares / (all * all) * n / (n - 1.0);
    let share = |(left, level): (&f64, &f64)| HostShare { share: level / all, beyond: left / all };
    let shares = left.iter().zip(&levels).map(share).collect();
    let known = theta.is_finite() && variance > 0.0 && variance.is_finite();
    known.then_some(PairedTotal { estimated: Estimated { effect: theta, variance, freedom }, shares })
}

/// Returns for each pair how much more than `theta` NEW costs, without the part that covariates explain; the level of
/// each pair; and the covariates as used.
fn beyond_load(pairs: &[CostPair], theta: f64, used: usize) -> (Vec<f64>, Vec<f64>, Vec<Vec<f64>>) {
    let halves = |pair: &CostPair| [pair.costs[0] * (theta / 2.0).exp(), pair.costs[1] * (-theta / 2.0).exp()];
    let sign = |pair: &CostPair| if pair.new_first { 1.0 } else { -1.0 };
    let difference = |pair: &CostPair| {
        let [old, new] = halves(pair);
        sign(pair) * pair.weight * (new - old)
    };
    let level = |pair: &CostPair| {
        let [old, new] = halves(pair);
        pair.weight * (old + new) / 2.0
    };
    let levels: Vec<f64> = pairs.iter().map(level).collect();
    let differences: Vec<f64> = pairs.iter().map(difference).collect();
    let column = |at: usize| pairs.iter().zip(&levels).map(|(pair, level)| level * pair.covariates[at]).collect();
    let columns: Vec<Vec<f64>> = (0..used).map(column).collect();
    let left = linear::residuals(&columns, &robust_slopes(&columns, &differences), &differences);
    (pairs.iter().zip(left).map(|(pair, left)| sign(pair) * left).collect(), levels, columns)
}

/// Returns the number of covariates for which there are enough pairs.
fn used_covariates(pairs: usize, covariates: impl Iterator<Item = usize>) -> usize {
    covariates.min().unwrap_or(0).min(pairs / PAIRS_PER_COVARIATE)
}

/// Regresses `plain` on the columns robustly: it clips outliers twice and repeats the regression.
fn robust_slopes(columns: &[Vec<f64>], plain: &[f64]) -> Vec<f64> {
    let weights = vec![1.0; plain.len()];
    let none = || vec![0.0; columns.len()];
    let mut slopes = linear::regress(columns, plain, &weights).unwrap_or_else(none);
    for _ in 0..2 {
        let left = linear::residuals(columns, &slopes, plain);
        let limit = CLIP * 1.4826 * median(&mut left.iter().map(|value| value.abs()).collect::<Vec<f64>>());
        let drawn: Vec<f64> =
            plain.iter().zip(&left).map(|(value, left)| value - left + left.clamp(-limit, limit)).collect();
        slopes = linear::regress(columns, &drawn, &weights).unwrap_or_else(none);
    }
    slopes
}

/// Pairs of slots, in time order.
#[derive(Clone, Debug)]
pub struct CoinPairs {
    pairs: Vec<SlotPair>,
    /// The covariates in use, each with its values over all pairs.
    columns: Vec<Vec<f64>>,
}

impl CoinPairs {
    /// Prepares pairs with equal numbers of covariates. If there are too few pairs for all covariates, only the first
    /// ones are used.
    pub fn new(pairs: Vec<SlotPair>) -> CoinPairs {
        let used = used_covariates(pairs.len(), pairs.iter().map(|pair| pair.covariates.len()));
        let columns = (0..used).map(|at| pairs.iter().map(|pair| pair.covariates[at]).collect()).collect();
        CoinPairs { pairs, columns }
    }

    /// Returns the number of pairs.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Returns the residuals of the differences if NEW costs `theta` more.
    fn left(&self, theta: f64) -> Vec<f64> {
        let plain: Vec<f64> = self.pairs.iter().map(|pair| pair.difference - pair.sign() * theta).collect();
        let slopes = robust_slopes(&self.columns, &plain);
        linear::residuals(&self.columns, &slopes, &plain)
    }

    /// Tests, two-sided, the hypothesis that NEW costs `exp(theta)` times OLD.
    pub fn test(&self, theta: f64) -> Tested {
        let pairs: Vec<Pair> =
            self.left(theta).iter().zip(&self.pairs).map(|(left, pair)| pair_of(*left, pair)).collect();
        Paired::new(&pairs, 0.0).test(0.0)
    }

    /// Returns how far each pair is above an effect of `theta`, as one step of a robust estimate: deviations are
    /// clipped, and divided by the share of pairs that are not clipped.
    pub fn beyond(&self, theta: f64) -> Vec<f64> {
        let left = self.left(theta);
        let limit = CLIP * 1.4826 * median(&mut left.iter().map(|value| value.abs()).collect::<Vec<f64>>());
        let inside = left.iter().filter(|value| value.abs() <= limit).count().max(1) as f64 / left.len() as f64;
        left.iter().zip(&self.pairs).map(|(left, pair)| pair.sign() * left.clamp(-limit, limit) / inside).collect()
    }

    /// Returns the degrees of freedom: the number of pairs minus one, minus the number of covariates.
    pub fn freedom(&self) -> f64 {
        (self.pairs.len() as f64 - 1.0 - self.columns.len() as f64).max(1.0)
    }

    /// Returns the effect at which the test's Z is zero; `None` with fewer than 6 pairs.
    pub fn estimate(&self) -> Option<f64> {
        if self.pairs.len() < MIN_PAIRS {
            return None;
        }
        let (centre, step) = self.start();
        let at = self.test(centre).z;
        if at == 0.0 {
            return Some(centre);
        }
        let side = at.signum();
        let search = Search { start: -at.abs(), level: 0.0, step, width: Width::Absolute(1e-3 * step) };
        Some(match search.run(|t| if t > FARTHEST { f64::INFINITY } else { -side * self.test(centre + side * t).z }) {
            Found::Close(t) => centre + side * t,
            Found::Between(inside, outside) => centre + side * ((inside + outside) / 2.0),
            Found::Nowhere => centre,
        })
    }

    /// Returns all effects that the test does not reject at level `alpha`. The interval is unbounded if there are too
    /// few pairs.
    pub fn interval(&self, alpha: f64) -> Interval {
        let Some(centre) = self.estimate().filter(|_| alpha > 0.0) else { return Interval::EVERYTHING };
        let (_, step) = self.start();
        let level = crate::normal::two_sided_quantile(alpha);
        let end = |side: f64| {
            let search = Search { start: 0.0, level, step: level * step, width: Width::Relative(1e-3) };
            let found = search.run(|t| {
                let tested = self.test(centre + side * t);
                let distance = crate::normal::two_sided_quantile(tested.p);
                let distance = if tested.p <= alpha { distance.max(level) } else { distance.min(level.next_down()) };
                if tested.z * side <= 0.0 { distance } else { -distance }
            });
            match found {
                Found::Close(t) | Found::Between(_, t) if t < FARTHEST => centre + side * t,
                _ => side * f64::INFINITY,
            }
        };
        Interval { low: end(-1.0), high: end(1.0) }
    }

    /// Returns a first guess of the effect and of its error.
    fn start(&self) -> (f64, f64) {
        let left = self.left(0.0);
        let mut signed: Vec<f64> = left.iter().zip(&self.pairs).map(|(left, pair)| left * pair.sign()).collect();
        let centre = median(&mut signed);
        let mut away: Vec<f64> = signed.iter().map(|value| (value - centre).abs()).collect();
        let error = 1.4826 * median(&mut away) / (self.pairs.len() as f64).sqrt();
        (centre, error.max(1e-9))
    }
}

/// Converts a residual to a pair for [`Paired`], with the random draw as the order.
fn pair_of(left: f64, pair: &SlotPair) -> Pair {
    let (order, new) = if pair.new_first { (-1, left) } else { (1, -left) };
    let level = if pair.level.is_finite() { pair.level.clamp(-200.0, 200.0) } else { 0.0 };
    let (old, new) = ((level - new / 2.0).exp(), (level + new / 2.0).exp());
    Pair { layout: Layout::Turns, slot: Slot { order, cpu: 0 }, old, new }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Pairs under a load that differs between slots and that two rulers mostly explain.
    fn pairs(coin: &mut ChaCha8Rng, count: usize, effect: f64) -> Vec<SlotPair> {
        let pair = |coin: &mut ChaCha8Rng| {
            let new_first: bool = coin.random();
            let load = coin.random_range(-0.3..0.3);
            let covariates = vec![0.8 * load + coin.random_range(-0.03..0.03), load + coin.random_range(-0.06..0.06)];
            let noise = coin.random_range(-0.04..0.04);
            let difference = load + noise + if new_first { effect } else { -effect };
            SlotPair { difference, level: coin.random_range(0.0..0.5), new_first, covariates }
        };
        (0..count).map(|_| pair(coin)).collect()
    }

    #[test]
    fn intervals_cover_the_truth_and_rulers_narrow_them() {
        let mut coin = ChaCha8Rng::seed_from_u64(1);
        for effect in [0.0, 0.4] {
            let trials = 300;
            let (mut missed, mut with, mut without) = (0, 0.0, 0.0);
            for _ in 0..trials {
                let pairs = pairs(&mut coin, 40, effect);
                let plain: Vec<SlotPair> =
                    pairs.iter().map(|pair| SlotPair { covariates: Vec::new(), ..pair.clone() }).collect();
                let interval = CoinPairs::new(pairs).interval(0.05);
                missed += u32::from(!interval.holds(effect));
                with += interval.half_width();
                without += CoinPairs::new(plain).interval(0.05).half_width();
            }
            assert!(missed < 27, "{effect}: {missed} of {trials}");
            assert!(with < 0.4 * without, "{effect}: {with} {without}");
        }
    }

    #[test]
    fn exchanging_the_versions_mirrors_the_result() {
        let mut coin = ChaCha8Rng::seed_from_u64(2);
        let pairs = pairs(&mut coin, 50, 0.1);
        let swapped: Vec<SlotPair> =
            pairs.iter().map(|pair| SlotPair { new_first: !pair.new_first, ..pair.clone() }).collect();
        let (one, other) = (CoinPairs::new(pairs), CoinPairs::new(swapped));
        assert_eq!(one.estimate().unwrap(), -other.estimate().unwrap());
        let (one, other) = (one.interval(0.05), other.interval(0.05));
        assert_eq!((one.low, one.high), (-other.high, -other.low));
    }

    #[test]
    fn five_pairs_give_no_estimate() {
        let mut coin = ChaCha8Rng::seed_from_u64(3);
        let few = CoinPairs::new(pairs(&mut coin, 5, 0.5));
        assert_eq!((few.estimate(), few.interval(0.05)), (None, Interval::EVERYTHING));
        let none = CoinPairs::new(Vec::new());
        assert_eq!(none.estimate(), None);
    }

    /// Slots under different loads, in which one request in ten costs 16 times as much.
    fn cost_pairs(coin: &mut ChaCha8Rng, count: usize, usual: f64, rare: f64) -> Vec<CostPair> {
        let pair = |coin: &mut ChaCha8Rng| {
            let new_first: bool = coin.random();
            let loads = [0, 1].map(|_| coin.random_range(0.8..1.25_f64));
            let mut slot = |load: f64, is_new: bool| {
                let rares = (0..100).filter(|_| coin.random::<f64>() < 0.1).count() as f64;
                let (usual, rare) = if is_new { (1.0 + usual, 1.0 + rare) } else { (1.0, 1.0) };
                load * ((100.0 - rares) * usual + 16.0 * rares * rare) / 250.0
            };
            let (first, second) = (slot(loads[0], new_first), slot(loads[1], !new_first));
            let costs = if new_first { [second, first] } else { [first, second] };
            CostPair { costs, weight: 1.0, new_first, covariates: vec![(loads[0] / loads[1]).ln()] }
        };
        (0..count).map(|_| pair(coin)).collect()
    }

    #[test]
    fn intervals_of_totals_cover_the_truth() {
        let mut coin = ChaCha8Rng::seed_from_u64(4);
        for (count, usual, rare) in [(6, 0.0, 0.0), (12, 0.0, 0.0), (60, 0.0, 0.0), (60, -0.04, 0.28), (60, 0.3, -0.3)]
        {
            let truth: f64 = (0.9 * (1.0 + usual) + 1.6 * (1.0 + rare)) / 2.5;
            let trials = 1_000;
            let missed = (0..trials)
                .filter(|_| {
                    let found = paired_total(&cost_pairs(&mut coin, count, usual, rare)).unwrap().estimated;
                    !found.interval(0.05).holds(truth.ln())
                })
                .count();
            assert!(missed < 72, "{count} pairs, {usual} {rare}: {missed} of {trials}");
        }
        assert!(paired_total(&cost_pairs(&mut coin, 5, 0.0, 0.5)).is_none(), "five pairs cannot reach 5 %");
    }

    #[test]
    fn exchanging_the_versions_mirrors_totals() {
        let mut coin = ChaCha8Rng::seed_from_u64(5);
        let pairs = cost_pairs(&mut coin, 40, 0.1, 0.2);
        let swap = |pair: &CostPair| {
            let [old, new] = pair.costs;
            CostPair { costs: [new, old], new_first: !pair.new_first, ..pair.clone() }
        };
        let swapped: Vec<CostPair> = pairs.iter().map(swap).collect();
        let (one, other) = (paired_total(&pairs).unwrap().estimated, paired_total(&swapped).unwrap().estimated);
        assert!((one.effect + other.effect).abs() < 1e-12, "{one:?} {other:?}");
        assert!((one.variance / other.variance - 1.0).abs() < 1e-9, "{one:?} {other:?}");
    }
}
