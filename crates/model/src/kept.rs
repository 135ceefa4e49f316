//! What the history tells of a run without judging it again.

use serde::{Deserialize, Serialize};

use crate::{
    Absent, Ending, ExplainPairReport, ExplainReport, Host, Metric, Reading, Report, Seed, Timestamp, WarmBenchReport,
};

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
    /// The facts of a comparison, whose verdict is `verdict` in words.
    pub fn of(report: &Report, verdict: String) -> Self {
        let record = &report.record;
        Facts {
            seed: Ok(record.plan.seed),
            commands: record.plan.commands.iter().map(|command| command.name.clone()).collect(),
            pairs: Ok(record.blocks.len()),
            complete: record.ending != Ending::Interrupted,
            primary: Ok(record.primary),
            ..Facts::without_pairs(RunKind::Compare, (record.started, &record.host, &record.revision), verdict)
        }
    }

    /// The facts of a command whose time was explained, summed up as `verdict`. It is complete however the command ended.
    pub fn of_explain(report: &ExplainReport, verdict: String) -> Self {
        let record = &report.record;
        Facts {
            commands: vec![record.plan.command.name.clone()],
            ..Facts::without_pairs(RunKind::Explain, (record.started, &record.host, &record.revision), verdict)
        }
    }

    /// The facts of two commands whose difference was explained, summed up as `verdict`.
    pub fn of_explain_pair(report: &ExplainPairReport, verdict: String) -> Self {
        let record = &report.record.record;
        Facts {
            seed: Ok(record.plan.seed),
            commands: record.plan.commands.iter().map(|command| command.name.clone()).collect(),
            pairs: Ok(record.blocks.len()),
            complete: record.ending != Ending::Interrupted,
            ..Facts::without_pairs(RunKind::Explain, (record.started, &record.host, &record.revision), verdict)
        }
    }

    /// The facts of programs launched as usual and from snapshots, summed up as `verdict`.
    pub fn of_warm_bench(report: &WarmBenchReport, verdict: String) -> Self {
        let record = &report.record;
        Facts {
            seed: Ok(record.plan.seed),
            commands: record.plan.programs.iter().map(|command| command.name.clone()).collect(),
            complete: record.ending != Ending::Interrupted,
            ..Facts::without_pairs(RunKind::Warm, (record.started, &record.host, &record.revision), verdict)
        }
    }

    /// The facts of a run without pairs of its own: its kind, when it was begun, where, at which revision, and its verdict.
    pub fn without_pairs(
        kind: RunKind,
        (started, host, revision): (Timestamp, &Host, &Reading<String>),
        verdict: String,
    ) -> Self {
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
