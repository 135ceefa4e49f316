//! The ratio of the mean costs of two commands, whatever the distribution of the costs.
//!
//! The rank test of [`crate::Paired`] describes the usual run. A command with two modes (a cache hit or a miss) may
//! have a usual run that is cheaper and a mean that is more expensive. The ratio of means weights every run by its
//! cost.
//!
//! The interval inverts a sign-flip test of the residuals `new - k * old`, without weights or trimming. If both
//! commands are the same, the residuals at `k = 1` have random signs given their sizes, so the test is exact for every
//! distribution of costs. At other ratios the residuals have mean zero but may be skewed, and the test is approximate.
//! If few pairs dominate the sum, the test cannot reject: the interval is then wide instead of wrong.

use steady_model::{Interval, Verdict};

use crate::descriptive::quantile;
use crate::estimate::{self, Effect, Estimate};
use crate::invert::{Found, Search, Width};
use crate::modes;
use crate::normal;
use crate::scale::Scratch;
use crate::tail;

/// The share of the error rate that the interval of the ratio of means may use. The rest belongs to the test of the
/// usual run, whose interval becomes 2 % wider by this. Both intervals hold together at the full error rate.
const MEAN_ALPHA_SHARE: f64 = 0.1;

/// The part of the error rate `alpha` that belongs to the ratio of means.
#[must_use]
pub fn mean_alpha(alpha: f64) -> f64 {
    alpha * MEAN_ALPHA_SHARE
}

/// The part of the error rate `alpha` that belongs to the usual run.
#[must_use]
pub fn usual_alpha(alpha: f64) -> f64 {
    alpha * (1.0 - MEAN_ALPHA_SHARE)
}

/// The interval of the mean leaves the verdict of the usual run open if it is wider than that of the usual run by this
/// factor. Noise of one mode makes it 2 to 5 times wider; two modes make it wider by 25 or more.
pub const OPEN_WIDTH_RATIO: f64 = 8.0;
/// A mean whose interval is less wide leaves the verdict open, too, if it differs from the usual run by more than this
/// share of its half-width (1.4 standard errors). Rare expensive runs of one command do that; load affects both
/// commands.
const OPEN_SHARE: f64 = 0.5;

/// A mean that is open and differs from the usual run by this share of its half-width (two standard errors) contradicts
/// a usual run that costs the same. Of comparisons of a command with itself, load makes at most one in 20 undecided by
/// this.
const DOUBT_SHARE: f64 = 0.7;

/// In a command with two modes, each kind of run has a considerable share. The log ratios of its pairs form two groups by
/// their distance from the middle: those of runs in the same mode, and those of runs in different modes. The gap between
/// the groups is at least this.
const MODE_GAP: f64 = 0.005;

/// The ratio of the mean costs of two commands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanRatio {
    /// The ratio minus one, with its interval.
    pub effect: Effect,
    /// Whether the runs have two modes. The usual run then does not tell what the commands cost.
    pub has_modes: bool,
}

/// The verdict on a contender after the comparison of the ratio of means with the usual run.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighed {
    /// The estimate from which the verdict follows.
    pub estimate: Estimate,
    /// The size of the effect on the usual run.
    pub usual: Effect,
    /// The effect on the mean cost.
    pub mean: MeanRatio,
    /// Whether the mean decided; see [`Estimate::weighed_against`].
    pub mean_decides: bool,
}

/// Returns the ratio of the mean of NEW to the mean of OLD, with its interval at level `alpha`.
///
/// Each stratum holds the costs `(old, new)` of pairs that were measured under comparable conditions. Costs are divided
/// by the mean cost of their stratum, so that every pair counts equally. The effect is unknown without costs above
/// zero.
pub fn mean_ratio(strata: &[Vec<(f64, f64)>], alpha: f64) -> MeanRatio {
    MeanRatio { effect: effect(strata, alpha), has_modes: has_modes(strata) }
}

