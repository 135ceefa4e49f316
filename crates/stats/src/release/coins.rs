//! Versions that a coin put into the first or the second of two slots: the house's test of pairs, with covariates.
//!
//! The difference first less second is blind to the labels. If NEW costs `theta` more, then less `theta` (or plus
//! `theta`, as the coin fell) its sign is a fair coin given all else, so anything may be taken out of it that was
//! learned without the labels: here what differences of rulers explain. All of it is done anew at every `theta`, as
//! [`Paired`] does with slots.

use steady_model::{Interval, Layout};

use super::{Estimated, HostShare, linear};
use crate::invert::{Found, Search, Width};
use crate::pair::{MIN_PAIRS, Pair, Paired, Slot};
use crate::scale::median;
use crate::score::Tested;

/// With fewer pairs to each covariate, learning what it explains costs more than it gains.
const PAIRS_PER_COVARIATE: usize = 10;
/// How many deviations a pair may speak for where it is learned what covariates explain.
const CLIP: f64 = 2.5;
/// The largest distance of the interval's ends that is looked for, as a logarithm.
const FARTHEST: f64 = 8.0;

/// A pair of slots.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotPair {
    /// Logarithm of cost: first slot less second.
    pub difference: f64,
    /// Both together: how loud it was. Only their order counts.
    pub level: f64,
    /// Whether NEW served in the first slot.
    pub new_first: bool,
    /// What is known of the load beside it: first slot less second.
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
    /// Mean cost of a request over its expected cost, OLD and NEW.
    pub costs: [f64; 2],
    /// The weight of the pair, such as the expected cost of its requests.
    pub weight: f64,
    /// Whether NEW served in the first slot.
    pub new_first: bool,
    /// What is known of the load, as logarithms: first slot less second.
    pub covariates: Vec<f64>,
}

/// The change of the total over pairs of slots.
#[derive(Clone, Debug)]
pub struct PairedTotal {
    /// The logarithm of the ratio of the costs.
    pub estimated: Estimated,
    /// What each pair says about it.
    pub shares: Vec<HostShare>,
}

/// The ratio of the costs of NEW and OLD, from pairs in which a coin gave one of two slots to NEW: the ratio at which the costs
/// of first and second slots differ by nothing that depends on the coin. `None` with fewer than 6 pairs.
///
/// If NEW costs `exp(theta)` times OLD, costs with half of `theta` moved from NEW to OLD do not depend on the coin, and
/// neither does what covariates explain of the difference between first and second slot. The coins are independent, so load
/// that resembles itself from pair to pair does not matter. Costs are compared in levels: expensive requests count in full.
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
    // As many pairs as would count alike.
    let counting = power(2) * power(2) / power(4);
    let freedom = (counting - 1.0 - used as f64).max(1.0);
    // A pair that slopes were learned from lies closer to what they explain than it would otherwise (HC3 as of MacKinnon and
    // White 1985; where there is no covariate, the usual variance of a mean).
    let leverages = linear::leverages(&columns).into_iter().chain(std::iter::repeat(0.0));
    let squares: f64 = left.iter().zip(leverages).map(|(left, own)| (left / (1.0 - own)).powi(2)).sum();
    let variance = squares / (all * all) * n / (n - 1.0);
    let share = |(left, level): (&f64, &f64)| HostShare { share: level / all, beyond: left / all };
    let shares = left.iter().zip(&levels).map(share).collect();
    let known = theta.is_finite() && variance > 0.0 && variance.is_finite();
    known.then_some(PairedTotal { estimated: Estimated { effect: theta, variance, freedom }, shares })
}

/// How much more than `theta` NEW costs in each pair, with what covariates explain taken out; the level of each pair; and the
/// covariates as they were used.
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

/// How many covariates there are pairs enough to learn from.
fn used_covariates(pairs: usize, covariates: impl Iterator<Item = usize>) -> usize {
    covariates.min().unwrap_or(0).min(pairs / PAIRS_PER_COVARIATE)
}

