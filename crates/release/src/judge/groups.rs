//! Decides which routes and classes are compared separately, if a coin chose the version.
//!
//! Costs may be compared within a route and class (a stratum) only if the version does not influence which route and
//! class a request has. A coin gives each stratum its share of both versions. If the counts contradict that, the
//! version has an influence: a route that only NEW has, or a template with another name. Then one side would miss
//! requests that the other has, so all such strata are compared as one.

use std::collections::{BTreeMap, BTreeSet};

use steady_stats::release::critical;

use super::effect::Plain;
use super::window::Line;

/// Fewest requests of each version for a stratum to be compared separately.
pub(crate) const LEAST: u64 = 20;
/// Significance level, over all strata, at which counts contradict the coin.
const CONTRADICTS: f64 = 0.001;
/// Significance level at which the unequal strata together do not have the coin's share. Then requests that are missing
/// among them are on other routes.
const FITS: f64 = 0.05;
/// Length of the blocks in which the coin's share counts as constant, in seconds.
const STRETCH: u64 = 10;

/// A route and a class, by their indices.
type Stratum = (u32, u32);
/// A host, and a stretch of time or a pair of slots on it.
type Block = (u32, u64);
/// Requests of OLD and NEW by block.
type Counts = BTreeMap<Block, [f64; 2]>;

/// Number that stands for all pooled strata.
pub(crate) const POOLED: Stratum = (u32::MAX, u32::MAX);
/// Number that stands for all rare strata.
const RARE: Stratum = (u32::MAX, 0);

/// Strata that are compared together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    /// Strata whose counts contradict the coin.
    unequal: BTreeSet<Stratum>,
    /// Strata that are compared as one because of that: the unequal ones, or all if the unequal ones together do not
    /// have the coin's share.
    pooled: BTreeSet<Stratum>,
    /// Strata with too few requests of a version, and the smallest others. They are also compared as one.
    rare: BTreeSet<Stratum>,
}

impl Groups {
    /// Creates the groups for a coin for each request.
    pub(crate) fn of_requests(lines: &[Line]) -> Groups {
        let block = |line: &Line| (line.row.host, line.row.second / STRETCH);
        Groups::new(lines, block, Score::unlikely_by_coins, Score::fits_coins)
    }

    /// Creates the groups for a coin for each pair of slots. `begin` returns the first second of a line's pair.
    pub(crate) fn of_pairs(lines: &[Line], begin: impl Fn(&Line) -> u64) -> Groups {
        let block = |line: &Line| (line.row.host, begin(line));
        let fits = |score: &Score| !score.unlikely_by_pairs(FITS);
        Groups::new(lines, block, Score::unlikely_by_pairs, fits)
    }

    fn new(
        lines: &[Line],
        block: impl Fn(&Line) -> Block,
        unlikely: impl Fn(&Score, f64) -> bool,
        fits: impl Fn(&Score) -> bool,
    ) -> Groups {
        let mut all = Counts::new();
        let mut strata: BTreeMap<Stratum, ([u64; 2], Counts)> = BTreeMap::new();
        for of_stratum in lines.chunk_by(|one, other| one.stratum() == other.stratum()) {
            let mut counts = Counts::new();
            for line in of_stratum {
                counts.entry(block(line)).or_default()[line.side] += line.requests();
                all.entry(block(line)).or_default()[line.side] += line.requests();
            }
            strata.insert(of_stratum[0].stratum(), (Plain::of(of_stratum).requests, counts));
        }
        let score = |chosen: &BTreeSet<Stratum>| {
            let mut sum = Counts::new();
            for (block, sides) in chosen.iter().flat_map(|stratum| &strata[stratum].1) {
                let own = sum.entry(*block).or_default();
                *own = [own[0] + sides[0], own[1] + sides[1]];
            }
            Score::of(&sum, &all)
        };
        let few = |chosen: &BTreeSet<Stratum>| {
            let sum = |side: usize| chosen.iter().map(|stratum| strata[stratum].0[side]).sum::<u64>();
            sum(0).min(sum(1)) < LEAST
        };
        // One more test is that of the rare strata together.
        let level = CONTRADICTS / (strata.len() + 1) as f64;
        let contradicts = |counts: &Counts| unlikely(&Score::of(counts, &all), level);
        let mut unequal: BTreeSet<Stratum> =
            strata.iter().filter(|(_, (_, counts))| contradicts(counts)).map(|(stratum, _)| *stratum).collect();
        let is_rare = |stratum: &&Stratum| !unequal.contains(stratum) && strata[*stratum].0.iter().any(|n| *n < LEAST);
        let mut rare: BTreeSet<Stratum> = strata.keys().filter(is_rare).copied().collect();
        // Rare strata may contradict the coin only together.
        if unlikely(&score(&rare), level) {
            unequal.append(&mut rare);
        }
        let whole = unequal.is_empty() || (fits(&score(&unequal)) && !few(&unequal));
        let pooled = if whole { unequal.clone() } else { strata.keys().copied().collect() };
        rare.retain(|stratum| !pooled.contains(stratum));
        let mut others: Vec<Stratum> =
            strata.keys().filter(|stratum| !pooled.contains(stratum) && !rare.contains(stratum)).copied().collect();
        others.sort_by_key(|stratum| std::cmp::Reverse(strata[stratum].0[0].min(strata[stratum].0[1])));
        while !rare.is_empty() && few(&rare) {
            let Some(next) = others.pop() else { break };
            rare.insert(next);
        }
        Groups { unequal, pooled, rare }
    }

