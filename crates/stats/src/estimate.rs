//! The result of a look for one command compared with the first.

use serde::{Deserialize, Serialize};
use steady_model::{Interval, Layout, Verdict};

use crate::pair::Pair;

/// Why a verdict is undecided, if the reason is not just a wide interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Fewer than [`crate::MIN_PAIRS`] pairs, with which no test can reject anything.
    TooFewPairs,
    /// More than half of the differences are exactly zero, and the resolution of the clock is coarser than the wanted
    /// resolution.
    BelowGrain,
}

/// A relative change, NEW / OLD - 1, with its interval. `None` if there are too few pairs for a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The estimate of the change.
    pub change: Option<f64>,
    /// The lower end of the interval.
    pub low: Option<f64>,
    /// The upper end of the interval.
    pub high: Option<f64>,
    /// The number of pairs used.
    pub pairs: usize,
}

/// An effect estimated from the pairs of one layout.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayoutEffect {
    /// The layout of the pairs.
    pub layout: Layout,
    /// The effect in this layout.
    #[serde(flatten)]
    pub effect: Effect,
}

/// The result of a look for one command compared with the first. Effects are relative changes, NEW / OLD - 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Faster, slower, same or undecided, decided by the interval over all pairs.
    pub verdict: Verdict,
    /// Whether that interval is within ± resolution.
    pub within_resolution: bool,
    /// The size of the effect, whose interval contains that over all pairs. It is wider if the verdict is a direction
    /// and there are duets, which show effects smaller or larger than they are; see `size_of`.
    pub size: Effect,
    /// The lower end of the interval over all pairs.
    pub verdict_low: Option<f64>,
    /// The upper end of the interval over all pairs.
    pub verdict_high: Option<f64>,
    /// The number of all pairs.
    pub pairs: usize,
    /// The effect in each layout with enough pairs.
    pub layouts: Vec<LayoutEffect>,
    /// The special reason of an undecided verdict, if there is one.
    pub reason: Option<Reason>,
    /// The factor by which varying load widened the interval; see [`crate::Paired::widening`].
    pub widening: Option<f64>,
    /// For an undecided verdict: the factor by which the time must probably grow to reach a verdict.
    pub time_to_settle: Option<f64>,
}

impl Effect {
    /// Converts from the log scale. The estimate is clamped to the interval; see [`LogEffect::estimate`].
    pub(crate) fn from_log(estimate: f64, interval: Interval, pairs: usize) -> Effect {
        let inside = estimate.clamp(interval.low, interval.high);
        let finite = |log: f64| log.is_finite().then(|| log.exp_m1());
        Effect { change: finite(inside), low: finite(interval.low), high: finite(interval.high), pairs }
    }

    /// Returns the interval, with -1 (no cost at all) and infinity for unknown ends.
    pub(crate) fn interval(&self) -> Interval {
        Interval { low: self.low.unwrap_or(-1.0), high: self.high.unwrap_or(f64::INFINITY) }
    }
}

/// The estimate of a log ratio, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LogEffect {
    pub(crate) centre: f64,
    pub(crate) interval: Interval,
    pub(crate) pairs: usize,
}

impl LogEffect {
    pub(crate) fn effect(&self) -> Effect {
        Effect::from_log(self.centre, self.interval, self.pairs)
    }

    /// Returns the centre, clamped to the interval: later pairs may have moved it outside of the interval of earlier looks.
    fn estimate(&self) -> f64 {
        self.centre.clamp(self.interval.low, self.interval.high)
    }

    /// Returns the ends of the interval, that towards zero first, as distances from zero on the side of `sign`.
    fn ends(&self, sign: f64) -> (f64, f64) {
        let Interval { low, high } = self.interval;
        if sign > 0.0 { (low, high) } else { (-high, -low) }
    }
}

