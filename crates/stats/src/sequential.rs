//! Several looks at a growing set of pairs with one error rate for all of them, and the schedule of looks.
//!
//! Each look spends a part of alpha ([`crate::spending`]). The parts add up to alpha, so all intervals together, and
//! also their intersection, cover the truth with probability `1 - alpha`.

use serde::{Deserialize, Serialize};
use steady_model::{Interval, Layout, Verdict};

use crate::estimate::{self, Effect, Estimate, LayoutEffect, LogEffect, Reason};
use crate::normal;
use crate::pair::{MIN_PAIRS, Pair, Paired};
use crate::scale::Scratch;
use crate::score;
use crate::spending::{MOST_BY_INFORMATION, Spending, Spent, correlation, spendable};

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
    /// The progress towards the end of the sequence, 0 to 1: in time, or in precision if that is greater, which counts
    /// for at most 0.85. Exchanging OLD and NEW does not change it.
    pub progress: f64,
    /// Whether the sequence is finished, because further pairs would not change the verdicts.
    pub done: bool,
}

/// A sequence of looks at the pairs of several contenders, each compared with the same reference command.
#[derive(Clone, Debug)]
pub struct Sequence {
    rules: Rules,
    spent: f64,
    courses: Vec<Course>,
    /// Whether contenders that differ from the reference leave their share of the error to the others.
    step_down: bool,
}

/// All looks so far at one contender.
#[derive(Clone, Debug, Default)]
struct Course {
    /// The error that the looks may have spent.
    allowed: f64,
    all: Looks,
    layouts: [Looks; Layout::ALL.len()],
}

impl Course {
    /// Returns whether zero is excluded.
    fn differs(&self) -> bool {
        !self.all.known.holds(0.0)
    }

    /// Returns the course after a look that may spend the error `level`.
    fn after(&self, prepared: &Prepared, level: f64) -> Course {
        let allowed = self.allowed + level;
        let mut layouts = self.layouts.clone();
        for tested in &prepared.layouts {
            let looks = &mut layouts[tested.layout.index()];
            *looks = looks.after(&tested.test, allowed);
        }
        Course { allowed, all: self.all.after(&prepared.all, allowed), layouts }
    }
}

/// All looks so far of one test.
#[derive(Clone, Debug)]
struct Looks {
    /// The intersection of the intervals of the looks, on the log scale.
    known: Interval,
    spending: Spending,
    /// The signed scores at the last look, by layout.
    scores: [Vec<f64>; Layout::ALL.len()],
}

impl Default for Looks {
    fn default() -> Looks {
        Looks { known: Interval::EVERYTHING, spending: Spending::default(), scores: Default::default() }
    }
}

impl Looks {
    /// Returns the correlation of Z at a look with Z at the previous one.
    fn correlation(&self, test: &Test) -> f64 {
        let pairs = |layout: &Layout| (&self.scores[layout.index()][..], &test.scores[layout.index()][..]);
        correlation(Layout::ALL.iter().map(pairs))
    }

    /// Returns the state after a look. If its interval and the known one are disjoint, the newer one counts. A look
    /// that cannot reject anything, because there are too few pairs for its level, spends nothing.
    fn after(&self, test: &Test, allowed: f64) -> Looks {
        let Spent { level, spending } = self.spending.look(allowed, self.correlation(test));
        let interval = test.interval(level);
        if interval == Interval::EVERYTHING {
            return self.clone();
        }
        Looks { known: self.known.intersection(&interval).unwrap_or(interval), spending, scores: test.scores.clone() }
    }
}

/// The factor by which the interval of the size may be wider than required for the verdict's interval.
const SIZE_SLACK: f64 = 3.0;

/// The pairs of one test, prepared for one look.
struct Test {
    paired: Paired,
    /// The estimate, as a log ratio.
    centre: f64,
    /// The signed scores at the estimate, by layout.
    scores: [Vec<f64>; Layout::ALL.len()],
}

impl Test {
    fn new(pairs: &[Pair], grain: f64) -> Test {
        let paired = Paired::new(pairs, grain);
        let centre = paired.estimate();
        let mut scores: [Vec<f64>; Layout::ALL.len()] = Default::default();
        for (stratum, own) in paired.strata.iter().zip(score::signed(&paired, centre, &mut Scratch::default())) {
            scores[stratum.layout.index()] = own;
        }
        Test { paired, centre, scores }
    }

