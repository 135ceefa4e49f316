//! What a look concludes about one command beside the first.

use serde::{Deserialize, Serialize};
use steady_model::{Interval, Layout, Verdict};

/// Why a verdict is `undecided` for another reason than an interval that is still too wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Fewer than [`crate::MIN_PAIRS`] pairs: no test could reject anything.
    TooFewPairs,
    /// More than half of the differences are exactly zero, and the grain of the clock is wider than the resolution.
    BelowGrain,
}

/// A relative change, NEW / OLD - 1, and where it lies. `None` where the pairs are too few to bound it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The estimate.
    pub change: Option<f64>,
    /// The lower end of the interval.
    pub low: Option<f64>,
    /// The upper end of the interval.
    pub high: Option<f64>,
    /// How many pairs tell.
    pub pairs: usize,
}

/// An effect as one layout saw it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayoutEffect {
    /// The layout.
    pub layout: Layout,
    /// What it saw.
    #[serde(flatten)]
    pub effect: Effect,
}

/// What a look concludes about one command beside the first. Effects are relative changes, NEW / OLD - 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Faster, slower, same or undecided, judged on the interval over all pairs.
    pub verdict: Verdict,
    /// Whether that interval lies inside +- resolution.
    pub within_resolution: bool,
    /// The size of the effect: from the turns alone where there are enough, for duets shrink small effects.
    pub size: Effect,
    /// The lower end of the interval over all pairs.
    pub verdict_low: Option<f64>,
    /// The upper end of the interval over all pairs.
    pub verdict_high: Option<f64>,
    /// How many pairs there are in all.
    pub pairs: usize,
    /// The effect as each layout saw it that has enough pairs.
    pub layouts: Vec<LayoutEffect>,
    /// Why nothing could be said, where that has a special reason.
    pub reason: Option<Reason>,
    /// By what factor the moving load widened the interval; see [`crate::Paired::widening`].
    pub widening: Option<f64>,
    /// Of an undecided verdict: by what factor the time would have to grow to probably settle it.
    pub time_to_settle: Option<f64>,
}

impl Effect {
    /// From the log scale; the estimate is moved into the interval where later pairs took it out of it.
    pub(crate) fn from_log(estimate: f64, interval: Interval, pairs: usize) -> Effect {
        let inside = estimate.clamp(interval.low, interval.high);
        let finite = |log: f64| log.is_finite().then(|| log.exp_m1());
        Effect { change: finite(inside), low: finite(interval.low), high: finite(interval.high), pairs }
    }

    /// The interval, with minus one (free) and infinity for ends that are not known.
    pub(crate) fn interval(&self) -> Interval {
        Interval { low: self.low.unwrap_or(-1.0), high: self.high.unwrap_or(f64::INFINITY) }
    }
}

/// The verdict of an interval of relative changes.
pub(crate) fn verdict(interval: &Interval, resolution: f64) -> Verdict {
    if interval.high < 0.0 {
        Verdict::Faster
    } else if interval.low > 0.0 {
        Verdict::Slower
    } else if within(interval, resolution) {
        Verdict::Same
    } else {
        Verdict::Undecided
    }
}

/// Whether an interval lies inside +- resolution.
pub(crate) fn within(interval: &Interval, resolution: f64) -> bool {
    -resolution <= interval.low && interval.high <= resolution
}

/// By what factor the time must grow until an interval that shrinks with its root probably excludes zero or lies inside
/// the resolution, four times in five if the effect is as estimated.
pub(crate) fn time_to_settle(change: f64, interval: &Interval, resolution: f64) -> Option<f64> {
    /// How much narrower than just enough, for the estimate will move: (1.96 + 0.84) / 1.96.
    const MARGIN: f64 = 1.43;
    let wanted = change.abs().max(resolution - change.abs()) / MARGIN;
    let factor = (interval.half_width() / wanted).powi(2);
    (factor.is_finite() && factor > 0.0).then(|| factor.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, high: f64) -> Interval {
        Interval { low, high }
    }

    #[test]
    fn verdicts_follow_the_interval() {
        assert_eq!(verdict(&interval(-0.02, -0.01), 0.005), Verdict::Faster);
        assert_eq!(verdict(&interval(0.001, 0.002), 0.005), Verdict::Slower);
        assert_eq!(verdict(&interval(-0.001, 0.002), 0.005), Verdict::Same);
        assert_eq!(verdict(&interval(-0.001, 0.02), 0.005), Verdict::Undecided);
        assert_eq!(verdict(&interval(-0.001, 0.02), 0.02), Verdict::Same);
        assert_eq!(verdict(&interval(0.0, 0.02), 0.01), Verdict::Undecided);
    }

    #[test]
    fn settling_needs_the_square_of_the_width() {
        let once = time_to_settle(0.0, &interval(-0.01, 0.01), 0.005).unwrap();
        let twice = time_to_settle(0.0, &interval(-0.02, 0.02), 0.005).unwrap();
        assert!((twice / once - 4.0).abs() < 1e-12);
        assert_eq!(time_to_settle(0.0, &Interval::EVERYTHING, 0.005), None);
    }

    #[test]
    fn unknown_ends_are_absent() {
        let effect = Effect::from_log(0.1, Interval::EVERYTHING, 5);
        assert_eq!((effect.low, effect.high), (None, None));
        assert_eq!(effect.change, Some(0.1_f64.exp_m1()));
    }
}