/// Returns the size of the effect.
///
/// Runs in duets contend for caches, memory and locks. What one run saves or wastes also changes the cost of its
/// neighbour, and the longer run has the rest of its time for itself. Duets therefore show a smaller or larger effect
/// than turns: between `shown` and `1 / shown` times as much. If the interval over `all` pairs excludes zero, that of
/// the size reaches to it multiplied by `shown` at one end and divided by it at the other, or it is the smallest that
/// contains the intervals over all pairs and over the turns alone: the one that is expected to be narrower, which does
/// not depend on the labels. It excludes zero, too. If the interval over all pairs contains zero, the size has the
/// same: a part of an effect so small is far below the interval's width.
pub(crate) fn size_of(all: &LogEffect, turns: Option<&LogEffect>, shown: f64) -> Effect {
    let sign = if all.interval.low > 0.0 {
        1.0
    } else if all.interval.high < 0.0 {
        -1.0
    } else {
        return all.effect();
    };
    let (near, far) = all.ends(sign);
    let scaled = (near * shown, far / shown);
    let sized = turns.filter(|turns| turns.interval.half_width() <= (scaled.1 - scaled.0) / 2.0);
    let (near, far) = sized.map_or(scaled, |turns| {
        let (nearer, farther) = turns.ends(sign);
        (if nearer > 0.0 { near.min(nearer) } else { scaled.0 }, far.max(farther))
    });
    let interval = if sign > 0.0 { Interval { low: near, high: far } } else { Interval { low: -far, high: -near } };
    // Few turns may be a worse estimate than all pairs.
    let inside = |turns: &&LogEffect| interval.low < turns.centre && turns.centre < interval.high;
    let best = sized.filter(inside).unwrap_or(all);
    Effect::from_log(best.estimate(), interval, best.pairs)
}

/// Returns a lower bound of the part of an effect that duets show, whose reciprocal is the upper bound; see
/// [`size_of`]. Runs in duets change each other's cost by at most what contention adds, which the costs of both layouts
/// show. Exchanging OLD and NEW does not change it.
pub(crate) fn shown_part<'a>(pairs: impl Iterator<Item = &'a Pair>) -> f64 {
    /// The part without visible contention. In `docs/evidence.md`, duets that cost as much as turns showed 0.96 to 1.1;
    /// this leaves a margin for other programs and machines.
    const WITHOUT_CONTENTION: f64 = 0.85;
    /// The part without turns, which would show contention.
    const DUETS_ONLY: f64 = 0.8;
    let mut logs = [(0.0, 0usize); Layout::ALL.len()];
    for pair in pairs {
        let log = pair.old.ln() + pair.new.ln();
        if log.is_finite() {
            let (sum, count) = &mut logs[pair.layout.index()];
            *sum += log / 2.0;
            *count += 1;
        }
    }
    let mean = |layout: Layout| {
        let (sum, count) = logs[layout.index()];
        (count > 0).then(|| sum / count as f64)
    };
    match (mean(Layout::Turns), mean(Layout::Duet)) {
        (_, None) => 1.0,
        (None, _) => DUETS_ONLY,
        (Some(turns), Some(duets)) => (turns - duets).exp().min(WITHOUT_CONTENTION),
    }
}

/// Returns the verdict for an interval of relative changes.
pub(crate) fn verdict(interval: &Interval, resolution: f64) -> Verdict {
    if interval.high < 0.0 {
        Verdict::Faster
    } else if interval.low > 0.0 {
        Verdict::Slower
    } else if within_resolution(interval, resolution) {
        Verdict::Same
    } else {
        Verdict::Undecided
    }
}

/// Returns whether an interval is within ± resolution.
pub fn within_resolution(interval: &Interval, resolution: f64) -> bool {
    -resolution <= interval.low && interval.high <= resolution
}

