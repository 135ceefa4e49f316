//! The record of a search.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steady_compare::revisions::LineCommit;
use steady_model::{Host, Metric, Nanos, Reading, RunKind, Seed, Timestamp, Verdict};
use steady_render::json::Schema;

/// The schema of [`BisectRecord`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.bisect/1", what: "a search for a commit" };
/// The kind of this record in the history.
pub(crate) const KIND: RunKind = RunKind::new("bisect");

/// A search for the commit that changed the cost of a command. Its fields are those of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BisectRecord {
    /// Time at which the search began.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// The command, as typed.
    pub command: String,
    /// The shell command that built the commits, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// The searched range, as typed: `GOOD..BAD`.
    pub range: String,
    /// The machine.
    pub host: Host,
    /// Git revision of the working directory.
    pub revision: Reading<String>,
    /// The seed of all random choices.
    pub seed: Seed,
    /// The maximum time to measure, in addition to that of earlier runs.
    pub budget_seconds: Nanos,
    /// The time that earlier runs of the same search measured, if it was continued.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub earlier_seconds: Nanos,
    /// The smallest relative change that matters to the user.
    pub resolution_ratio: f64,
    /// One minus the probability of naming a commit without a change.
    pub confidence: f64,
    /// The compared quantity.
    pub metric: Reading<Metric>,
    /// The commits in the order of time. The first one is GOOD, the last one BAD.
    pub commits: Vec<HistoryCommit>,
    /// The comparisons in the order of time.
    pub comparisons: Vec<Comparison>,
    /// Number of confirmations that were begun. The n-th one has the share 6/(pi² n²) of the error rate.
    pub confirmations: u64,
    /// Whether the search was interrupted.
    pub interrupted: bool,
    /// The result.
    pub outcome: BisectOutcome,
    /// Positions in `commits`, from 0. If the outcome is `found`, one of these commits changed the cost; there are
    /// several if those before the last one cannot be built. If it is `open`, they are the most probable commits, with
    /// a probability of `confidence` together.
    pub candidates: Vec<usize>,
}

/// A commit of the searched range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryCommit {
    /// The full hash.
    pub commit: String,
    /// The short hash.
    pub short: String,
    /// The first line of its message.
    pub subject: String,
    /// Whether it is a merge, whose branch was not searched.
    pub is_merge: bool,
    /// Why it cannot be measured, if it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// The probability, given all comparisons, that the cost changed at this commit; 0 for GOOD.
    pub probability: f64,
}

fn is_zero(time: &Nanos) -> bool {
    *time == Nanos::ZERO
}

impl From<&LineCommit> for HistoryCommit {
    fn from(commit: &LineCommit) -> Self {
        HistoryCommit {
            commit: commit.commit.clone(),
            short: commit.short.clone(),
            subject: commit.subject.clone(),
            is_merge: commit.parents.len() > 1,
            skipped: None,
            probability: 0.0,
        }
    }
}

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BisectOutcome {
    /// The cost changed at the candidates, which a confirmation has shown.
    Found,
    /// GOOD and BAD cost the same.
    Same,
    /// The budget was spent before a commit was confirmed.
    Open,
}

/// What a comparison was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To see whether GOOD and BAD differ.
    Ends,
    /// To divide the range.
    Search,
    /// To confirm that the cost changes between a commit and its parent.
    Confirmation,
}

impl Purpose {
    /// The purpose in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Purpose::Ends => "both ends",
            Purpose::Search => "search",
            Purpose::Confirmation => "confirmation",
        }
    }
}

/// A comparison of two commits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// What it was for.
    pub purpose: Purpose,
    /// Position of the older commit in `commits`.
    pub from: usize,
    /// Position of the newer commit in `commits`.
    pub to: usize,
    /// The verdict on the newer commit.
    pub verdict: Verdict,
    /// Relative change from the older to the newer commit.
    pub change: Reading<f64>,
    /// Lower end of its interval.
    pub low: Reading<f64>,
    /// Upper end of its interval.
    pub high: Reading<f64>,
    /// Confidence of the interval and the verdict.
    pub confidence: f64,
    /// Number of pairs.
    pub pairs: usize,
    /// Time that was measured, with the warm-up.
    pub measured_seconds: Nanos,
    /// The share of the runs' wall time that they waited for a CPU, if it is large and part of the compared metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_ratio: Option<f64>,
}

impl BisectRecord {
    /// The time that all comparisons measured.
    pub fn measured(&self) -> Nanos {
        self.comparisons.iter().fold(Nanos::ZERO, |sum, one| sum + one.measured_seconds)
    }
}
