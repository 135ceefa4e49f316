//! Several comparisons of the same commands, evaluated together: one test over all of them, and a test whether they
//! agree.
//!
//! Each comparison (a **source**) had looks while it ran, and may have stopped because of its interim result. Its pairs
//! must therefore not be tested as if their number had been fixed. A weaker property is enough. Given everything before
//! a look, the signs of the pairs between two looks (a [`Stage`]) are random and fair if the effect is `theta`. The
//! normal score of their test is therefore a step of a martingale. Steps are weighted by the source's plan,
//! independently of signs. The squared weights sum to the weight of the source if it runs to its end, and to less if it
//! ended early.
//!
//! One source after the other, the sum is a Brownian motion that stopped somewhere before a known time. A boundary that
//! such a motion rarely crosses at *any* time ([`boundary`]) is valid for any reason why a source ended: a verdict, a
//! person who had seen enough, a kill. (The actual process is less extreme than Brownian motion: scores are discrete,
//! and their tails are no longer than normal ones.) The only condition is that sources are not chosen or added because
//! of their results.
//!
//! Combining each look's p-value divided by its share of alpha would be valid too, but has no power. A source that ran
//! to its end has about 0.3 of alpha left for its last look, so a source without a visible effect would count as
//! evidence *against* any effect.

mod boundary;
mod joint_score;

use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};
use steady_model::{Interval, Layout, Verdict};

use crate::estimate::{self, Effect, Estimate, LayoutEffect, LogEffect, Reason};
use crate::pair::{MIN_PAIRS, Pair, Paired};
use crate::scale::Scratch;
use crate::sequential::Rules;
use crate::{normal, score};
use boundary::Boundary;
use joint_score::{JointScore, SourceEffect};

/// The pairs between two consecutive looks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// The pairs, in time order.
    pub pairs: Vec<Pair>,
    /// The share of the source's planned effort that was spent at the end of the stage, 0 to 1. It does not depend on
    /// signs, and never decreases from one stage to the next.
    pub progress: f64,
}

/// The data of one comparison about one contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The stages, in time order.
    pub stages: Vec<Stage>,
    /// Whether the source might have ended because of its result. This is false if the number of pairs was fixed and
    /// all were run.
    pub open: bool,
}

impl Source {
    /// Creates a source whose number of pairs was fixed in advance and evaluated once.
    pub fn fixed(pairs: Vec<Pair>) -> Source {
        Source { stages: vec![Stage { pairs, progress: 1.0 }], open: false }
    }

    /// Returns the source without the pairs of other layouts.
    fn only(&self, layout: Layout) -> Source {
        let chosen = |stage: &Stage| Stage {
            pairs: stage.pairs.iter().filter(|pair| pair.layout == layout).copied().collect(),
            progress: stage.progress,
        };
        Source { stages: self.stages.iter().map(chosen).collect(), open: self.open }
    }

    fn pairs(&self) -> impl Iterator<Item = &Pair> {
        self.stages.iter().flat_map(|stage| &stage.pairs)
    }
}

/// The joint result of all sources for one contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Joint {
    /// The estimate. Its time to settle is a multiple of the time of all sources together.
    pub estimate: Estimate,
    /// Whether the sources agree on the size; `None` if fewer than two have an estimate.
    pub agreement: Option<Agreement>,
}

/// The sources of a contender, prepared for the test.
struct Prepared {
    pairs: usize,
    /// The pairs of all layouts.
    all: JointScore,
    centre: f64,
    /// Each layout alone with its estimate, if there are two layouts and this one has enough pairs.
    layouts: Vec<(Layout, JointScore, f64)>,
    only: Option<Layout>,
    /// A lower bound of the part of an effect that all pairs show.
    shown: f64,
}

