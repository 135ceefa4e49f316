//! One source: its steps, each with its part of the weight.

use super::{Source, Stage};
use crate::normal;
use crate::pair::{MIN_PAIRS, Pair, Paired};
use crate::scale::Scratch;
use crate::score;

/// The level at which an interval is one standard error on either side.
const ONE_SIGMA: f64 = 0.3173;
/// Progress below this is taken for as much: what is planned is what the first look tells, over its progress.
pub(super) const LEAST_PROGRESS: f64 = 1e-4;
/// A standard error smaller than this, as a log ratio, is taken for as much: costs that do not vary at all.
pub(super) const LEAST_ERROR: f64 = 1e-9;

/// Which stages of each source count.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Depth {
    First,
    All,
}

/// One source's steps.
pub(super) struct Steps {
    /// What it would tell, run to its end: one over the square of the standard error.
    pub(super) weight: f64,
    /// How far it came.
    pub(super) progress: f64,
    /// How far it had come at its first look.
    pub(super) first: f64,
    /// Its stages, each with the root of its part of the weight.
    pub(super) steps: Vec<(Paired, f64)>,
    /// All of its pairs.
    pub(super) whole: Paired,
}

impl Steps {
    /// The weight is what the first stage tells over its progress: a plan, blind to signs, and not to be changed by what
    /// came later, for how much came may depend on what it showed. A first stage too small to tell has no weight.
    pub(super) fn new(source: &Source, grain: f64) -> Steps {
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

    pub(super) fn sum(&self, theta: f64, depth: Depth, scratch: &mut Scratch) -> f64 {
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
