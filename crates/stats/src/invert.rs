//! Inversion of the test: the effect at which Z is zero, and the effects that the test does not reject.
//!
//! Every search runs outwards from a centre and uses a distance without sign, so that exchanging the labels mirrors the
//! result to the last bit.

use steady_model::Interval;

use crate::normal;
use crate::pair::Paired;
use crate::scale::{Scratch, median};
use crate::score::{self, Tested};

/// The tolerance for a root of the test, in standard errors.
const CLOSE: f64 = 3e-3;
/// The tolerance for a bracket around a root, relative to its distance from the centre.
const NARROW: f64 = 1e-3;

/// The maximum number of doublings, each starting from about one standard error. If a search goes further, all random
/// draws were equal and the effect cannot be separated from the slot. The probability of this vanishes with more pairs.
const MOST_DOUBLINGS: usize = 30;

impl Paired {
    /// Tests, two-sided, the hypothesis that NEW costs `exp(theta)` times OLD.
    pub fn test(&self, theta: f64) -> Tested {
        score::test(self, theta, &mut Scratch::default())
    }

    /// Returns the estimated effect as a log ratio: the effect at which the test's Z crosses zero. Zero without pairs.
    pub fn estimate(&self) -> f64 {
        estimate(self, &mut Scratch::default())
    }

    /// Returns the smallest interval with all effects (log ratios) that the test does not reject at level `alpha`. It
    /// is unbounded if there are too few pairs for that level.
    pub fn interval(&self, alpha: f64) -> Interval {
        let scratch = &mut Scratch::default();
        let estimate = estimate(self, scratch);
        interval(self, estimate, alpha, scratch)
    }

    /// Returns the same as [`Paired::interval`], for an estimate that is already known.
    pub fn interval_around(&self, estimate: f64, alpha: f64) -> Interval {
        interval(self, estimate, alpha, &mut Scratch::default())
    }

    /// Returns the factor by which varying load widened the interval, compared with pairs that are all as quiet as the
    /// quietest quarter. `None` with too few pairs to compare quiet and loud ones.
    pub fn widening(&self) -> Option<f64> {
        self.widening_at(self.estimate())
    }

    /// Returns the same as [`Paired::widening`], for an estimate that is already known.
    pub(crate) fn widening_at(&self, estimate: f64) -> Option<f64> {
        score::widening(self, estimate, &mut Scratch::default())
    }
}

/// Implements [`Paired::estimate`] with buffers.
fn estimate(paired: &Paired, scratch: &mut Scratch) -> f64 {
    let centre = median(&mut differences(paired).collect::<Vec<f64>>());
    let start = score::test(paired, centre, scratch).z;
    if start.abs() <= CLOSE {
        return centre;
    }
    let side = start.signum();
    let step = typical_error(scratch) * start.abs().clamp(0.1, 3.0);
    let search = Search { start: -start.abs(), level: 0.0, step, width: Width::Absolute(NARROW * step) };
    match search.run(|t| -side * score::test(paired, centre + side * t, scratch).z) {
        Found::Close(t) => centre + side * t,
        Found::Between(inside, outside) => centre + side * ((inside + outside) / 2.0),
        Found::Nowhere => centre,
    }
}

/// See [`Paired::interval`]. `centre` is the estimate.
fn interval(paired: &Paired, centre: f64, alpha: f64, scratch: &mut Scratch) -> Interval {
    if alpha <= 0.0 {
        // A look without a share of the error rate gives no bound.
        return Interval::EVERYTHING;
    }
    let level = normal::two_sided_quantile(alpha);
    score::test(paired, centre, scratch);
    let step = level * typical_error(scratch);
    let candidates = candidates(differences(paired));
    let mut end = |side: f64| {
        let outwards = Outwards { centre, side, start: 0.0, level, step, candidates: &candidates };
        outwards.end(|t| {
            let tested = score::test(paired, centre + side * t, scratch);
            let distance = normal::two_sided_quantile(tested.p);
            // Rounding in the quantile must not accept an effect that p rejects.
            let distance = if tested.p <= alpha { distance.max(level) } else { distance.min(level.next_down()) };
            if tested.z * side <= 0.0 { distance } else { -distance }
        })
    };
    let (low, high) = (end(-1.0), end(1.0));
    Interval { low: centre - low, high: centre + high }
}

/// Returns effects that a test may accept far from its estimate: zero, and the octiles of the differences, so that
/// there is one in each group with a fourth of the pairs.
pub(crate) fn candidates(differences: impl Iterator<Item = f64>) -> Vec<f64> {
    const PARTS: usize = 8;
    let mut sorted: Vec<f64> = differences.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    // Rounding both ways keeps the candidates symmetric in the labels.
    let ranks = (1..PARTS).flat_map(|part| [part * last / PARTS, (part * last).div_ceil(PARTS)]);
    let mut candidates: Vec<f64> = ranks.filter_map(|rank| sorted.get(rank).copied()).chain([0.0]).collect();
    candidates.dedup();
    candidates
}

