//! Several comparisons of the same commands, joined: one test over all of them, and whether they agree.
//!
//! Each comparison (a **source**) was looked at while it ran and may have ended for what it showed, so its pairs must
//! not be tested as if their number had been fixed. What holds is weaker, and enough. Given all that was seen before,
//! the signs of the pairs between two looks (a [`Stage`]) are fair coins if the effect is `theta`; so the normal score
//! of their test is a step of a fair game. Steps are weighted by what the source planned, blind to signs: their squares
//! sum to the source's weight when it runs to its end, and to less where it ended early. One source after the other,
//! the sum is then a Brownian motion that was stopped somewhere on its way to a known time, and a boundary that such a
//! motion seldom crosses *anywhere* ([`boundary`]) holds however and why ever each source ended: a verdict, a person
//! who had seen enough, a kill. (The game is a little milder than that: scores are discrete and their tails no longer
//! than the normal's.) What it takes is that sources are not chosen, or added, by what they showed.
//!
//! A look's p-value over its share of alpha, combined over the sources, would be valid too, but has no power: a source
//! that ran to its end has some 0.3 of alpha left for its last look, so that one in which nothing is seen speaks
//! *against* any effect, however many there are.

mod boundary;
mod game;

use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};
use steady_model::{Interval, Layout, Verdict};

use crate::estimate::{self, Effect, Estimate, LayoutEffect, Reason};
use crate::pair::{MIN_PAIRS, Pair, Paired};
use crate::scale::Scratch;
use crate::sequential::Rules;
use crate::{normal, score};
use boundary::Boundary;
use game::{Game, Told};

/// The pairs between one look and the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// The pairs, in order of time.
    pub pairs: Vec<Pair>,
    /// How far the source was on its way to where it ends whatever it shows, 0 to 1; blind to signs, and never less than
    /// in the stage before.
    pub progress: f64,
}

/// What one comparison tells of one contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Its stages, in order of time.
    pub stages: Vec<Stage>,
    /// Whether it might have ended for what it showed: not where the number of pairs was fixed and they were all run.
    pub open: bool,
}

impl Source {
    /// A source whose pairs were counted beforehand and judged once.
    pub fn fixed(pairs: Vec<Pair>) -> Source {
        Source { stages: vec![Stage { pairs, progress: 1.0 }], open: false }
    }

    /// The same, less the pairs of other layouts.
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

/// What all sources together conclude about one contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Joint {
    /// The estimate; its time to settle is in terms of all sources together.
    pub estimate: Estimate,
    /// Whether the sources agree on the size; `None` where fewer than two tell of it.
    pub agreement: Option<Agreement>,
}

/// A contender's sources, prepared.
struct Prepared {
    pairs: usize,
    /// All pairs.
    all: Game,
    centre: f64,
    /// Each layout by itself, with its estimate, where there are two and it has enough pairs.
    layouts: Vec<(Layout, Game, f64)>,
    only: Option<Layout>,
}

impl Prepared {
    fn new(sources: &[Source], grain: f64) -> Prepared {
        let count = |layout| sources.iter().flat_map(Source::pairs).filter(|pair| pair.layout == layout).count();
        let counts = Layout::ALL.map(|layout| (layout, count(layout)));
        let present: Vec<(Layout, usize)> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
        let game = |(layout, count): &(Layout, usize)| {
            let chosen: Vec<Source> = sources.iter().map(|source| source.only(*layout)).collect();
            let game = Game::new(&chosen, grain);
            let centre = game.estimate()?;
            (*count >= MIN_PAIRS).then_some((*layout, game, centre))
        };
        let layouts = if present.len() < 2 { vec![] } else { present.iter().filter_map(game).collect() };
        let all = Game::new(sources, grain);
        let only = if present.len() == 1 { Some(present[0].0) } else { None };
        let pairs = present.iter().map(|(_, count)| count).sum();
        Prepared { pairs, centre: all.estimate().unwrap_or(0.0), all, layouts, only }
    }

    fn interval(&self, level: f64) -> Interval {
        self.all.interval(self.centre, &Boundary::new(level / 2.0, self.all.open()))
    }
}

/// Joins the sources of each contender (`contenders[c][i]` is what source `i` tells of contender `c`) into one verdict
/// each, with one error rate for all. The same sources give the same result to the last bit.
pub fn join(contenders: &[Vec<Source>], rules: &Rules) -> Vec<Joint> {
    let prepared: Vec<Prepared> = contenders.iter().map(|sources| Prepared::new(sources, rules.grain)).collect();
    let level = narrowed(&prepared, rules);
    prepared.iter().map(|prepared| conclude(prepared, level, rules)).collect()
}

/// The level that each contender has after Holm's steps: those that differ leave their share to the others. A limit is
/// a second question to each, and with limits all keep an equal share.
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
    let all = Effect::from_log(prepared.centre, prepared.interval(level), prepared.pairs);
    let layouts = layout_effects(prepared, level, all);
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
    let turns = layouts.iter().find(|seen| seen.layout == Layout::Turns);
    let sized = prepared.layouts.iter().find(|(layout, ..)| *layout == Layout::Turns);
    let agreement = match sized {
        // What the size rests on is what the sources must agree on: how many duets each ran differs.
        Some((_, game, _)) => agreement(game, rules.alpha),
        None => agreement(&prepared.all, rules.alpha),
    };
    let estimate = Estimate {
        verdict,
        within_resolution: enough && estimate::within(&interval, rules.resolution),
        size: turns.map_or(all, |seen| seen.effect),
        verdict_low: all.low,
        verdict_high: all.high,
        pairs: prepared.pairs,
        layouts,
        reason,
        widening: None,
        time_to_settle: if open { settle() } else { None },
    };
    Joint { estimate, agreement }
}

