//! Boundaries for the joint sum: how large it may become by chance.

use crate::normal;

/// The share of the error rate for the case that every source ran to its end. This case is common, and the width of its
/// interval matters most, because sources that ended early usually had a clear effect.
const END_SHARE: f64 = 0.7;
/// The share for the results of all sources at their first looks, before which no source could end.
const FIRST_SHARE: f64 = 0.05;
/// The share for a line that is low early, for sources that ended after a small part of their way.
const EARLY_SHARE: f64 = 0.05;
/// The time at which that line is lowest relative to the root of time.
const EARLY: f64 = 1.0 / 16.0;
/// The slope of the boundary, divided by the normal quantile of the error. A steep boundary is low early and high late.
/// With 0.5, two sources that ended after a quarter of their way give a narrower joint interval than each alone.
const STEEPNESS: f64 = 0.5;

/// The boundary on one side, for a standard Brownian motion from time 0 to 1. It consists of the lower of two rising
/// lines, a point at the end below the lines, and a point at the time of the first looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Boundary {
    late: Line,
    early: Line,
    end: f64,
    first: f64,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    start: f64,
    slope: f64,
}

impl Line {
    fn at(&self, time: f64) -> f64 {
        self.start + self.slope * time
    }
}

impl Boundary {
    /// Creates the boundary that is crossed with a probability of at most `error`. If no source is `open` to an early
    /// end, only the end counts and gets the whole error.
    ///
    /// Let `a + b t` be the line and `c <= a + b` the end. The motion touches the line and still ends below `c` with
    /// probability `exp(-2 a b) phi(c - 2 a)` (Siegmund 1986, by reflection), which is solved for `a`. The motion
    /// touches the early line at some time with probability `exp(-2 a b)`. Relative to the root of time, that line is
    /// lowest at `a / b`.
    pub(super) fn new(error: f64, open: bool) -> Boundary {
        let quantile = |tail: f64| normal::two_sided_quantile(2.0 * tail);
        if !open {
            let never = Line { start: f64::INFINITY, slope: 0.0 };
            return Boundary { late: never, early: never, end: quantile(error), first: f64::INFINITY };
        }
        let (end, slope) = (quantile(END_SHARE * error), STEEPNESS * quantile(error));
        let late = (1.0 - END_SHARE - FIRST_SHARE - EARLY_SHARE) * error;
        let met = |start: f64| (-2.0 * start * slope).exp() * normal::upper_tail(2.0 * start - end);
        // The probability falls with the start, from more than the error to zero.
        let (mut low, mut high) = (0.0, 40.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if met(middle) > late { low = middle } else { high = middle }
        }
        let reach = ((EARLY_SHARE * error).recip().ln() / 2.0).sqrt();
        let early = Line { start: reach * EARLY.sqrt(), slope: reach / EARLY.sqrt() };
        Boundary { late: Line { start: high, slope }, early, end, first: quantile(FIRST_SHARE * error) }
    }

    /// Returns the bound for the motion that stopped at `time` (0 to 1).
    pub(super) fn at(&self, time: f64) -> f64 {
        if time >= 1.0 { self.end } else { self.late.at(time).min(self.early.at(time)) }
    }

    /// Returns the bound at the time of the first looks, divided by the root of that time.
    pub(super) fn first(&self) -> f64 {
        self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn the_end_is_below_the_line() {
        for error in [0.25, 0.05, 0.025, 0.001, 1e-5, 1e-9] {
            let boundary = Boundary::new(error, true);
            assert!(boundary.end < boundary.at(1.0 - 1e-9), "{error}: {boundary:?}");
            assert!(boundary.end < 1.12 * Boundary::new(error, false).end || error > 0.1, "{error}: {boundary:?}");
        }
        assert!((Boundary::new(0.025, false).at(1.0) - 1.959_964).abs() < 1e-5);
    }

    /// A walk of 400 steps crosses the boundary almost as often as the continuous motion.
    #[test]
    fn the_motion_crosses_with_the_given_probability() {
        let mut coin = ChaCha8Rng::seed_from_u64(11);
        let (walks, steps) = (20_000, 400);
        for error in [0.1, 0.025] {
            let boundary = Boundary::new(error, true);
            let first = 20;
            let mut crosses = || {
                let mut at = 0.0;
                (1..=steps).any(|step| {
                    let (u, v): (f64, f64) = (coin.random(), coin.random());
                    let normal = (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos();
                    at += normal / f64::from(steps).sqrt();
                    let time = f64::from(step) / f64::from(steps);
                    at > boundary.at(time) || (step == first && at > boundary.first() * time.sqrt())
                })
            };
            let rate = (0..walks).filter(|_| crosses()).count() as f64 / f64::from(walks);
            assert!(rate < 1.08 * error && rate > 0.8 * error, "{error}: {rate}");
        }
    }
}
