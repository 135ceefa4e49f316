//! What the history lists about a run without evaluating it again.

use serde::{Deserialize, Serialize};

use crate::{Absent, Host, Metric, Reading, Seed, Timestamp};

/// The kind of a run in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// Commands were compared, or one was measured.
    Compare,
    /// Rows of concurrent processes were measured.
    Load,
    /// The rulers were measured.
    Rulers,
    /// A command ran under a limit.
    Limit,
    /// The costs of primitives of the machine and its kernel were measured.
    Costs,
    /// The time of a command, or the difference between two commands, was explained.
    Explain,
    /// Programs were launched normally and from snapshots.
    Warm,
    /// The locks of a command were observed.
    Locks,
    /// Two versions of a service were compared, in production.
    Release,
    /// The cost of an allocator's lock was measured.
    Signature,
}

impl RunKind {
    /// Every kind, in the order of introduction.
    pub const ALL: [RunKind; 10] = [
        RunKind::Compare,
        RunKind::Load,
        RunKind::Rulers,
        RunKind::Limit,
        RunKind::Costs,
        RunKind::Explain,
        RunKind::Warm,
        RunKind::Locks,
        RunKind::Release,
        RunKind::Signature,
    ];

    /// Returns the name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            RunKind::Compare => "compare",
            RunKind::Load => "load",
            RunKind::Rulers => "rulers",
            RunKind::Limit => "limit",
            RunKind::Costs => "costs",
            RunKind::Explain => "explain",
            RunKind::Warm => "warm",
            RunKind::Locks => "locks",
            RunKind::Release => "release",
            RunKind::Signature => "signature",
        }
    }
}

/// The facts of a run that lists show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The kind of the run.
    pub kind: RunKind,
    /// The time of the start.
    pub started: Timestamp,
    /// The host that it ran on.
    pub hostname: Reading<String>,
    /// The name and release of the host's kernel.
    pub kernel: Reading<String>,
    /// The git revision of the working directory.
    pub revision: Reading<String>,
    /// The seed of its random draws; not available if there were none.
    pub seed: Reading<Seed>,
    /// The names of its commands. If `steady` ran work of its own, the name of that work.
    pub commands: Vec<String>,
    /// The number of pairs; not available if the kind of run has no pairs.
    pub pairs: Reading<usize>,
    /// Whether it ended normally, and was not interrupted, killed or stopped by a failure.
    pub complete: bool,
    /// The metric of its verdict; not available if the kind of run has no such choice.
    pub primary: Reading<Metric>,
    /// The verdict in a few words, on one line.
    pub verdict: String,
}

impl Facts {
    /// Returns the facts of a kind of run that has no pairs, seed, commands or primary metric.
    pub fn new(kind: RunKind, started: Timestamp, host: &Host, revision: &Reading<String>, verdict: String) -> Self {
        let none = |what: &str| Absent::because(format!("{} runs have no {what}", kind.name()));
        Facts {
            kind,
            started,
            hostname: host.hostname.clone(),
            kernel: host.kernel.clone(),
            revision: revision.clone(),
            seed: Err(none("random draws")),
            commands: vec![],
            pairs: Err(none("pairs")),
            complete: true,
            primary: Err(none("primary metric")),
            verdict,
        }
    }
}

/// A run in the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The run's number, which is never reused.
    pub id: i64,
    /// The facts that lists show.
    pub facts: Facts,
}