/// The effect in each layout. A single layout is all there is.
fn layout_effects(prepared: &Prepared, level: f64, all: Effect) -> Vec<LayoutEffect> {
    if let Some(layout) = prepared.only
        && prepared.pairs >= MIN_PAIRS
    {
        return vec![LayoutEffect { layout, effect: all }];
    }
    let effect = |(layout, game, centre): &(Layout, Game, f64)| {
        let interval = game.interval(*centre, &Boundary::new(level / 2.0, game.open()));
        LayoutEffect { layout: *layout, effect: Effect::from_log(*centre, interval, game.pairs()) }
    };
    prepared.layouts.iter().map(effect).collect()
}

/// Cochran's test that all sources have the same effect.
///
/// A source that ended early may have ended for what made it deviate. Its deviation is then worth no more than what a
/// motion that may be stopped at any time seldom reaches (Robbins 1970, with the first look's time as the mixture's).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Whether nothing beyond chance lies between them.
    pub agrees: bool,
    /// The sum of the squared deviations.
    pub q: f64,
    /// How large it is expected to be: one less than there are sources that tell.
    pub degrees_of_freedom: usize,
    /// The probability of a sum as large, had all the same effect.
    pub p: f64,
    /// The share of the sum beyond what is expected (I squared, Higgins and Thompson 2002).
    pub i_squared: f64,
    /// Where they differ: the sources that stand out, by their place; the farthest where none does by itself.
    pub outlying: Vec<usize>,
}

/// A source's deviation from all together.
struct Deviation {
    index: usize,
    /// Squared, in standard errors, as if it had been fixed when to end.
    square: f64,
    /// Its share of all information.
    share: f64,
}

/// The agreement of the sources of a game, at an error of `alpha`; `None` where fewer than two tell.
fn agreement(game: &Game, alpha: f64) -> Option<Agreement> {
    let each = game.each();
    let degrees = each.len().checked_sub(1).filter(|degrees| *degrees > 0)?;
    let information: f64 = each.iter().map(|told| told.error.powi(-2)).sum();
    let centre = each.iter().map(|told| told.effect / told.error.powi(2)).sum::<f64>() / information;
    let deviation = |told: &Told| Deviation {
        index: told.index,
        square: square(told, centre),
        share: told.error.powi(-2) / information,
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

/// The squared deviation of one source.
fn square(told: &Told, centre: f64) -> f64 {
    let plain = ((told.effect - centre) / told.error).powi(2);
    if told.progress >= 1.0 {
        return plain;
    }
    let part = told.progress / (told.progress + told.first);
    // The logarithm of the probability to reach so far at any time, and the square that is as rare.
    let log = 0.5 * (1.0 - part).ln().abs() - part * plain / 2.0;
    if log >= 0.0 { 0.0 } else { normal::two_sided_quantile(log.exp()).powi(2).min(plain) }
}

/// Those that deviate by more than the largest of so many would by chance. A source with a large share draws the centre
/// towards itself, which is allowed for.
fn outlying(deviations: &[Deviation], alpha: f64) -> Vec<usize> {
    let limit = normal::two_sided_quantile(alpha / deviations.len() as f64).powi(2);
    let alone = |one: &Deviation| one.square / (1.0 - one.share).max(1e-6);
    let farthest = deviations.iter().map(alone).fold(0.0, f64::max);
    let far = deviations.iter().filter(|one| alone(one) >= limit.min(0.999 * farthest));
    far.map(|one| one.index).collect()
}

/// The level at which an interval is one standard error on either side.
const ONE_SIGMA: f64 = 0.3173;
/// Progress below this is taken for as much: what is planned is what the first look tells, over its progress.
const LEAST_PROGRESS: f64 = 1e-4;
/// A standard error smaller than this, as a log ratio, is taken for as much: costs that do not vary at all.
const LEAST_ERROR: f64 = 1e-9;

/// Which stages of each source count.
#[derive(Clone, Copy, PartialEq)]
enum Depth {
    First,
    All,
}

/// One source's steps.
struct Steps {
    /// What it would tell, run to its end: one over the square of the standard error.
    weight: f64,
    /// How far it came.
    progress: f64,
    /// How far it had come at its first look.
    first: f64,
    /// Its stages, each with the root of its part of the weight.
    steps: Vec<(Paired, f64)>,
    /// All of its pairs.
    whole: Paired,
}

impl Steps {
    /// The weight is what the first stage tells over its progress: a plan, blind to signs, and not to be changed by what
    /// came later, for how much came may depend on what it showed. A first stage too small to tell has no weight.
    fn new(source: &Source, grain: f64) -> Steps {
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
        Steps { weight: first, progress: before, first: at_first, steps, whole: Paired::new(&all, grain) }
    }

    fn sum(&self, theta: f64, depth: Depth, scratch: &mut Scratch) -> f64 {
        let depth = if depth == Depth::First { 1 } else { self.steps.len() };
        let told = self.steps.iter().take(depth).filter(|(paired, part)| *part > 0.0 && paired.pairs() > 0);
        told.map(|(paired, part)| {
            let tested = score::test(paired, theta, scratch);
            part * normal::two_sided_quantile(tested.p).copysign(tested.z)
        })
        .sum()
    }
}

/// One over the square of the standard error; zero where the pairs are too few to tell.
fn information(stage: &Stage, grain: f64) -> f64 {
    if stage.pairs.len() < MIN_PAIRS {
        return 0.0;
    }
    let paired = Paired::new(&stage.pairs, grain);
    let grain = if paired.below_grain() { paired.relative_grain().ln_1p() } else { 0.0 };
    let error = paired.interval(ONE_SIGMA).half_width() + grain;
    if error.is_finite() { error.max(LEAST_ERROR).powi(2).recip() } else { 0.0 }
}