impl Prepared {
    fn new(sources: &[Source], grain: f64) -> Prepared {
        let count = |layout| sources.iter().flat_map(Source::pairs).filter(|pair| pair.layout == layout).count();
        let counts = Layout::ALL.map(|layout| (layout, count(layout)));
        let present: Vec<(Layout, usize)> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
        let joint = |(layout, count): &(Layout, usize)| {
            let chosen: Vec<Source> = sources.iter().map(|source| source.only(*layout)).collect();
            let joint = JointScore::new(&chosen, grain);
            let centre = joint.estimate()?;
            (*count >= MIN_PAIRS).then_some((*layout, joint, centre))
        };
        let layouts = if present.len() < 2 { vec![] } else { present.iter().filter_map(joint).collect() };
        let all = JointScore::new(sources, grain);
        let only = if present.len() == 1 { Some(present[0].0) } else { None };
        let pairs = present.iter().map(|(_, count)| count).sum();
        let shown = estimate::shown_part(sources.iter().flat_map(Source::pairs));
        Prepared { pairs, centre: all.estimate().unwrap_or(0.0), all, layouts, only, shown }
    }

    fn interval(&self, level: f64) -> Interval {
        self.all.interval(self.centre, &Boundary::new(level / 2.0, self.all.open()))
    }
}

/// Evaluates the sources of each contender together: one verdict for each, with one error rate for all.
/// `contenders[c][i]` is the data of source `i` about contender `c`. The same sources give the same result to the last
/// bit.
pub fn join(contenders: &[Vec<Source>], rules: &Rules) -> Vec<Joint> {
    let prepared: Vec<Prepared> = contenders.iter().map(|sources| Prepared::new(sources, rules.grain)).collect();
    let level = narrowed(&prepared, rules);
    prepared.iter().map(|prepared| conclude(prepared, level, rules)).collect()
}

/// Returns the level of each contender after Holm's procedure: contenders that differ leave their share to the others.
/// Limits are additional questions, so with limits all contenders keep equal shares.
fn narrowed(prepared: &[Prepared], rules: &Rules) -> f64 {
    let contenders = prepared.len();
    let mut settled = 0;
    loop {
        let level = rules.alpha / contenders.saturating_sub(settled).max(1) as f64;
        let differs = |prepared: &&Prepared| !prepared.interval(level).holds(0.0);
        let now = if rules.limits.is_empty() { prepared.iter().filter(differs).count() } else { 0 };
        if now <= settled || settled + 1 >= contenders {
            return level;
        }
        settled = now;
    }
}

fn conclude(prepared: &Prepared, level: f64, rules: &Rules) -> Joint {
    let known = LogEffect { centre: prepared.centre, interval: prepared.interval(level), pairs: prepared.pairs };
    let all = known.effect();
    let interval = all.interval();
    let enough = prepared.pairs >= MIN_PAIRS;
    let verdict = if enough { estimate::verdict(&interval, rules.resolution) } else { Verdict::Undecided };
    let reason = match (verdict, enough, prepared.all.below_grain()) {
        (Verdict::Undecided, false, _) => Some(Reason::TooFewPairs),
        (Verdict::Undecided, true, true) => Some(Reason::BelowGrain),
        _ => None,
    };
    let open = verdict == Verdict::Undecided && reason.is_none();
    let settle = || estimate::time_to_settle(all.change?, &interval, rules.resolution);
    // The numbers of duets differ between sources, and so may the effects in the layouts. The sources are therefore
    // compared in one layout: in turns, from which the size is estimated, unless more sources have enough duets. Pairs of
    // both layouts are only used if that compares still more sources.
    let turns_first = [Layout::Turns, Layout::Duet].into_iter();
    let joints = turns_first.filter_map(|wanted| prepared.layouts.iter().find(|(layout, ..)| *layout == wanted));
    let each = joints.map(|(_, joint, _)| joint).chain([&prepared.all]);
    let tests = each.filter_map(|joint| agreement(joint, rules.alpha));
    let agreement =
        tests.reduce(|best, next| if next.degrees_of_freedom > best.degrees_of_freedom { next } else { best });
    let layouts = in_layouts(prepared, level);
    let turns = layouts.iter().find(|(layout, _)| *layout == Layout::Turns).map(|(_, effect)| effect);
    let estimate = Estimate {
        verdict,
        within_resolution: enough && estimate::within_resolution(&interval, rules.resolution),
        size: estimate::size_of(&known, turns, prepared.shown),
        verdict_low: all.low,
        verdict_high: all.high,
        pairs: prepared.pairs,
        layouts: layout_effects(prepared, &layouts, all),
        reason,
        widening: None,
        time_to_settle: if open { settle() } else { None },
    };
    Joint { estimate, agreement }
}