fn effect(strata: &[Vec<(f64, f64)>], alpha: f64) -> Effect {
    let costs: Vec<(f64, f64)> = strata.iter().flat_map(|stratum| scaled(stratum)).collect();
    let (old, new) = costs.iter().fold((0.0, 0.0), |sums, pair| (sums.0 + pair.0, sums.1 + pair.1));
    let unknown = Effect { change: None, low: None, high: None, pairs: costs.len() };
    if !(old > 0.0 && new > 0.0 && (new / old).is_finite()) {
        return unknown;
    }
    let centre = (new / old).ln();
    Effect::from_log(centre, interval(&costs, centre, alpha), costs.len())
}

/// Returns whether the runs have two modes: the distances of the log ratios from the median of their stratum form two
/// groups. Slow changes of the load give the costs two groups, but not the ratios, because both runs of a pair are
/// measured under the same load.
#[must_use]
pub fn has_modes(strata: &[Vec<(f64, f64)>]) -> bool {
    let distances = strata.iter().flat_map(|stratum| {
        let costs = stratum.iter().filter(|(old, new)| *old > 0.0 && *new > 0.0);
        let ratios: Vec<f64> = costs.map(|(old, new)| (new / old).ln()).collect();
        let middle = quantile(&ratios, 0.5).unwrap_or(0.0);
        ratios.into_iter().map(move |ratio| (ratio - middle).abs())
    });
    modes::two(&distances.collect::<Vec<_>>(), MODE_GAP).is_some()
}

