//! Several looks at a growing set of pairs with one error rate for all of them, and the schedule of looks.
//!
//! Each look gets its own part of alpha. Whatever the dependence between looks, the parts can be added (union bound).
//! Therefore all intervals together, and also their intersection, cover the truth with probability `1 - alpha`.

use std::f64::consts::SQRT_2;

use serde::{Deserialize, Serialize};
use steady_model::{Interval, Layout, Verdict};

use crate::estimate::{self, Effect, Estimate, LayoutEffect, Reason};
use crate::pair::{MIN_PAIRS, Pair, Paired};

/// The requirements on a sequence of looks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// The error rate of all verdicts together, such as 0.05.
    pub alpha: f64,
    /// The relative change that does not matter to the user: 0.005 is half a percent.
    pub resolution: f64,
    /// Further relative changes that must be decided: the limits of `--fail-if`.
    pub limits: Vec<f64>,
    /// The resolution of the instrument, in the unit of the costs.
    pub grain: f64,
}

/// The result of a look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// One estimate for each contender.
    pub contenders: Vec<Estimate>,
    /// The part of alpha spent up to and including this look.
    pub alpha_spent: f64,
    /// The progress towards the end of the sequence, 0 to 1: in time, or in precision if that is greater. Exchanging
    /// OLD and NEW does not change it.
    pub progress: f64,
    /// Whether the sequence is finished, because further pairs would not change the verdicts.
    pub done: bool,
}

/// A sequence of looks at the pairs of several contenders, each compared with the same reference command.
#[derive(Clone, Debug)]
pub struct Sequence {
    rules: Rules,
    spent: f64,
    known: Vec<Known>,
}

/// The intersection of the intervals of all looks so far for one contender, on the log scale.
#[derive(Clone, Debug)]
struct Known {
    all: Interval,
    layouts: [Interval; Layout::ALL.len()],
}

impl Known {
    const NOTHING: Known = Known { all: Interval::EVERYTHING, layouts: [Interval::EVERYTHING; Layout::ALL.len()] };

    /// Returns whether zero is excluded.
    fn differs(&self) -> bool {
        !self.all.holds(0.0)
    }
}

/// The factor by which the interval of the size may be wider than required for the verdict's interval.
const SIZE_SLACK: f64 = 3.0;

/// The pairs of a contender, prepared for one look.
struct Prepared {
    pairs: usize,
    all: Paired,
    centre: f64,
    /// Each layout alone, if it has enough pairs; empty if there is only one layout.
    layouts: Vec<(Layout, Paired)>,
}

impl Prepared {
    fn new(pairs: &[Pair], grain: f64) -> Prepared {
        let all = Paired::new(pairs, grain);
        let of = |layout| pairs.iter().filter(|pair| pair.layout == layout).copied().collect::<Vec<Pair>>();
        let layouts = if all.strata.len() < 2 { vec![] } else { Layout::ALL.map(|layout| (layout, of(layout))).into() };
        let layouts = layouts.into_iter().filter(|(_, chosen)| chosen.len() >= MIN_PAIRS);
        let layouts = layouts.map(|(layout, chosen)| (layout, Paired::new(&chosen, grain))).collect();
        Prepared { pairs: pairs.len(), centre: all.estimate(), all, layouts }
    }

    fn interval(&self, alpha: f64) -> Interval {
        interval_around(&self.all, self.centre, alpha)
    }
}

/// Returns the interval at `alpha`. If most differences are below the resolution of the clock, it is widened by that
/// resolution.
fn interval_around(paired: &Paired, centre: f64, alpha: f64) -> Interval {
    if paired.pairs() < MIN_PAIRS || alpha <= 0.0 {
        return Interval::EVERYTHING;
    }
    let interval = paired.interval_around(centre, alpha);
    let grain = if paired.below_grain() { paired.relative_grain().ln_1p() } else { 0.0 };
    Interval { low: interval.low - grain, high: interval.high + grain }
}

impl Sequence {
    /// Creates a sequence before its first look, with `contenders` commands to compare with the reference.
    pub fn new(rules: Rules, contenders: usize) -> Sequence {
        Sequence { rules, spent: 0.0, known: vec![Known::NOTHING; contenders] }
    }

