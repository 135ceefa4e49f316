//! What the history tells of a comparison without judging it again.

use serde::{Deserialize, Serialize};

use crate::{Ending, Metric, Reading, Report, Seed, Timestamp};

/// What tells one comparison from others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// When it was begun.
    pub started: Timestamp,
    /// The host that it ran on.
    pub hostname: Reading<String>,
    /// The host's kernel.
    pub kernel: Reading<String>,
    /// The git revision of the directory that it was done in.
    pub revision: Reading<String>,
    /// The seed of its coins.
    pub seed: Seed,
    /// The names of its commands.
    pub commands: Vec<String>,
    /// How many pairs were measured.
    pub pairs: usize,
    /// Whether it came to its end, and was not interrupted, killed or stopped by a failure.
    pub complete: bool,
    /// The metric that its verdict is about.
    pub primary: Metric,
    /// The verdict in a few words, on one line.
    pub verdict: String,
}

impl Facts {
    /// The facts of a report, whose verdict is `verdict` in words.
    pub fn of(report: &Report, verdict: String) -> Self {
        let record = &report.record;
        Facts {
            started: record.started,
            hostname: record.host.hostname.clone(),
            kernel: record.host.kernel.clone(),
            revision: record.revision.clone(),
            seed: record.plan.seed,
            commands: record.plan.commands.iter().map(|command| command.name.clone()).collect(),
            pairs: record.blocks.len(),
            complete: record.ending != Ending::Interrupted,
            primary: record.primary,
            verdict,
        }
    }
}

/// A comparison in the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Its number; never given twice.
    pub id: i64,
    /// What tells it from others.
    pub facts: Facts,
}