    /// Returns the effects that the test does not reject at `alpha`.
    fn interval(&self, alpha: f64) -> Interval {
        interval_around(&self.paired, self.centre, alpha)
    }

    /// Returns the estimate with the interval of all looks so far.
    fn known(&self, looks: &Looks) -> LogEffect {
        LogEffect { centre: self.centre, interval: looks.known, pairs: self.paired.pairs() }
    }
}

/// The test of one layout alone.
struct LayoutTest {
    layout: Layout,
    test: Test,
}

/// The pairs of a contender, prepared for one look.
struct Prepared {
    all: Test,
    /// Each layout alone, if it has enough pairs; empty if there is only one layout.
    layouts: Vec<LayoutTest>,
    /// A lower bound of the part of an effect that all pairs show.
    shown: f64,
}

impl Prepared {
    fn new(pairs: &[Pair], grain: f64) -> Prepared {
        let all = Test::new(pairs, grain);
        let of = |layout| pairs.iter().filter(|pair| pair.layout == layout).copied().collect::<Vec<Pair>>();
        let layouts =
            if all.paired.strata.len() < 2 { vec![] } else { Layout::ALL.map(|layout| (layout, of(layout))).into() };
        let layouts = layouts.into_iter().filter(|(_, chosen)| chosen.len() >= MIN_PAIRS);
        let layouts = layouts.map(|(layout, chosen)| LayoutTest { layout, test: Test::new(&chosen, grain) }).collect();
        Prepared { all, layouts, shown: estimate::shown_part(pairs.iter()) }
    }

    fn pairs(&self) -> usize {
        self.all.paired.pairs()
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
        let step_down = rules.limits.is_empty();
        Sequence { rules, spent: 0.0, courses: vec![Course::default(); contenders], step_down }
    }

    /// Creates a sequence as [`Sequence::new`] does, in which every contender keeps its share of the error. The
    /// intervals of all contenders then contain their effects together with probability `1 - alpha`.
    pub fn with_equal_shares(rules: Rules, contenders: usize) -> Sequence {
        Sequence { step_down: false, ..Sequence::new(rules, contenders) }
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
        // decided. A limit may still lie inside the interval: error is then kept for later looks.
        let finish = last || precision >= 1.0 && self.rules.limits.is_empty();
        let spend = if finish { left } else { self.spending(time_fraction, precision).min(left) };
        self.narrow(&prepared, spend);
        self.spent += spend;
        let spare = (left - spend) / self.courses.len().max(1) as f64;
        let each = prepared.iter().zip(&self.courses);
        let contenders: Vec<Estimate> = each.map(|(prepared, course)| self.conclude(prepared, course, spare)).collect();
        let done = finish || contenders.iter().all(|estimate| self.settled(estimate));
        let progress = if finish { 1.0 } else { time_fraction.max(precision.min(MOST_BY_INFORMATION)).clamp(0.0, 1.0) };
        Look { contenders, alpha_spent: self.spent, progress, done }
    }

    /// Returns the precision of the least precise contender with all of the remaining alpha: the square of
    /// (half the resolution / half-width of the interval). It grows linearly with the number of pairs and does not
    /// depend on the effect.
    ///
    /// Without an effect, the precision must not depend on Z, because it determines how much error a look may spend and
    /// which look is the last. The residuals at the estimate are smaller, the farther away zero is from the estimate:
    /// by the factor `1 - z² / n` in square, if Z is z and n pairs have equal weights. The precision is therefore
    /// reduced by this factor.
    fn precision_at_end(&self, prepared: &[Prepared], left: f64) -> f64 {
        /// The least factor. It applies if almost all differences are zero, where the test can hardly reject.
        const LEAST_BLIND: f64 = 0.1;
        /// A Z that is larger without an effect is so rare that the factor need not allow for it.
        const LARGEST_Z: f64 = 6.0;
        let level = left / self.courses.len().max(1) as f64;
        let precision = |prepared: &Prepared, course: &Course| {
            let correlation = course.all.correlation(&prepared.all);
            let level = course.all.spending.level(course.allowed + level, correlation);
            let p = prepared.all.paired.test(0.0).p;
            let z = normal::two_sided_quantile(p.max(f64::MIN_POSITIVE)).min(LARGEST_Z);
            let blind = (1.0 - z * z / effective_count(&prepared.all.scores)).max(LEAST_BLIND);
            let half_width = relative(&prepared.all.interval(level)).half_width();
            blind * (self.rules.resolution / 2.0 / half_width).powi(2)
        };
        let each = prepared.iter().zip(&self.courses).map(|(prepared, course)| precision(prepared, course));
        each.reduce(f64::min).unwrap_or(f64::INFINITY)
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
        let step_down = self.step_down;
        let differing = |courses: &[Course]| courses.iter().filter(|course| course.differs()).count();
        let before = std::mem::take(&mut self.courses);
        let mut settled = if step_down { differing(&before) } else { 0 };
        loop {
            let level = spend / contenders.saturating_sub(settled).max(1) as f64;
            self.courses =
                before.iter().zip(prepared).map(|(course, prepared)| course.after(prepared, level)).collect();
            let now = differing(&self.courses);
            if !step_down || now <= settled || settled + 1 >= contenders {
                return;
            }
            settled = now;
        }
    }

