//! What the history tells of a run without judging it again.

use serde::{Deserialize, Serialize};

use crate::{Absent, Host, Metric, Reading, Seed, Timestamp};

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// Commands were compared, or one was measured.
    Compare,
    /// So many processes ran at once.
    Load,
    /// The rulers were read.
    Rulers,
    /// A command was held to a limit.
    Limit,
    /// Primitives of the machine and its kernel were measured.
    Costs,
    /// It was told where the time of a command went, or that of the difference of two.
    Explain,
    /// Programs were launched as usual and from snapshots.
    Warm,
    /// The locks of a command were watched.
    Locks,
    /// Two versions of a service were compared, in production.
    Release,
}

impl RunKind {
    /// Every kind, in the order in which they came to be.
    pub const ALL: [RunKind; 9] = [
        RunKind::Compare,
        RunKind::Load,
        RunKind::Rulers,
        RunKind::Limit,
        RunKind::Costs,
        RunKind::Explain,
        RunKind::Warm,
        RunKind::Locks,
        RunKind::Release,
    ];

    /// The name used in tables and in JSON.
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
        }
    }
}

/// What tells one run from others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// What was done.
    pub kind: RunKind,
    /// When it was begun.
    pub started: Timestamp,
    /// The host that it ran on.
    pub hostname: Reading<String>,
    /// The host's kernel.
    pub kernel: Reading<String>,
    /// The git revision of the directory that it was done in.
    pub revision: Reading<String>,
    /// The seed of its coins; absent where none were drawn.
    pub seed: Reading<Seed>,
    /// The names of its commands; where it ran work of `steady`'s own, what that was.
    pub commands: Vec<String>,
    /// How many pairs were measured; absent where there are no pairs.
    pub pairs: Reading<usize>,
    /// Whether it came to its end, and was not interrupted, killed or stopped by a failure.
    pub complete: bool,
    /// The metric that its verdict is about; absent where there is no such choice.
    pub primary: Reading<Metric>,
    /// The verdict in a few words, on one line.
    pub verdict: String,
}

impl Facts {
    /// The facts of a run without pairs of its own: its kind, when it was begun, where, at which revision, and its verdict.
    pub fn without_pairs(kind: RunKind, origin: (Timestamp, &Host, &Reading<String>), verdict: String) -> Self {
        let (started, host, revision) = origin;
        let none = |what: &str| Absent::because(format!("{} runs have no {what}", kind.name()));
        Facts {
            kind,
            started,
            hostname: host.hostname.clone(),
            kernel: host.kernel.clone(),
            revision: revision.clone(),
            seed: Err(none("coins")),
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
    /// Its number; never given twice.
    pub id: i64,
    /// What tells it from others.
    pub facts: Facts,
}