    /// Returns whether the stratum is compared as one with others because the version influences its requests.
    pub(crate) fn is_pooled(&self, stratum: Stratum) -> bool {
        self.pooled.contains(&stratum)
    }

    /// Returns whether any class of the route is pooled.
    pub(crate) fn is_pooled_route(&self, route: u32) -> bool {
        self.pooled.range((route, 0)..=(route, u32::MAX)).next().is_some()
    }

    /// Returns the number of the group that the stratum is compared in, or the stratum itself.
    pub(crate) fn of(&self, stratum: Stratum) -> Stratum {
        match stratum {
            _ if self.pooled.contains(&stratum) => POOLED,
            _ if self.rare.contains(&stratum) => RARE,
            stratum => stratum,
        }
    }

    /// Returns the routes whose counts contradict the coin, those with the most CPU time first, and their share of the
    /// CPU time. The lines must be sorted.
    pub(crate) fn unequal_routes(&self, lines: &[Line]) -> (Vec<u32>, f64) {
        let (mut routes, mut all): (BTreeMap<u32, f64>, f64) = Default::default();
        for of_stratum in lines.chunk_by(|one, other| one.stratum() == other.stratum()) {
            let cpu: f64 = Plain::of(of_stratum).cpu.iter().sum();
            all += cpu;
            if self.unequal.contains(&of_stratum[0].stratum()) {
                *routes.entry(of_stratum[0].row.route).or_default() += cpu;
            }
        }
        let own: f64 = routes.values().sum();
        let mut routes: Vec<(u32, f64)> = routes.into_iter().collect();
        routes.sort_by(|(one, cpu), (other, more)| more.total_cmp(cpu).then(one.cmp(other)));
        (routes.into_iter().map(|(route, _)| route).collect(), own / all)
    }
}

/// Requests of NEW in a stratum, compared with the number expected from NEW's share of all requests of the same blocks.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    requests: f64,
    observed: f64,
    expected: f64,
    /// Variance of the difference if a coin chose for each request.
    variance: f64,
    /// Sum of the squared differences of the blocks.
    squares: f64,
    /// Number of blocks in the sum.
    blocks: f64,
}

impl Score {
    fn of(counts: &Counts, all: &Counts) -> Score {
        let mut score = Score { blocks: all.len() as f64, ..Score::default() };
        for (block, [old, new]) in counts {
            let [all_old, all_new] = all[block];
            let (own, both) = (old + new, all_old + all_new);
            let share = all_new / both;
            score.requests += own;
            score.observed += new;
            score.expected += own * share;
            if both > 1.0 {
                score.variance += own * share * (1.0 - share) * (both - own) / (both - 1.0);
            }
            score.squares += (new - own * share).powi(2);
        }
        score
    }

    /// Returns whether coins for requests give such a count with a probability of at most `alpha`, by Hoeffding's bound
    /// (1963, theorem 1). The bound also holds for few requests and for shares that change.
    fn unlikely_by_coins(&self, alpha: f64) -> bool {
        if self.requests <= 0.0 {
            return false;
        }
        let (seen, share) = (self.observed / self.requests, self.expected / self.requests);
        let part = |seen: f64, share: f64| if seen > 0.0 { seen * (seen / share).ln() } else { 0.0 };
        let entropy = part(seen, share) + part(1.0 - seen, 1.0 - share);
        self.requests * entropy > (2.0 / alpha).ln()
    }

    fn fits_coins(&self) -> bool {
        let limit = critical(FITS, f64::INFINITY);
        (self.observed - self.expected).abs() <= limit * self.variance.sqrt() + 1e-6 * self.requests
    }

    /// Returns the same for coins for pairs of slots, by Student's t over the pairs. The other outcome of a coin
    /// changes the sign of its pair's difference, and the spread of the pairs shows how much traffic differs between
    /// slots.
    fn unlikely_by_pairs(&self, alpha: f64) -> bool {
        let freedom = self.blocks - 1.0;
        let sum = self.observed - self.expected;
        if freedom < 1.0 || sum.abs() <= 1e-6 * self.requests {
            return false;
        }
        let variance = (self.squares - sum * sum / self.blocks).max(0.0) / freedom * self.blocks;
        sum.abs() > critical(alpha, freedom) * variance.sqrt()
    }
}