    /// Returns the current estimate for a contender. `spare` is its share of the error that later looks may spend.
    fn conclude(&self, prepared: &Prepared, course: &Course, spare: f64) -> Estimate {
        let Test { paired, centre, .. } = &prepared.all;
        let known = prepared.all.known(&course.all);
        let all = known.effect();
        let turns = prepared.layouts.iter().find(|tested| tested.layout == Layout::Turns);
        let turns = turns.map(|tested| tested.test.known(&course.layouts[Layout::Turns.index()]));
        let interval = all.interval();
        let enough = paired.pairs() >= MIN_PAIRS;
        let verdict = if enough { estimate::verdict(&interval, self.rules.resolution) } else { Verdict::Undecided };
        let undecided = verdict == Verdict::Undecided;
        let reason = match (undecided, enough, paired.below_grain()) {
            (true, false, _) => Some(Reason::TooFewPairs),
            (true, true, true) => Some(Reason::BelowGrain),
            _ => None,
        };
        let settle = || {
            // With the same pairs, the interval of a last look is narrower.
            let last = course.all.after(&prepared.all, course.allowed + spare);
            let interval = prepared.all.known(&last).effect().interval();
            estimate::time_to_settle(all.change?, &interval, self.rules.resolution)
        };
        Estimate {
            verdict,
            within_resolution: enough && estimate::within_resolution(&interval, self.rules.resolution),
            size: estimate::size_of(&known, turns.as_ref(), prepared.shown),
            verdict_low: all.low,
            verdict_high: all.high,
            pairs: paired.pairs(),
            layouts: layout_effects(prepared, course, all),
            reason,
            widening: paired.widening_at(*centre),
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
        // Contention in duets may leave the size to the turns, which may be the smaller part of the pairs.
        let sized = judged.half_width() <= fine && size.half_width() <= SIZE_SLACK * fine;
        estimate.verdict != Verdict::Undecided && sized && !self.rules.limits.iter().any(open)
    }
}

/// Returns the effect in each layout. A single layout has the effect of all pairs.
fn layout_effects(prepared: &Prepared, course: &Course, all: Effect) -> Vec<LayoutEffect> {
    if let [only] = &prepared.all.paired.strata[..]
        && prepared.pairs() >= MIN_PAIRS
    {
        return vec![LayoutEffect { layout: only.layout, effect: all }];
    }
    let effect = |LayoutTest { layout, test }: &LayoutTest| LayoutEffect {
        layout: *layout,
        effect: test.known(&course.layouts[layout.index()]).effect(),
    };
    prepared.layouts.iter().map(effect).collect()
}

/// Returns the number of equally weighted pairs with the same precision (Kish 1965); zero if all scores are zero.
fn effective_count(scores: &[Vec<f64>]) -> f64 {
    let (sum, squares) =
        scores.iter().flatten().fold((0.0, 0.0), |(sum, squares), score| (sum + score.abs(), squares + score * score));
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
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

/// The factor by which the elapsed time grows between looks: the fourth root of two. Looks share most of their pairs,
/// so more of them cost little error, and a comparison ends soon after it could.
const GROWTH: f64 = 1.189_207_115_002_721;

/// The schedule of looks: the first at 12 pairs, then each time the elapsed time has grown by a fifth. The caller adds
/// the final look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// The elapsed seconds before which no look is due.
    earliest: f64,
    looked: Option<f64>,
}

impl Schedule {
    /// The number of pairs at the first look; with fewer pairs, it would spend error without a chance of a result.
    pub const FIRST_LOOK_PAIRS: usize = 12;