/// Returns the effect in each layout. A single layout has the effect of all pairs.
fn layout_effects(prepared: &Prepared, layouts: &[(Layout, LogEffect)], all: Effect) -> Vec<LayoutEffect> {
    match prepared.only {
        Some(layout) if prepared.pairs >= MIN_PAIRS => vec![LayoutEffect { layout, effect: all }],
        _ => layouts.iter().map(|(layout, one)| LayoutEffect { layout: *layout, effect: one.effect() }).collect(),
    }
}

/// Returns the effect in each layout alone.
fn in_layouts(prepared: &Prepared, level: f64) -> Vec<(Layout, LogEffect)> {
    let effect = |(layout, joint, centre): &(Layout, JointScore, f64)| {
        let interval = joint.interval(*centre, &Boundary::new(level / 2.0, joint.open()));
        (*layout, LogEffect { centre: *centre, interval, pairs: joint.pairs() })
    };
    prepared.layouts.iter().map(effect).collect()
}

/// Result of Cochran's test that all sources have the same effect.
///
/// A source that ended early may have ended because of its deviation. Its squared deviation is therefore replaced by
/// the square that is as improbable as reaching the deviation at any time. The probability is a bound by Robbins
/// (1970), with the time of the first look as the time of the mixture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Whether the differences between sources are compatible with chance.
    pub agrees: bool,
    /// Cochran's Q: the sum of the squared deviations in standard errors.
    pub q: f64,
    /// The expected sum: the number of sources with an estimate, minus one.
    pub degrees_of_freedom: usize,
    /// The probability of a sum at least this large if all sources have the same effect.
    pub p: f64,
    /// The share of the sum that exceeds the expected one (I², Higgins and Thompson 2002).
    pub i_squared: f64,
    /// The indexes of outlying sources, if the sources differ; at least the one with the greatest deviation.
    pub outlying: Vec<usize>,
}

/// The deviation of a source from the joint effect.
struct Deviation {
    index: usize,
    /// The squared deviation in standard errors, corrected for an early end.
    square: f64,
    /// The share of the source in the total information.
    share: f64,
}

/// Tests the agreement of the sources with an error of `alpha`; `None` if fewer than two have an estimate.
fn agreement(joint: &JointScore, alpha: f64) -> Option<Agreement> {
    let each = joint.each();
    let degrees = each.len().checked_sub(1).filter(|degrees| *degrees > 0)?;
    let information: f64 = each.iter().map(|source| source.error.powi(-2)).sum();
    let centre = each.iter().map(|source| source.effect / source.error.powi(2)).sum::<f64>() / information;
    let deviation = |source: &SourceEffect| Deviation {
        index: source.index,
        square: square(source, centre),
        share: source.error.powi(-2) / information,
    };
    let deviations: Vec<Deviation> = each.iter().map(deviation).collect();
    let q: f64 = deviations.iter().map(|one| one.square).sum();
    let p = ChiSquared::new(degrees as f64).ok()?.sf(q);
    let agrees = p >= alpha;
    Some(Agreement {
        agrees,
        q,
        degrees_of_freedom: degrees,
        p,
        i_squared: if q > 0.0 { (1.0 - degrees as f64 / q).max(0.0) } else { 0.0 },
        outlying: if agrees { vec![] } else { outlying(&deviations, alpha) },
    })
}

