//! The weighted sum of all sources' test scores at an assumed effect, and its inversion to an interval.

use steady_model::Interval;

use super::boundary::Boundary;
use super::{Depth, LEAST_ERROR, LEAST_PROGRESS, ScoredSource, Source};
use crate::invert::{Found, Outwards, Search, Width, candidates};
use crate::pair::MIN_PAIRS;
use crate::scale::{Scratch, median};

/// The level at which an interval has two standard errors on either side. It is used for the error of a source, because
/// it accounts for small numbers of pairs.
const TWO_SIGMA: f64 = 0.0455;

/// The effect in one source, estimated as if its number of pairs had been fixed.
pub(super) struct SourceEffect {
    /// The index of the source.
    pub(super) index: usize,
    /// The effect as a log ratio.
    pub(super) effect: f64,
    /// The standard error of the log ratio.
    pub(super) error: f64,
    /// The share of its way that the source completed, 0 to 1.
    pub(super) progress: f64,
    /// The share of its way at its first look, 0 to 1.
    pub(super) first: f64,
}

/// All sources of one contender.
pub(super) struct JointScore {
    sources: Vec<ScoredSource>,
    weight: f64,
    progress: f64,
    open: bool,
    grain: f64,
    below_grain: bool,
}

impl JointScore {
    pub(super) fn new(sources: &[Source], grain: f64) -> JointScore {
        let open = sources.iter().any(|source| source.open);
        let sources: Vec<ScoredSource> = sources.iter().map(|source| ScoredSource::new(source, grain)).collect();
        let weight: f64 = sources.iter().map(|source| source.weight).sum();
        let came: f64 = sources.iter().map(|source| source.weight * source.progress).sum();
        // If all sources ran to their end, rounding must not make it less than 1.
        let ended = sources.iter().all(|source| source.progress >= 1.0 || source.weight == 0.0);
        let stages = || sources.iter().flat_map(|source| &source.steps);
        let pairs: usize = stages().map(|(paired, _)| paired.pairs()).sum();
        let zeros: f64 = stages().map(|(paired, _)| paired.zero_share() * paired.pairs() as f64).sum();
        let below_grain = 2.0 * zeros > pairs as f64;
        let relative = stages().filter(|(paired, _)| paired.pairs() > 0).map(|(paired, _)| paired.relative_grain());
        let grain = if below_grain { relative.fold(0.0, f64::max).ln_1p() } else { 0.0 };
        let progress = if ended { 1.0 } else { (came / weight).min(1.0 - f64::EPSILON) };
        JointScore { sources, weight, progress, open, grain, below_grain }
    }

    /// Returns whether a source might have ended because of its result.
    pub(super) fn open(&self) -> bool {
        self.open
    }

    pub(super) fn pairs(&self) -> usize {
        self.sources.iter().flat_map(|source| &source.steps).map(|(paired, _)| paired.pairs()).sum()
    }

    /// Returns whether more than half of the differences are zero because of the resolution of the clock.
    pub(super) fn below_grain(&self) -> bool {
        self.below_grain
    }

    /// Returns the sum at `theta`, divided by the root of the total weight. It is positive if NEW costs more than
    /// assumed.
    fn sum(&self, theta: f64, depth: Depth, scratch: &mut Scratch) -> f64 {
        let sum: f64 = self.sources.iter().map(|source| source.sum(theta, depth, scratch)).sum();
        sum / self.weight.sqrt()
    }

    /// Returns the effect in each source that has enough pairs for an error.
    pub(super) fn each(&self) -> Vec<SourceEffect> {
        let source_effect = |(index, source): (usize, &ScoredSource)| {
            let effect = source.whole.estimate();
            let error = source.whole.interval_around(effect, TWO_SIGMA).half_width() / 2.0;
            let error = (error + self.grain).max(LEAST_ERROR);
            let is_known = source.weight > 0.0 && error.is_finite();
            is_known.then_some(SourceEffect { index, effect, error, progress: source.progress, first: source.first })
        };
        self.sources.iter().enumerate().filter_map(source_effect).collect()
    }

    /// Returns a first guess of the standard error.
    fn typical_error(&self) -> f64 {
        (self.weight * self.progress.max(LEAST_PROGRESS)).sqrt().recip()
    }

    /// Returns the joint estimate as a log ratio: the effect at which the sum is zero. `None` if no source has weight.
    pub(super) fn estimate(&self) -> Option<f64> {
        if self.weight <= 0.0 {
            return None;
        }
        let scratch = &mut Scratch::default();
        let centre = self.middle();
        let start = self.sum(centre, Depth::All, scratch);
        if start == 0.0 {
            return Some(centre);
        }
        let side = start.signum();
        let step = self.typical_error() * start.abs().clamp(0.1, 3.0);
        let search = Search { start: -start.abs(), level: 0.0, step, width: Width::Absolute(1e-3 * step) };
        Some(match search.run(|t| -side * self.sum(centre + side * t, Depth::All, scratch)) {
            Found::Close(t) => centre + side * t,
            Found::Between(inside, outside) => centre + side * ((inside + outside) / 2.0),
            Found::Nowhere => centre,
        })
    }

