//! The weighted sum of all sources' test scores at an assumed effect, and its inversion to an interval.

use steady_model::Interval;

use super::boundary::Boundary;
use super::{Depth, LEAST_ERROR, LEAST_PROGRESS, ScoredSource, Source};
use crate::invert::{Found, Search, Width};
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
        let stages = self.sources.iter().flat_map(|source| &source.steps).filter(|(_, weight)| *weight > 0.0);
        let strata = stages.flat_map(|(paired, _)| &paired.strata);
        median(&mut strata.flat_map(|stratum| &stratum.difference).copied().collect::<Vec<f64>>())
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
        if !level.is_finite() {
            return all;
        }
        // If the interval of the first looks does not contain the estimate, the later data are more informative.
        all.intersection(&self.within(centre, level, Depth::First)).filter(|both| both.holds(centre)).unwrap_or(all)
    }

    /// Returns all effects around `centre` at which the sum is within ± `level`.
    fn within(&self, centre: f64, level: f64, depth: Depth) -> Interval {
        let scratch = &mut Scratch::default();
        let start = self.sum(centre, depth, scratch);
        let mut end = |side: f64| {
            let step = level * self.typical_error();
            // At the first looks, the sum may differ from zero at the centre.
            let start = -side * start;
            if start >= level {
                return centre;
            }
            let search = Search { start, level, step, width: Width::Relative(1e-3) };
            match search.run(|t| -side * self.sum(centre + side * t, depth, scratch)) {
                Found::Close(t) | Found::Between(_, t) => centre + side * (t + self.grain),
                Found::Nowhere => side * f64::INFINITY,
            }
        };
        Interval { low: end(-1.0), high: end(1.0) }
    }
}