    /// Evaluates all pairs so far: one slice of pairs for each contender, with the reference as OLD. `time_fraction` is
    /// the share of the time budget that is used; `last` means that there will be no further look.
    ///
    /// The same pairs at the same fractions give the same result to the last bit.
    pub fn look(&mut self, pairs: &[Vec<Pair>], time_fraction: f64, last: bool) -> Look {
        let prepared: Vec<Prepared> = pairs.iter().map(|pairs| Prepared::new(pairs, self.rules.grain)).collect();
        let left = (self.rules.alpha - self.spent).max(0.0);
        let precision = self.precision_at_end(&prepared, left);
        // At half the resolution, no interval can contain both zero and an effect that matters, so all verdicts will be
        // decided.
        let finish = last || precision >= 1.0;
        let spend = if finish { left } else { self.spending(time_fraction, precision).min(left) };
        self.narrow(&prepared, spend);
        self.spent += spend;
        let contenders: Vec<Estimate> =
            prepared.iter().zip(&self.known).map(|(prepared, known)| self.conclude(prepared, known)).collect();
        let done = finish || contenders.iter().all(|estimate| self.settled(estimate));
        let progress = if finish { 1.0 } else { time_fraction.max(precision).clamp(0.0, 1.0) };
        Look { contenders, alpha_spent: self.spent, progress, done }
    }

    /// Returns the precision of the least precise contender with all of the remaining alpha: the square of
    /// (half the resolution / half-width of the interval). It grows linearly with the number of pairs and does not
    /// depend on the effect.
    fn precision_at_end(&self, prepared: &[Prepared], left: f64) -> f64 {
        let level = left / self.known.len().max(1) as f64;
        let half_width = |prepared: &Prepared| relative(&prepared.interval(level)).half_width();
        let widest = prepared.iter().map(half_width).fold(0.0, f64::max);
        (self.rules.resolution / 2.0 / widest).powi(2)
    }

    /// Returns the part of alpha that this look may spend.
    fn spending(&self, time_fraction: f64, precision: f64) -> f64 {
        (self.rules.alpha * spendable(time_fraction, precision) - self.spent).max(0.0)
    }

    /// Narrows the intervals of all contenders, with error `spend` for all of them together.
    ///
    /// This is Holm's procedure: contenders that differ from the reference, at this look or an earlier one, leave their
    /// share to the others. Limits are additional questions, so with limits all contenders keep equal shares.
    fn narrow(&mut self, prepared: &[Prepared], spend: f64) {
        let contenders = prepared.len();
        let step_down = self.rules.limits.is_empty();
        let differing = |known: &[Known]| known.iter().filter(|known| known.differs()).count();
        let before = self.known.clone();
        let mut settled = if step_down { differing(&self.known) } else { 0 };
        loop {
            let level = spend / contenders.saturating_sub(settled).max(1) as f64;
            self.known =
                before.iter().zip(prepared).map(|(known, prepared)| narrowed(known, prepared, level)).collect();
            let now = differing(&self.known);
            if !step_down || now <= settled || settled + 1 >= contenders {
                return;
            }
            settled = now;
        }
    }

    /// Returns the current estimate for a contender.
    fn conclude(&self, prepared: &Prepared, known: &Known) -> Estimate {
        let all = Effect::from_log(prepared.centre, known.all, prepared.pairs);
        let layouts = layout_effects(prepared, known, all);
        let turns = layouts.iter().find(|seen| seen.layout == Layout::Turns);
        let interval = all.interval();
        let enough = prepared.pairs >= MIN_PAIRS;
        let verdict = if enough { estimate::verdict(&interval, self.rules.resolution) } else { Verdict::Undecided };
        let undecided = verdict == Verdict::Undecided;
        let reason = match (undecided, enough, prepared.all.below_grain()) {
            (true, false, _) => Some(Reason::TooFewPairs),
            (true, true, true) => Some(Reason::BelowGrain),
            _ => None,
        };
        let settle = || estimate::time_to_settle(all.change?, &interval, self.rules.resolution);
        Estimate {
            verdict,
            within_resolution: enough && estimate::within(&interval, self.rules.resolution),
            size: turns.map_or(all, |seen| seen.effect),
            verdict_low: all.low,
            verdict_high: all.high,
            pairs: prepared.pairs,
            layouts,
            reason,
            widening: prepared.all.widening_at(prepared.centre),
            time_to_settle: if undecided && reason.is_none() { settle() } else { None },
        }
    }