/// A search for one end of an interval, from its centre outwards.
///
/// A test may reject an effect and not a more distant one, because weights are estimated again at each effect. That
/// happens if the differences form groups, as those of a command with two modes: the nearest rejected effect is next to
/// the estimate, inside one group, and the other group is not rejected. The search therefore continues outwards from
/// the farthest of the candidates that is not rejected.
pub(crate) struct Outwards<'a> {
    /// The effect from which the search starts.
    pub(crate) centre: f64,
    /// The direction: 1 for larger effects, -1 for smaller ones.
    pub(crate) side: f64,
    /// The value of the function at the centre.
    pub(crate) start: f64,
    /// The level that the function reaches if the test rejects.
    pub(crate) level: f64,
    /// The first step.
    pub(crate) step: f64,
    /// Effects that the test may accept although it rejects some that are nearer to the centre.
    pub(crate) candidates: &'a [f64],
}

impl Outwards<'_> {
    /// Returns the distance of the end from the centre, or infinity if the test rejects nothing. `function` is the
    /// statistic at a distance. It tends to increase.
    pub(crate) fn end(&self, mut function: impl FnMut(f64) -> f64) -> f64 {
        let mut distances: Vec<f64> = self.candidates.iter().map(|at| self.side * (at - self.centre)).collect();
        distances.sort_unstable_by(|a, b| b.total_cmp(a));
        let (mut from, mut start) = (0.0, self.start);
        loop {
            let search = Search { start, level: self.level, step: self.step, width: Width::Relative(NARROW) };
            let end = match start < self.level {
                true => match search.run(|t| function(from + t)) {
                    Found::Close(t) | Found::Between(_, t) => from + t,
                    Found::Nowhere => return f64::INFINITY,
                },
                // The test rejects the centre itself.
                false => from,
            };
            let outside = distances.iter().take_while(|t| **t > end);
            match outside.map(|t| (*t, function(*t))).find(|(_, value)| *value < self.level) {
                Some(farther) => (from, start) = farther,
                None => return end,
            }
        }
    }
}

/// Returns a first guess of the standard error, from the scales of the last test.
fn typical_error(scratch: &Scratch) -> f64 {
    /// The loss of efficiency of ranks compared with a mean, for normal noise.
    const RANKS: f64 = 1.02;
    let information = scratch.information();
    if information > 0.0 { RANKS / information.sqrt() } else { 1e-12 }
}

fn differences(paired: &Paired) -> impl Iterator<Item = f64> {
    paired.strata.iter().flat_map(|stratum| &stratum.difference).copied()
}

/// The result of a search.
pub(crate) enum Found {
    /// A distance at which the function is at the level or slightly above it.
    Close(f64),
    /// The greatest known distance below the level, and the smallest known one at or above it.
    Between(f64, f64),
    /// The function does not reach the level.
    Nowhere,
}

/// The width at which a bracket is narrow enough.
pub(crate) enum Width {
    Absolute(f64),
    Relative(f64),
}

/// A search for the distance at which a function that tends to increase reaches a level.
pub(crate) struct Search {
    /// The value of the function at zero.
    pub(crate) start: f64,
    /// The level to reach.
    pub(crate) level: f64,
    /// The first step from zero.
    pub(crate) step: f64,
    /// The tolerance of the result.
    pub(crate) width: Width,
}

impl Search {
    /// Doubles the distance until the level is exceeded, then narrows the bracket by secants. A bisection follows every
    /// secant that gained little.
    pub(crate) fn run(&self, mut function: impl FnMut(f64) -> f64) -> Found {
        let (mut inside, mut at_inside) = (0.0, self.start);
        let mut outside = self.step;
        let mut at_outside = function(outside);
        let mut doublings = 0;
        while at_outside < self.level {
            if doublings == MOST_DOUBLINGS {
                return Found::Nowhere;
            }
            (inside, at_inside) = (outside, at_outside);
            outside *= 2.0;
            at_outside = function(outside);
            doublings += 1;
        }
        let mut bisect = false;
        while !self.near(at_outside) && outside - inside > self.enough(outside) {
            let width = outside - inside;
            let share = (self.level + CLOSE / 2.0 - at_inside) / (at_outside - at_inside);
            let t = if bisect || !share.is_finite() {
                inside + width / 2.0
            } else {
                inside + share.clamp(0.01, 0.99) * width
            };
            let value = function(t);
            if value < self.level {
                (inside, at_inside) = (t, value)
            } else {
                (outside, at_outside) = (t, value)
            }
            bisect = outside - inside > width / 2.0;
        }
        if self.near(at_outside) { Found::Close(outside) } else { Found::Between(inside, outside) }
    }

    fn near(&self, value: f64) -> bool {
        (self.level..self.level + CLOSE).contains(&value)
    }

    fn enough(&self, outside: f64) -> f64 {
        match self.width {
            Width::Absolute(width) => width.max(NARROW * NARROW * outside),
            // If the test jumps at the centre itself, as with equal costs throughout, the inner end stays at zero.
            Width::Relative(share) => share * outside.max(share * self.step),
        }
    }
}