/// Returns the factor by which the time must grow for a verdict with a probability of about 80 %. It assumes that the
/// width of the interval falls with the square root of time, and that the interval must exclude zero or be within the
/// resolution. The effect is the least favourable one within a 60 % interval of the estimate: with few data, an
/// estimate far from zero may be chance. The half-width is that of the longer side: if a cost has two modes, the
/// estimate may be close to one end of the interval by chance.
pub(crate) fn time_to_settle(change: f64, interval: &Interval, resolution: f64) -> Option<f64> {
    /// Half-width of a 60 % interval relative to one of 95 %: 0.84 / 1.96.
    const LIKELY: f64 = 0.43;
    let half_width = longer_side(change, interval);
    let off = LIKELY * half_width;
    let (least, most) = ((change.abs() - off).max(0.0), change.abs() + off);
    // Effects of half the resolution take longest: their distance to zero and to the resolution is the same.
    let worst = (resolution / 2.0).clamp(least, most);
    time_for(half_width, worst.max(resolution - worst))
}

/// Returns the factor by which the time must grow for a verdict with a probability of about 80 % if the change is
/// exactly as estimated. See [`time_to_settle`] for the other assumptions.
pub(crate) fn time_if_as_estimated(change: f64, interval: &Interval, resolution: f64) -> Option<f64> {
    time_for(longer_side(change, interval), change.abs().max(resolution - change.abs()))
}

fn longer_side(change: f64, interval: &Interval) -> f64 {
    (interval.high - change).max(change - interval.low)
}

/// Returns the factor by which the time must grow until the interval excludes `limit` with a probability of 80 %, under
/// the assumptions of `time_to_settle`.
pub fn time_to_exclude(limit: f64, change: f64, interval: &Interval) -> Option<f64> {
    let side = if limit > change { interval.high - change } else { change - interval.low };
    time_for(side, (change - limit).abs())
}

/// Returns the factor by which the time must grow until a half-width of the interval is certainly below `distance`.
fn time_for(half_width: f64, distance: f64) -> Option<f64> {
    /// The margin for changes of the estimate: (1.96 + 0.84) / 1.96.
    const MARGIN: f64 = 1.43;
    let factor = (half_width / (distance / MARGIN)).powi(2);
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
    fn time_to_settle_grows_with_the_square_of_the_width() {
        let once = time_to_settle(0.0, &interval(-0.01, 0.01), 0.005).unwrap();
        let twice = time_to_settle(0.0, &interval(-0.02, 0.02), 0.005).unwrap();
        assert!((twice / once - 4.0).abs() < 1e-12);
        assert_eq!(time_to_settle(0.0, &Interval::EVERYTHING, 0.005), None);
        // A precise estimate is taken as it is; one that may be chance is not.
        let seconds = |change: f64, half: f64| time_to_settle(change, &interval(change - half, change + half), 0.001);
        assert!(seconds(0.003, 0.0031).unwrap() < 8.0);
        assert!(seconds(0.003, 0.0046).unwrap() > 30.0);
        assert!(seconds(0.002, 0.006).unwrap() > 290.0);
    }

    #[test]
    fn the_time_for_the_estimate_itself_is_shorter() {
        let (change, around) = (0.026, interval(-0.016, 0.07));
        let times = [time_to_settle, time_if_as_estimated].map(|time| time(change, &around, 0.01).unwrap());
        assert!(times[0] > 60.0 && (5.0..7.0).contains(&times[1]), "{times:?}");
    }

    #[test]
    fn an_estimate_close_to_one_end_needs_the_time_of_the_longer_side() {
        let lopsided = interval(-0.05, 0.02);
        assert!(time_to_settle(-0.04, &lopsided, 0.001).unwrap() > 30.0);
        assert!(time_to_exclude(0.0, -0.04, &lopsided).unwrap() > 4.0);
        assert_eq!(time_to_exclude(-0.06, -0.04, &lopsided), Some(1.0));
    }

    #[test]
    fn infinite_ends_are_none() {
        let effect = Effect::from_log(0.1, Interval::EVERYTHING, 5);
        assert_eq!((effect.low, effect.high), (None, None));
        assert_eq!(effect.change, Some(0.1_f64.exp_m1()));
    }
}