/// What columns explain of `plain`, robustly: far values are drawn in, twice.
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

/// Pairs of slots, in order of time.
#[derive(Clone, Debug)]
pub struct CoinPairs {
    pairs: Vec<SlotPair>,
    /// The covariates that are used, each over all pairs.
    columns: Vec<Vec<f64>>,
}

impl CoinPairs {
    /// Prepares pairs, all with as many covariates. As many covariates are used as there are pairs to learn from, the
    /// first ones first.
    pub fn new(pairs: Vec<SlotPair>) -> CoinPairs {
        let used = used_covariates(pairs.len(), pairs.iter().map(|pair| pair.covariates.len()));
        let columns = (0..used).map(|at| pairs.iter().map(|pair| pair.covariates[at]).collect()).collect();
        CoinPairs { pairs, columns }
    }

    /// How many pairs there are.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// What is left of the differences if NEW costs `theta` more.
    fn left(&self, theta: f64) -> Vec<f64> {
        let plain: Vec<f64> = self.pairs.iter().map(|pair| pair.difference - pair.sign() * theta).collect();
        let slopes = robust_slopes(&self.columns, &plain);
        linear::residuals(&self.columns, &slopes, &plain)
    }

    /// The two-sided test that NEW costs `exp(theta)` times OLD.
    pub fn test(&self, theta: f64) -> Tested {
        let pairs: Vec<Pair> =
            self.left(theta).iter().zip(&self.pairs).map(|(left, pair)| pair_of(*left, pair)).collect();
        Paired::new(&pairs, 0.0).test(0.0)
    }

    /// How far each pair lies above an effect of `theta`, as one step of a robust estimate has it: far ones are drawn
    /// in, and the others count for that much more.
    pub fn beyond(&self, theta: f64) -> Vec<f64> {
        let left = self.left(theta);
        let limit = CLIP * 1.4826 * median(&mut left.iter().map(|value| value.abs()).collect::<Vec<f64>>());
        let inside = left.iter().filter(|value| value.abs() <= limit).count().max(1) as f64 / left.len() as f64;
        left.iter().zip(&self.pairs).map(|(left, pair)| pair.sign() * left.clamp(-limit, limit) / inside).collect()
    }

    /// Degrees of freedom that are left of the pairs.
    pub fn freedom(&self) -> f64 {
        (self.pairs.len() as f64 - 1.0 - self.columns.len() as f64).max(1.0)
    }

    /// Where the test speaks neither for nor against; `None` with fewer than 6 pairs.
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

    /// Every effect that the test does not reject at `alpha`; unbounded where pairs are too few for that.
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

    /// A first guess of the effect, and of its error.
    fn start(&self) -> (f64, f64) {
        let left = self.left(0.0);
        let mut signed: Vec<f64> = left.iter().zip(&self.pairs).map(|(left, pair)| left * pair.sign()).collect();
        let centre = median(&mut signed);
        let mut away: Vec<f64> = signed.iter().map(|value| (value - centre).abs()).collect();
        let error = 1.4826 * median(&mut away) / (self.pairs.len() as f64).sqrt();
        (centre, error.max(1e-9))
    }
}

/// As the house's pairs are: NEW's order is the coin.
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

    /// Pairs under a load that differs between slots, of which two rulers tell most.
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
    fn intervals_hold_the_truth_and_rulers_narrow_them() {
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
    fn exchanging_the_versions_mirrors_it() {
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
    fn five_pairs_say_nothing() {
        let mut coin = ChaCha8Rng::seed_from_u64(3);
        let few = CoinPairs::new(pairs(&mut coin, 5, 0.5));
        assert_eq!((few.estimate(), few.interval(0.05)), (None, Interval::EVERYTHING));
        let none = CoinPairs::new(Vec::new());
        assert_eq!(none.estimate(), None);
    }

    /// Slots under a load that differs between them, in which one request in ten costs 16 times as much.
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
    fn totals_of_pairs_hold_the_truth() {
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