    /// Creates a schedule before the first look.
    pub fn new() -> Schedule {
        Schedule::default()
    }

    /// Creates a schedule whose first look is due after at least `earliest` seconds of measuring.
    pub fn after(earliest: f64) -> Schedule {
        Schedule { earliest, ..Schedule::default() }
    }

    /// Returns whether a look is due with `pairs` pairs of each contender after `elapsed` seconds of measuring. If so,
    /// the look is recorded as done.
    pub fn due(&mut self, pairs: usize, elapsed: f64) -> bool {
        let due = match self.looked {
            None => pairs >= Self::FIRST_LOOK_PAIRS && elapsed >= self.earliest,
            Some(looked) => elapsed >= GROWTH * looked,
        };
        if due {
            self.looked = Some(elapsed);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::Slot;

    #[test]
    fn looks_are_at_twelve_pairs_and_then_grow_by_a_fifth() {
        let mut schedule = Schedule::new();
        let looks: Vec<usize> = (1..=50).filter(|&pairs| schedule.due(pairs, pairs as f64 * 0.25)).collect();
        assert_eq!(looks, [12, 15, 18, 22, 27, 33, 40, 48]);
        let mut schedule = Schedule::after(5.0);
        let looks: Vec<usize> = (1..=50).filter(|&pairs| schedule.due(pairs, pairs as f64 * 0.25)).collect();
        assert_eq!(looks, [20, 24, 29, 35, 42, 50]);
    }

    /// The least p-value of 12 pairs is 2^-11. A first look with a level just below it must leave the error to the
    /// next.
    #[test]
    fn a_look_that_cannot_reject_anything_spends_nothing() {
        let pair = |at: usize| {
            let noise = 1.0 + 0.001 * (at * 7 % 5) as f64;
            let slot = Slot { order: if at.is_multiple_of(3) { 1 } else { -1 }, cpu: 0 };
            Pair { layout: Layout::Turns, slot, old: noise, new: 1.5 }
        };
        let pairs: Vec<Pair> = (0..15).map(pair).collect();
        let rules = Rules { alpha: 1.1 * 2f64.powi(-11), resolution: 0.2, limits: vec![0.3], grain: 0.0 };
        let mut sequence = Sequence::new(rules, 1);
        let first = sequence.look(&[pairs[..12].to_vec()], 0.1, false);
        assert_eq!((first.done, first.contenders[0].verdict), (false, Verdict::Undecided));
        let second = sequence.look(&[pairs], 0.12, false);
        assert_eq!((second.done, second.contenders[0].verdict), (true, Verdict::Slower));
    }

    /// An early look has a wide interval because it leaves error to later ones. The effort until a verdict depends only
    /// on the pairs.
    #[test]
    fn the_effort_until_a_verdict_is_that_of_a_last_look() {
        let pair = |at: usize| {
            let slot = Slot { order: if at.is_multiple_of(3) { 1 } else { -1 }, cpu: 0 };
            Pair { layout: Layout::Turns, slot, old: 1.0, new: 1.0 + 0.01 * ((at * 7 % 11) as f64 - 5.0) }
        };
        let pairs = [(0..60).map(pair).collect::<Vec<Pair>>()];
        let rules = Rules { alpha: 0.05, resolution: 0.002, limits: vec![], grain: 0.0 };
        let look = |last| Sequence::new(rules.clone(), 1).look(&pairs, 0.1, last).contenders[0].clone();
        let (early, last) = (look(false), look(true));
        let width = |estimate: &Estimate| estimate.verdict_high.unwrap() - estimate.verdict_low.unwrap();
        assert!(width(&early) > 1.4 * width(&last), "{early:?} {last:?}");
        let [early, last] = [early, last].map(|estimate| estimate.time_to_settle.unwrap());
        assert!(last > 4.0 && (early / last - 1.0).abs() < 0.01, "{early} {last}");
    }
}