/// Divides the costs of a stratum by their mean.
fn scaled(stratum: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> {
    let total: f64 = stratum.iter().map(|(old, new)| old + new).sum();
    let mean = if total > 0.0 { total / (2 * stratum.len()) as f64 } else { 1.0 };
    stratum.iter().map(move |(old, new)| (old / mean, new / mean))
}

/// Returns all log ratios that the test does not reject at level `alpha`.
fn interval(costs: &[(f64, f64)], centre: f64, alpha: f64) -> Interval {
    if alpha <= 0.0 {
        return Interval::EVERYTHING;
    }
    let ratio = centre.exp();
    let squares: f64 = costs.iter().map(|(old, new)| (new - ratio * old).powi(2)).sum();
    let error = squares.sqrt() / costs.iter().map(|(_, new)| new).sum::<f64>();
    let level = normal::two_sided_quantile(alpha);
    let step = (level * error).clamp(1e-12, 1.0);
    let scratch = &mut Scratch::default();
    let mut end = |side: f64| {
        let search = Search { start: 0.0, level, step, width: Width::Relative(1e-3) };
        let found = search.run(|t| {
            let p = p_value(costs, centre + side * t, scratch);
            let distance = normal::two_sided_quantile(p);
            // Rounding in the quantile must not accept a ratio that p rejects.
            if p <= alpha { distance.max(level) } else { distance.min(level.next_down()) }
        });
        match found {
            Found::Close(t) | Found::Between(_, t) => centre + side * t,
            Found::Nowhere => side * f64::INFINITY,
        }
    };
    Interval { low: end(-1.0), high: end(1.0) }
}

/// Returns the two-sided p-value of the hypothesis that the ratio of means is `exp(theta)`.
fn p_value(costs: &[(f64, f64)], theta: f64, scratch: &mut Scratch) -> f64 {
    // Dividing by the root of the ratio makes the test symmetric in the labels; a common factor does not change it.
    // The clamp keeps products of costs finite; no measured ratio comes near it.
    let root = (theta / 2.0).clamp(-150.0, 150.0).exp();
    let mut sum = 0.0;
    scratch.score.clear();
    for (old, new) in costs {
        let residual = new / root - root * old;
        sum += residual;
        scratch.score.push(residual.abs());
    }
    tail::two_sided(sum, scratch)
}

/// Returns whether one relative change is below another by more than rounding errors. Costs without noise give two
/// intervals without a width, which differ only by the rounding of sums and logarithms.
fn is_below(one: f64, other: f64) -> bool {
    /// The largest relative difference of two ratios of costs that counts as rounding: far above the error of sums of
    /// many runs, and below any difference that matters.
    const ROUNDING: f64 = 1e-9;
    (1.0 + one) * (1.0 + ROUNDING) < 1.0 + other
}

impl Effect {
    /// Returns `other` with the smallest interval that contains both intervals.
    fn extended_to(&self, other: &Effect) -> Effect {
        Effect {
            low: self.low.zip(other.low).map(|(one, other)| one.min(other)),
            high: self.high.zip(other.high).map(|(one, other)| one.max(other)),
            ..*other
        }
    }
}

impl Estimate {
    /// Compares the usual run with the ratio of means. The mean decides if their intervals do not overlap. It also
    /// decides if the usual run has no verdict and the mean is a difference, or if the usual run costs the same, the
    /// mean is open, and there are two modes or chance hardly explains how far it is from the usual run.
    ///
    /// The error guarantee holds if `mean` has the level [`mean_alpha`], this estimate has [`usual_alpha`], and
    /// the mean is evaluated once, at the end of the effort (see [`Estimate::mean_is_open`]).
    pub fn weighed_against(self, mean: MeanRatio, resolution: f64) -> Weighed {
        let usual = self.size;
        let of_mean = mean.effect.interval();
        let mean_decides = self.contradicted_by(&mean.effect)
            || match self.verdict {
                Verdict::Same => {
                    let is_doubtful = mean.has_modes || self.is_apart(&mean.effect, DOUBT_SHARE);
                    is_doubtful && self.mean_is_open(&mean, resolution)
                }
                Verdict::Undecided => estimate::verdict(&of_mean, resolution).is_difference(),
                Verdict::Faster | Verdict::Slower => false,
            };
        if !mean_decides {
            return Weighed { estimate: self, usual, mean, mean_decides };
        }
        let verdict = estimate::verdict(&of_mean, resolution);
        let undecided = verdict == Verdict::Undecided;
        let settle = || estimate::time_to_settle(mean.effect.change?, &of_mean, resolution);
        let estimate = Estimate {
            verdict,
            within_resolution: estimate::within_resolution(&of_mean, resolution),
            size: mean.effect,
            verdict_low: mean.effect.low,
            verdict_high: mean.effect.high,
            reason: None,
            widening: None,
            time_to_settle: if undecided { settle() } else { None },
            ..self
        };
        Weighed { estimate, usual, mean, mean_decides: true }
    }

    /// Compares the usual run with the ratio of means as [`Estimate::weighed_against`] does, for pairs whose number may
    /// depend on their costs. The interval of the mean is then too narrow for a verdict: it assumes that the number was
    /// fixed, and a comparison may have ended when its mean seemed to differ. Where the mean would decide, the verdict
    /// therefore follows from the smallest interval that contains both intervals. The mean may take a verdict away, but
    /// only the usual run gives one.
    pub fn checked_against(self, mean: MeanRatio, resolution: f64) -> Weighed {
        let weighed = self.clone().weighed_against(mean, resolution);
        let judged = self.verdict_effect().extended_to(&mean.effect);
        let verdict = estimate::verdict(&judged.interval(), resolution);
        if !weighed.mean_decides || verdict == self.verdict {
            return Weighed { usual: self.size, estimate: self, mean, mean_decides: false };
        }
        let estimate = Estimate {
            verdict,
            within_resolution: estimate::within_resolution(&judged.interval(), resolution),
            size: self.size.extended_to(&mean.effect),
            verdict_low: judged.low,
            verdict_high: judged.high,
            time_to_settle: None,
            ..weighed.estimate
        };
        Weighed { estimate, ..weighed }
    }

    /// Returns whether further pairs may let the mean change the verdict of the usual run. If a comparison of a command
    /// with two modes ended while this is true, it would report only the usual run, although the modes decide the cost.
    pub fn mean_is_open(&self, mean: &MeanRatio, resolution: f64) -> bool {
        let MeanRatio { effect: mean, has_modes } = mean;
        if self.contradicted_by(mean) {
            return true;
        }
        if mean.low.is_none() && mean.high.is_none() {
            // Too few pairs for any interval of the mean at its level.
            return false;
        }
        let interval = mean.interval();
        // This check is made at every look without spending error, and therefore requires twice the distance from zero.
        let half = interval.half_width();
        let confirmed = match self.verdict {
            Verdict::Faster => interval.high + half < 0.0,
            Verdict::Slower => interval.low - half > 0.0,
            Verdict::Same => estimate::within_resolution(&interval, resolution),
            Verdict::Undecided => true,
        };
        let is_wide = half > OPEN_WIDTH_RATIO * self.verdict_interval().half_width();
        // With two modes, a usual run that costs the same says nothing about the mean, however narrow its interval is.
        let is_needed = *has_modes && self.verdict == Verdict::Same;
        !confirmed && (is_needed || half > resolution && (is_wide || *has_modes || self.is_apart(mean, OPEN_SHARE)))
    }

    /// Returns whether the mean is outside the interval of the usual run by more than a share of its half-width.
    fn is_apart(&self, mean: &Effect, share: f64) -> bool {
        let (usual, half) = (self.verdict_interval(), mean.interval().half_width());
        mean.change.is_some_and(|mean| (mean - mean.clamp(usual.low, usual.high)).abs() > share * half)
    }

    /// Returns whether the interval of the usual run, over all pairs, and the interval of the mean are disjoint.
    fn contradicted_by(&self, mean: &Effect) -> bool {
        let (usual, mean) = (self.verdict_interval(), mean.interval());
        is_below(usual.high, mean.low) || is_below(mean.high, usual.low)
    }

    fn verdict_interval(&self) -> Interval {
        self.verdict_effect().interval()
    }

    /// Returns the interval over all pairs, without an estimate.
    fn verdict_effect(&self) -> Effect {
        Effect { change: None, low: self.verdict_low, high: self.verdict_high, pairs: self.pairs }
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use steady_model::Layout;

    use super::*;
    use crate::pair::{Pair, Slot};
    use crate::sequential::{Rules, single_look};

    fn costs(count: u32) -> Vec<(f64, f64)> {
        (0..count).map(|i| (f64::from(i * 7 % 13 + 20), f64::from(i * 5 % 11 + 22))).collect()
    }

    #[test]
    fn the_estimate_is_the_ratio_of_the_sums() {
        let effect = effect(&[vec![(1.0, 3.0), (2.0, 2.0), (3.0, 4.0)]], 0.05);
        assert!((effect.change.unwrap() - 0.5).abs() < 1e-12);
        assert_eq!((effect.low, effect.high), (None, None), "three pairs give no bound");
    }

    #[test]
    fn exchanged_labels_mirror_the_interval() {
        let costs = costs(60);
        let swapped: Vec<(f64, f64)> = costs.iter().map(|(old, new)| (*new, *old)).collect();
        let (one, other) = (effect(&[costs], 0.01), effect(&[swapped], 0.01));
        let product = |one: Option<f64>, other: Option<f64>| (1.0 + one.unwrap()) * (1.0 + other.unwrap());
        assert!((product(one.low, other.high) - 1.0).abs() < 1e-9, "{one:?} {other:?}");
        assert!((product(one.change, other.change) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn strata_are_weighted_by_their_pairs_and_not_by_their_costs() {
        let slow: Vec<(f64, f64)> = costs(60).iter().map(|(old, new)| (old * 1e3, new * 1e3)).collect();
        let (both, one) = (effect(&[costs(60), slow], 0.05), effect(&[costs(60)], 0.05));
        assert!((both.change.unwrap() - one.change.unwrap()).abs() < 1e-9);
        assert!(both.high.unwrap() - both.low.unwrap() < one.high.unwrap() - one.low.unwrap());
    }

    #[test]
    fn few_expensive_runs_do_not_decide() {
        // Eight expensive runs, all of NEW: for equal commands the probability is 2 in 256.
        let runs = |misses: u32| (0..100).map(|i| (1.0, if i < misses { 50.0 } else { 1.0 })).collect::<Vec<_>>();
        assert!(effect(&[runs(7)], 0.005).low.unwrap() < 0.0);
        assert!(effect(&[runs(8)], 0.005).low.unwrap() <= 0.0);
        assert!(effect(&[runs(12)], 0.005).low.unwrap() > 0.0);
    }

    #[test]
    fn rare_expensive_runs_of_one_command_leave_the_mean_open() {
        let pairs = |rare: usize, noise: f64| -> Vec<Pair> {
            let mut random = ChaCha8Rng::seed_from_u64(1);
            let pair = |at: usize| {
                let mut cost = || 1.0 + noise * (random.random::<f64>() - 0.5);
                let (old, new) = (cost(), cost());
                let factor = if rare > 0 && at % rare == rare / 2 { 3.4 } else { 1.0 };
                let order = if random.random() { 1 } else { -1 };
                Pair { layout: Layout::Turns, slot: Slot { order, cpu: 0 }, old, new: factor * new }
            };
            (0..400).map(pair).collect()
        };
        let is_open = |rare: usize, noise: f64| {
            let pairs = pairs(rare, noise);
            let usual = single_look(&pairs, &Rules { alpha: 0.05, resolution: 0.01, limits: vec![], grain: 0.0 });
            let mean = mean_ratio(&[pairs.iter().map(|pair| (pair.old, pair.new)).collect()], 0.005);
            assert!(usual.verdict == steady_model::Verdict::Same, "{usual:?}");
            usual.mean_is_open(&mean, 0.01)
        };
        assert!(is_open(50, 0.1), "2 % of the runs cost 3.4 times as much");
        assert!(!is_open(0, 0.1));
    }

    /// Modes 9 % apart, with 1 % of noise: the mean is known to 1 %, and the usual run to a tenth of that.
    #[test]
    fn near_modes_leave_the_mean_open_although_its_interval_is_narrow() {
        let (mut same, mut by_mean) = (0, 0);
        for seed in 0..40 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut cost = |share| {
                let mode = if random.random_bool(share) { 1.09 } else { 1.0 };
                (mode * (1.0 + 0.01 * (random.random::<f64>() + random.random::<f64>() - 1.0)), random.random::<bool>())
            };
            let mut pair = || {
                let ((old, first), (new, _)) = (cost(0.2), cost(0.3));
                let order = if first { 1 } else { -1 };
                Pair { layout: Layout::Turns, slot: Slot { order, cpu: 0 }, old, new }
            };
            let pairs: Vec<Pair> = (0..500).map(|_| pair()).collect();
            let usual = single_look(&pairs, &Rules { alpha: 0.05, resolution: 0.01, limits: vec![], grain: 0.0 });
            let mean = mean_ratio(&[pairs.iter().map(|pair| (pair.old, pair.new)).collect()], 0.005);
            assert!(mean.has_modes && mean.effect.interval().half_width() < 0.01, "{mean:?}");
            same += usize::from(usual.verdict == Verdict::Same);
            let weighed = usual.weighed_against(mean, 0.01);
            by_mean += usize::from(weighed.mean_decides);
            assert!(
                weighed.estimate.verdict != Verdict::Same || estimate::within_resolution(&mean.effect.interval(), 0.01)
            );
        }
        assert!(same > 10 && by_mean > 10, "{same} {by_mean}");
    }

    /// The usual run with this verdict interval, and a mean with the other interval.
    fn checked(usual: [f64; 2], mean: [f64; 2]) -> Weighed {
        let effect = |[low, high]: [f64; 2]| Effect {
            change: Some((low + high) / 2.0),
            low: Some(low),
            high: Some(high),
            pairs: 100,
        };
        let size = effect(usual);
        let interval = size.interval();
        let estimate = Estimate {
            verdict: estimate::verdict(&interval, 0.01),
            within_resolution: estimate::within_resolution(&interval, 0.01),
            size,
            verdict_low: size.low,
            verdict_high: size.high,
            pairs: 100,
            layouts: vec![],
            reason: None,
            widening: None,
            time_to_settle: None,
        };
        estimate.checked_against(MeanRatio { effect: effect(mean), has_modes: true }, 0.01)
    }

    #[test]
    fn a_mean_of_pairs_whose_number_was_not_fixed_takes_verdicts_away_and_gives_none() {
        let found = |usual, mean| {
            let Weighed { estimate, mean_decides, .. } = checked(usual, mean);
            (estimate.verdict, mean_decides, estimate.size.low.unwrap(), estimate.size.high.unwrap())
        };
        // Opposite directions, and a usual run that is the same although the mean differs.
        assert_eq!(found([-0.06, -0.04], [0.2, 0.6]), (Verdict::Undecided, true, -0.06, 0.6));
        assert_eq!(found([-0.001, 0.002], [0.2, 0.6]), (Verdict::Undecided, true, -0.001, 0.6));
        // The usual run decides if the mean has the same direction, and if the usual run is undecided itself.
        assert_eq!(found([0.01, 0.02], [0.2, 0.6]), (Verdict::Slower, false, 0.01, 0.02));
        assert_eq!(found([-0.1, 0.05], [0.2, 0.6]), (Verdict::Undecided, false, -0.1, 0.05));
        // Both are within the resolution.
        assert_eq!(found([0.002, 0.003], [-0.004, 0.001]), (Verdict::Same, true, -0.004, 0.003));
        // The mean does not contradict the usual run.
        assert_eq!(found([0.01, 0.02], [0.015, 0.6]), (Verdict::Slower, false, 0.01, 0.02));
    }

    #[test]
    fn intervals_that_differ_by_rounding_do_not_contradict_each_other() {
        let alpha = 0.05;
        let rules = Rules { alpha: usual_alpha(alpha), resolution: 0.01, limits: vec![], grain: 0.0 };
        for (old, new) in [(20.0, 21.0), (21.0, 20.0), (0.1, 0.3), (7.0, 7.0)] {
            let order = |i: u32| if i.is_multiple_of(2) { 1 } else { -1 };
            let pair = |i| Pair { layout: Layout::Turns, slot: Slot { order: order(i), cpu: 0 }, old, new };
            let usual = single_look(&(0..40).map(pair).collect::<Vec<_>>(), &rules);
            let mean = mean_ratio(&[vec![(old, new); 40]], mean_alpha(alpha));
            assert!(!usual.mean_is_open(&mean, 0.01), "{old} {new}: {usual:?} {mean:?}");
            let (verdict, weighed) = (usual.verdict, usual.weighed_against(mean, 0.01));
            assert!(!weighed.mean_decides && weighed.estimate.verdict == verdict, "{weighed:?}");
        }
        assert!(is_below(0.05, 0.0501) && !is_below(0.0501, 0.05) && !is_below(-1.0, -1.0));
    }

    #[test]
    fn costs_without_noise_give_a_point_and_zero_costs_give_none() {
        let point = effect(&[vec![(2.0, 3.0); 20]], 0.005);
        assert!((point.low.unwrap() - 0.5).abs() < 1e-6 && (point.high.unwrap() - 0.5).abs() < 1e-6, "{point:?}");
        assert_eq!(effect(&[vec![(0.0, 3.0); 20]], 0.005).change, None);
        assert_eq!(effect(&[], 0.005).change, None);
    }
}
