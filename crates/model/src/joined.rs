//! Several comparisons of the same commands, joined.

use crate::{Judgement, Nanos, Plan, Reading, Report};

/// One of the comparisons.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Where it was read from: the name of a file.
    pub name: String,
    /// What it says by itself.
    pub report: Report,
}

/// Whether the sources tell of one effect.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// Which command of the plan; at least 1.
    pub command: usize,
    /// The test; absent where fewer than two sources tell of the effect.
    pub homogeneity: Reading<Homogeneity>,
}

/// Cochran's test that the effect is the same in all sources.
#[derive(Clone, Debug, PartialEq)]
pub struct Homogeneity {
    /// Whether nothing beyond chance lies between them.
    pub agrees: bool,
    /// The sum of the squared deviations from the joint effect.
    pub q: f64,
    /// One less than there are sources that tell.
    pub degrees_of_freedom: usize,
    /// The probability of deviations as large, were the effect the same.
    pub p_value: f64,
    /// The share of the deviations beyond chance (I squared).
    pub i_squared: f64,
    /// Where they differ: the sources that stand out, by their place.
    pub outlying: Vec<usize>,
}

/// Comparisons of the same commands as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// The comparisons, at least two, as they were given.
    pub sources: Vec<Source>,
    /// The verdicts of all together: per command all metrics, the primary first.
    pub judgements: Vec<Judgement>,
    /// Whether they agree by the primary metric, one per command after the first.
    pub agreements: Vec<Agreement>,
}

impl Joined {
    /// The plan that they have in common in all that concerns the verdict; `None` without sources.
    pub fn plan(&self) -> Option<&Plan> {
        self.sources.first().map(|source| &source.report.record.plan)
    }

    /// The verdicts that carry the error guarantee, one per command after the first.
    pub fn primary(&self) -> impl Iterator<Item = &Judgement> {
        self.judgements.iter().filter(|judgement| judgement.primary)
    }

    /// How many blocks all sources hold.
    pub fn blocks(&self) -> usize {
        self.sources.iter().map(|source| source.report.record.blocks.len()).sum()
    }

    /// How long all sources took, one after the other.
    pub fn elapsed(&self) -> Nanos {
        self.sources.iter().map(|source| source.report.record.elapsed).sum()
    }
}
