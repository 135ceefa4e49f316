//! Several comparisons of the same commands, evaluated together.

use crate::{Judgement, Nanos, Plan, Reading, Report};

/// One of the comparisons that are evaluated together.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The name of the file that it was read from.
    pub name: String,
    /// The report of this comparison alone.
    pub report: Report,
}

/// Whether the sources agree on the effect of one command.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// The index of the command in the plan; at least 1.
    pub command: usize,
    /// The test; not available if fewer than two sources have an estimate.
    pub homogeneity: Reading<Homogeneity>,
}

/// Cochran's test that the effect is the same in all sources.
#[derive(Clone, Debug, PartialEq)]
pub struct Homogeneity {
    /// Whether the differences between sources are compatible with chance.
    pub agrees: bool,
    /// Cochran's Q: the weighted sum of the squared deviations from the joint effect.
    pub q: f64,
    /// The number of sources with an estimate, minus one.
    pub degrees_of_freedom: usize,
    /// The probability of deviations at least this large if the effect is the same in all sources.
    pub p_value: f64,
    /// The share of the deviations that chance does not explain (I²).
    pub i_squared: f64,
    /// The indexes of outlying sources, if the sources differ.
    pub outlying: Vec<usize>,
}

/// Several comparisons of the same commands, evaluated as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// The comparisons, at least two, in the order given.
    pub sources: Vec<Source>,
    /// The verdicts of all sources together: for each command all metrics, the primary first.
    pub judgements: Vec<Judgement>,
    /// The agreement on the primary metric, one for each command after the first.
    pub agreements: Vec<Agreement>,
}

impl Joined {
    /// Returns the plan of the first source. The plans agree in everything that concerns the verdict.
    pub fn plan(&self) -> Option<&Plan> {
        self.sources.first().map(|source| &source.report.record.plan)
    }

    /// Returns the verdicts that carry the error guarantee, one for each command after the first.
    pub fn primary(&self) -> impl Iterator<Item = &Judgement> {
        self.judgements.iter().filter(|judgement| judgement.primary)
    }

    /// Returns the number of blocks of all sources.
    pub fn blocks(&self) -> usize {
        self.sources.iter().map(|source| source.report.record.blocks.len()).sum()
    }

    /// Returns the sum of the durations of all sources.
    pub fn elapsed(&self) -> Nanos {
        self.sources.iter().map(|source| source.report.record.elapsed).sum()
    }
}