    /// Returns whether further pairs would only confirm the result: the verdict and all limits are decided, and the
    /// size is known well enough.
    fn settled(&self, estimate: &Estimate) -> bool {
        let (Some(low), Some(high), Some(change)) = (estimate.verdict_low, estimate.verdict_high, estimate.size.change)
        else {
            return false;
        };
        let (judged, size) = (Interval { low, high }, estimate.size.interval());
        let open = |limit: &f64| judged.holds(*limit) || size.holds(*limit);
        let fine = self.rules.resolution.max(change.abs() / 10.0);
        // The size comes from turns, which may be the smaller part of the pairs.
        let sized = judged.half_width() <= fine && size.half_width() <= SIZE_SLACK * fine;
        estimate.verdict != Verdict::Undecided && sized && !self.rules.limits.iter().any(open)
    }
}

/// Returns the intersection with the intervals of a look at `level`.
fn narrowed(known: &Known, prepared: &Prepared, level: f64) -> Known {
    let all = common(&known.all, prepared.interval(level));
    let mut layouts = known.layouts;
    for (layout, paired) in &prepared.layouts {
        let slot = &mut layouts[layout.index()];
        *slot = common(slot, interval_around(paired, paired.estimate(), level));
    }
    Known { all, layouts }
}

/// Returns the intersection of the intervals of two looks, or the newer one if they are disjoint.
fn common(older: &Interval, newer: Interval) -> Interval {
    older.intersection(&newer).unwrap_or(newer)
}

/// Returns the effect in each layout. A single layout has the effect of all pairs.
fn layout_effects(prepared: &Prepared, known: &Known, all: Effect) -> Vec<LayoutEffect> {
    if let [only] = &prepared.all.strata[..]
        && prepared.pairs >= MIN_PAIRS
    {
        return vec![LayoutEffect { layout: only.layout, effect: all }];
    }
    let effect = |(layout, paired): &(Layout, Paired)| LayoutEffect {
        layout: *layout,
        effect: Effect::from_log(paired.estimate(), known.layouts[layout.index()], paired.pairs()),
    };
    prepared.layouts.iter().map(effect).collect()
}

/// Converts log ratios to relative changes.
fn relative(log: &Interval) -> Interval {
    Interval { low: log.low.exp_m1(), high: log.high.exp_m1() }
}

/// Returns the estimate of a single look that spends all of alpha on one contender, for secondary metrics.
pub fn single_look(pairs: &[Pair], rules: &Rules) -> Estimate {
    let mut look = Sequence::new(rules.clone(), 1).look(&[pairs.to_vec()], 1.0, true);
    look.contenders.remove(0)
}

/// The schedule of looks: the first at 12 pairs, then each time the elapsed time has grown by the factor √2. The caller
/// adds the final look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    looked: Option<f64>,
}

impl Schedule {
    /// The number of pairs at the first look; with fewer pairs, it would spend error without a chance of a result.
    pub const FIRST_LOOK_PAIRS: usize = 12;

    /// Creates a schedule before the first look.
    pub fn new() -> Schedule {
        Schedule::default()
    }

    /// Returns whether a look is due with `pairs` pairs of each contender after `elapsed` seconds of measuring. If so,
    /// the look is recorded as done.
    pub fn due(&mut self, pairs: usize, elapsed: f64) -> bool {
        let due = match self.looked {
            None => pairs >= Self::FIRST_LOOK_PAIRS,
            Some(looked) => elapsed >= SQRT_2 * looked,
        };
        if due {
            self.looked = Some(elapsed);
        }
        due
    }
}

/// Returns the share of the error rate that may be spent so far.
///
/// `time` is the used share of the time budget. `information` is the share of the precision that would end the
/// sequence, because on a quiet machine the precision is sufficient long before the time is over. Its contribution is
/// limited, so that the final look has error left to spend.
pub(crate) fn spendable(time: f64, information: f64) -> f64 {
    const MOST_BY_INFORMATION: f64 = 0.7;
    let time = time.clamp(0.0, 1.0);
    time.max(information.min(MOST_BY_INFORMATION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_at_twelve_pairs_and_then_grow_by_the_root_of_two() {
        let mut schedule = Schedule::new();
        let looks: Vec<usize> = (1..=100).filter(|&pairs| schedule.due(pairs, pairs as f64 * 0.25)).collect();
        assert_eq!(looks, [12, 17, 25, 36, 51, 73]);
    }

    #[test]
    fn information_alone_leaves_error_for_the_final_look() {
        assert_eq!(spendable(0.1, 0.3), 0.3);
        assert_eq!(spendable(0.1, 9.0), 0.7);
        assert_eq!(spendable(0.9, 9.0), 0.9);
        assert_eq!(spendable(7.0, 0.0), 1.0);
    }
}
