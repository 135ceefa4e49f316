//! The test inverted: the effect where Z is zero, and the effects that are not rejected.
//!
//! Every search runs outwards from a centre, in a distance that has no sign, so that exchanging the labels mirrors it
//! to the last bit.

use steady_model::Interval;

use crate::normal;
use crate::pair::Paired;
use crate::scale::{Scratch, median};
use crate::score::{self, Tested};

/// How close to the level a root of the test must come, in standard errors.
const CLOSE: f64 = 3e-3;
/// How closely a bracket must hold a root, over its distance from the centre.
const NARROW: f64 = 1e-3;

/// A search that has gone this far out, in doublings of about a standard error, will not arrive: by a chance that all
/// but vanishes with more pairs, every coin fell alike, and effect and slot cannot be told apart.
const MOST_DOUBLINGS: usize = 30;

impl Paired {
    /// The two-sided test that NEW costs `exp(theta)` times OLD.
    pub fn test(&self, theta: f64) -> Tested {
        score::test(self, theta, &mut Scratch::default())
    }

    /// The effect, as a log ratio, that the pairs speak neither for nor against: where the test's Z crosses zero.
    /// Zero without pairs.
    pub fn estimate(&self) -> f64 {
        estimate(self, &mut Scratch::default())
    }

    /// Every effect (log ratio) that the test does not reject at level `alpha`; unbounded where the pairs are too few
    /// for that level.
    pub fn interval(&self, alpha: f64) -> Interval {
        let scratch = &mut Scratch::default();
        let estimate = estimate(self, scratch);
        interval(self, estimate, alpha, scratch)
    }

    /// [`Paired::interval`] where the estimate is known already.
    pub fn interval_around(&self, estimate: f64, alpha: f64) -> Interval {
        interval(self, estimate, alpha, &mut Scratch::default())
    }

    /// By what factor the moving load widened the interval, against all pairs being as quiet as the quietest quarter.
    /// `None` where there are too few pairs to tell quiet from loud.
    pub fn widening(&self) -> Option<f64> {
        self.widening_at(self.estimate())
    }

    /// [`Paired::widening`] where the estimate is known already.
    pub(crate) fn widening_at(&self, estimate: f64) -> Option<f64> {
        score::widening(self, estimate, &mut Scratch::default())
    }
}

/// See [`Paired::estimate`].
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
        // A look that may spend nothing learns nothing.
        return Interval::EVERYTHING;
    }
    let level = normal::two_sided_quantile(alpha);
    score::test(paired, centre, scratch);
    let step = level * typical_error(scratch);
    let mut end = |side: f64| {
        let search = Search { start: 0.0, level, step, width: Width::Relative(NARROW) };
        let found = search.run(|t| {
            let tested = score::test(paired, centre + side * t, scratch);
            let distance = normal::two_sided_quantile(tested.p);
            // Rounding in the quantile must not bring back what p rejects.
            let distance = if tested.p <= alpha { distance.max(level) } else { distance.min(level.next_down()) };
            if tested.z * side <= 0.0 { distance } else { -distance }
        });
        match found {
            Found::Close(t) | Found::Between(_, t) => centre + side * t,
            Found::Nowhere => side * f64::INFINITY,
        }
    };
    Interval { low: end(-1.0), high: end(1.0) }
}

/// A first guess of the standard error, from the scales that the test found at the centre.
fn typical_error(scratch: &Scratch) -> f64 {
    /// What ranks lose against a mean, for normal noise.
    const RANKS: f64 = 1.02;
    let information = scratch.information();
    if information > 0.0 { RANKS / information.sqrt() } else { 1e-12 }
}

fn differences(paired: &Paired) -> impl Iterator<Item = f64> {
    paired.strata.iter().flat_map(|stratum| &stratum.difference).copied()
}

/// What a search ended with.
pub(crate) enum Found {
    /// A place on or just beyond the level.
    Close(f64),
    /// The last place below the level and the first one that is not.
    Between(f64, f64),
    /// The level is never reached.
    Nowhere,
}

/// When a bracket is narrow enough.
pub(crate) enum Width {
    Absolute(f64),
    Relative(f64),
}

/// The search for where a function of a distance, rising on the whole, reaches a level.
pub(crate) struct Search {
    /// The function at zero.
    pub(crate) start: f64,
    /// What it is to reach.
    pub(crate) level: f64,
    /// The first step out.
    pub(crate) step: f64,
    /// When to be content.
    pub(crate) width: Width,
}

impl Search {
    /// Steps out by doubling, then closes in by secants, with a bisection whenever a secant gained little.
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
            // Where the test jumps at the centre itself, as with equal costs throughout, the inside stays at zero.
            Width::Relative(share) => share * outside.max(share * self.step),
        }
    }
}
