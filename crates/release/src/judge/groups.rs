//! Which routes and classes are compared by themselves, where a coin chose the version.
//!
//! Costs may be compared within a route and class only if the version has no part in which route and class a request has. A coin
//! gives each of them its share of both versions; where the counts contradict that, the version decides (a route that NEW alone
//! has, a template with another name), and requests would be missing on one side that are there on the other. All these are
//! compared as one.

use std::collections::{BTreeMap, BTreeSet};

use steady_stats::release::critical;

use super::effect::Plain;
use super::window::Line;

/// Strata with fewer requests of either version are not compared by themselves.
pub(crate) const LEAST: u64 = 20;
/// The error, over all strata, at which counts contradict the coin.
const CONTRADICTS: f64 = 0.001;
/// The error at which strata together do not have the coin's share: what is missing among them is elsewhere.
const FITS: f64 = 0.05;
/// Seconds in which the coin's share is taken as one.
const STRETCH: u64 = 10;

/// Route and class.
type Stratum = (u32, u32);
/// A host, and a stretch of time or a pair of slots on it.
type Block = (u32, u64);
/// Requests of OLD and NEW.
type Counts = BTreeMap<Block, [f64; 2]>;

/// The number of the strata that are pooled, and of the rare ones.
pub(crate) const POOLED: Stratum = (u32::MAX, u32::MAX);
const RARE: Stratum = (u32::MAX, 0);

/// How strata are put together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    /// Those whose counts contradict the coin.
    unequal: BTreeSet<Stratum>,
    /// Those that are compared as one for that; all, where what is missing among the unequal ones is not to be found.
    pooled: BTreeSet<Stratum>,
    /// Those with too few requests of a version, and the smallest others; they are compared as one, too.
    rare: BTreeSet<Stratum>,
}

impl Groups {
    /// With a coin for each request.
    pub(crate) fn of_requests(lines: &[Line]) -> Groups {
        let block = |line: &Line| (line.row.host, line.row.second / STRETCH);
        Groups::new(lines, block, Score::unlikely_by_coins, Score::fits_coins)
    }

    /// With a coin for each pair of slots, of which `begin` tells the first second.
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
        let level = CONTRADICTS / strata.len().max(1) as f64;
        let contradicts = |counts: &Counts| unlikely(&Score::of(counts, &all), level);
        let mut unequal: BTreeSet<Stratum> =
            strata.iter().filter(|(_, (_, counts))| contradicts(counts)).map(|(stratum, _)| *stratum).collect();
        let is_rare = |stratum: &&Stratum| !unequal.contains(stratum) && strata[*stratum].0.iter().any(|n| *n < LEAST);
        let mut rare: BTreeSet<Stratum> = strata.keys().filter(is_rare).copied().collect();
        // Each may be too rare to show it, and all of them together not.
        if unlikely(&score(&rare), CONTRADICTS) {
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

    /// Whether requests of this route and class are compared with those of others, as the version has a part in which they are.
    pub(crate) fn is_pooled(&self, stratum: Stratum) -> bool {
        self.pooled.contains(&stratum)
    }

    /// Whether any class of the route is.
    pub(crate) fn is_pooled_route(&self, route: u32) -> bool {
        self.pooled.range((route, 0)..=(route, u32::MAX)).next().is_some()
    }

    /// The same number for all strata that are compared as one.
    pub(crate) fn of(&self, stratum: Stratum) -> Stratum {
        match stratum {
            _ if self.pooled.contains(&stratum) => POOLED,
            _ if self.rare.contains(&stratum) => RARE,
            stratum => stratum,
        }
    }

    /// The routes that the versions served unequally, those with the most CPU time first, and the share of the CPU time that
    /// they have. The lines are in order.
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

/// Requests of NEW among those of a stratum, beside what the shares of NEW among all requests of the same blocks lead to expect.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    requests: f64,
    observed: f64,
    expected: f64,
    /// The variance of the difference, had a coin chosen for each request.
    variance: f64,
    /// The sum of the squared differences of the blocks, and how many there are.
    squares: f64,
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

    /// Whether coins for requests give such a count no more often than this: Hoeffding's bound (1963, theorem 1), which also holds
    /// for few requests and for shares that change.
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

    /// The same for coins that chose for slots: how traffic differs between slots is known from the pairs alone, and with a coin
    /// that falls otherwise a pair's difference has the other sign.
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