/// Returns the squared deviation of one source in standard errors.
fn square(source: &SourceEffect, centre: f64) -> f64 {
    let plain = ((source.effect - centre) / source.error).powi(2);
    if source.progress >= 1.0 {
        return plain;
    }
    let part = source.progress / (source.progress + source.first);
    // The logarithm of the probability of such a deviation at any time, and the square with the same probability.
    let log = 0.5 * (1.0 - part).ln().abs() - part * plain / 2.0;
    if log >= 0.0 { 0.0 } else { normal::two_sided_quantile(log.exp()).powi(2).min(plain) }
}

/// Returns the sources with a larger deviation than the largest of that many would have by chance. The correction by
/// the share accounts for the influence of a source on the centre.
fn outlying(deviations: &[Deviation], alpha: f64) -> Vec<usize> {
    let limit = normal::two_sided_quantile(alpha / deviations.len() as f64).powi(2);
    let alone = |one: &Deviation| one.square / (1.0 - one.share).max(1e-6);
    let farthest = deviations.iter().map(alone).fold(0.0, f64::max);
    let far = deviations.iter().filter(|one| alone(one) >= limit.min(0.999 * farthest));
    far.map(|one| one.index).collect()
}

/// The level at which an interval has one standard error on either side.
const ONE_SIGMA: f64 = 0.3173;
/// Smaller progress counts as this much, because the planned information is the information of the first look divided
/// by its progress.
const LEAST_PROGRESS: f64 = 1e-4;
/// A smaller standard error of a log ratio counts as this much, for costs that do not vary at all.
const LEAST_ERROR: f64 = 1e-9;

/// The stages of each source to include.
#[derive(Clone, Copy, PartialEq)]
enum Depth {
    First,
    All,
}

/// The test scores of one source.
struct ScoredSource {
    /// The information that the source would have at its end: one over the squared standard error.
    weight: f64,
    /// The share of its way that the source completed, 0 to 1.
    progress: f64,
    /// The share of its way at its first look, 0 to 1.
    first: f64,
    /// The stages, each with the square root of its part of the weight.
    steps: Vec<(Paired, f64)>,
    /// The pairs of all stages.
    whole: Paired,
}

impl ScoredSource {
    /// The weight is the information of the first stage divided by its progress. Later stages must not change it,
    /// because their number may depend on their results. A first stage that is too small for an estimate has no weight.
    fn new(source: &Source, grain: f64) -> ScoredSource {
        let stages = source.stages.iter().map(|stage| Paired::new(&stage.pairs, grain));
        let progress = |stage: &Stage| stage.progress.clamp(LEAST_PROGRESS, 1.0);
        let first = source.stages.first().map_or(0.0, |stage| information(stage, grain) / progress(stage));
        let mut before = 0.0;
        let steps = stages.zip(&source.stages).map(|(paired, stage)| {
            let now = progress(stage).max(before);
            let part = (first * (now - before)).sqrt();
            before = now;
            (paired, part)
        });
        let steps = steps.collect();
        let all: Vec<Pair> = source.pairs().copied().collect();
        let at_first = source.stages.first().map_or(0.0, progress);
        ScoredSource { weight: first, progress: before, first: at_first, steps, whole: Paired::new(&all, grain) }
    }

    fn sum(&self, theta: f64, depth: Depth, scratch: &mut Scratch) -> f64 {
        let depth = if depth == Depth::First { 1 } else { self.steps.len() };
        let used = self.steps.iter().take(depth).filter(|(paired, part)| *part > 0.0 && paired.pairs() > 0);
        used.map(|(paired, part)| {
            let tested = score::test(paired, theta, scratch);
            part * normal::two_sided_quantile(tested.p).copysign(tested.z)
        })
        .sum()
    }
}

/// Returns one over the squared standard error; zero if there are too few pairs.
fn information(stage: &Stage, grain: f64) -> f64 {
    if stage.pairs.len() < MIN_PAIRS {
        return 0.0;
    }
    let paired = Paired::new(&stage.pairs, grain);
    let grain = if paired.below_grain() { paired.relative_grain().ln_1p() } else { 0.0 };
    let error = paired.interval(ONE_SIGMA).half_width() + grain;
    if error.is_finite() { error.max(LEAST_ERROR).powi(2).recip() } else { 0.0 }
}