    /// Returns the median difference, the starting point of the search.
    fn middle(&self) -> f64 {
        median(&mut self.differences().collect::<Vec<f64>>())
    }

    /// Returns the differences of all stages with weight.
    fn differences(&self) -> impl Iterator<Item = f64> {
        let stages = self.sources.iter().flat_map(|source| &source.steps).filter(|(_, weight)| *weight > 0.0);
        stages.flat_map(|(paired, _)| &paired.strata).flat_map(|stratum| &stratum.difference).copied()
    }

    /// Returns all effects at which the sum is within the boundary on both sides, at the end and at the first looks.
    /// `centre` is the estimate.
    pub(super) fn interval(&self, centre: f64, boundary: &Boundary) -> Interval {
        if self.weight <= 0.0 || self.pairs() < MIN_PAIRS {
            return Interval::EVERYTHING;
        }
        let all = self.within(centre, boundary.at(self.progress), Depth::All);
        let first: f64 = self.sources.iter().map(|source| source.weight * source.first).sum();
        let level = boundary.first() * (first / self.weight).sqrt();
        // If the first looks reject the estimate, the later data are more informative.
        if self.sum(centre, Depth::First, &mut Scratch::default()).abs() >= level || !level.is_finite() {
            return all;
        }
        all.intersection(&self.within(centre, level, Depth::First)).unwrap_or(all)
    }

    /// Returns all effects around `centre` at which the sum is within ± `level`.
    fn within(&self, centre: f64, level: f64, depth: Depth) -> Interval {
        let scratch = &mut Scratch::default();
        let at_centre = self.sum(centre, depth, scratch);
        let step = level * self.typical_error();
        let candidates = candidates(self.differences());
        let mut end = |side: f64| {
            let outwards = Outwards { centre, side, start: -side * at_centre, level, step, candidates: &candidates };
            outwards.end(|t| -side * self.sum(centre + side * t, depth, scratch)) + self.grain
        };
        let (low, high) = (end(-1.0), end(1.0));
        Interval { low: centre - low, high: centre + high }
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use steady_model::Layout;

    use super::*;
    use crate::joined::Stage;
    use crate::pair::{Pair, Paired, Slot};

    /// Returns turns whose log ratios are `theta` with uniform noise of ± `noise`.
    fn turns(random: &mut ChaCha8Rng, count: usize, theta: f64, noise: f64) -> Vec<Pair> {
        let mut turn = || {
            let slot = Slot { order: if random.random() { 1 } else { -1 }, cpu: 0 };
            let new = (theta + noise * random.random_range(-1.0..1.0)).exp();
            Pair { layout: Layout::Turns, slot, old: 1.0, new }
        };
        (0..count).map(|_| turn()).collect()
    }

    fn interval(sources: &[Source], level: f64) -> (JointScore, Interval) {
        let joint = JointScore::new(sources, 0.0);
        let interval = joint.interval(joint.estimate().unwrap(), &Boundary::new(level / 2.0, joint.open()));
        (joint, interval)
    }

    /// The first 12 pairs showed 0.1, and 228 later ones 0.01.
    #[test]
    fn first_looks_that_reject_the_estimate_do_not_bound_it() {
        for seed in 0..20 {
            let random = &mut ChaCha8Rng::seed_from_u64(seed);
            let stages = vec![
                Stage { pairs: turns(random, 12, 0.1, 0.01), progress: 0.05 },
                Stage { pairs: turns(random, 228, 0.01, 0.01), progress: 1.0 },
            ];
            let (joint, interval) = interval(&[Source { stages, open: true }], 0.05);
            let centre = joint.estimate().unwrap();
            assert_eq!(interval, joint.within(centre, Boundary::new(0.025, true).at(1.0), Depth::All), "{seed}");
            assert!(interval.low < centre - 0.0005 && interval.high > centre + 0.0005, "{seed}: {centre} {interval:?}");
        }
    }

    /// NEW costs 0.909 or 1.09 times as much as OLD, each in half of the runs.
    #[test]
    fn the_interval_reaches_both_modes_if_those_of_all_sources_do() {
        const NOISE: f64 = 0.003;
        let modes = [0.909f64.ln(), 1.09f64.ln()];
        let source = |random: &mut ChaCha8Rng| {
            let mut pairs = modes.map(|theta| turns(random, 50, theta, NOISE)).concat();
            (1..pairs.len()).rev().for_each(|last| pairs.swap(last, random.random_range(0..=last)));
            Source::fixed(pairs)
        };
        for seed in 0..20 {
            let random = &mut ChaCha8Rng::seed_from_u64(seed);
            let sources = [source(random), source(random)];
            let reaches = |interval: &Interval| interval.low < modes[0] + NOISE && interval.high > modes[1] - NOISE;
            let alone = |source: &Source| Paired::new(&source.stages[0].pairs, 0.0).interval(0.05);
            assert!(sources.iter().all(|source| reaches(&alone(source))), "{seed}");
            let (_, joint) = interval(&sources, 0.05);
            assert!(reaches(&joint), "{seed}: {joint:?}");
        }
    }
}
