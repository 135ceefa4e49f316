//! The JSON of a comparison and of joined comparisons, and the way back from it to a record.

mod check;
mod commands;
mod during;
mod joined;
mod record;
mod verdicts;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use steady_model::{Nanos, Rank, Reading, Report};
use steady_render::json::{self as codec, Schema};

use commands::ComparedCommand;
use during::{Layouts, LoadDuring, StatedWarning, WarmRuns, budget};
use verdicts::MetricVerdict;

use crate::ratchet::accepts;

pub use joined::{JOINED_SCHEMA, JoinedComparisons, joined_json_text};
pub use record::{RecordBegin, RecordEnd, read_record, read_record_of};
pub(crate) use steady_render::json::ReadError;

/// The schema of [`Comparison`].
pub const SCHEMA: Schema = Schema { name: "steady.compare/1", what: "a comparison" };

/// A comparison in JSON: its verdicts and their data. An export with samples can be evaluated again.
#[derive(Serialize, JsonSchema)]
pub struct Comparison<'a> {
    /// The record, with the parts of the time of the commands' runs.
    #[serde(flatten)]
    begin: RecordBegin<'a, Vec<ComparedCommand<'a>>>,
    /// The maximum time to measure.
    budget_seconds: Reading<Nanos>,
    /// The number of pairs in each layout, and the time that they took.
    layouts: Layouts,
    /// The number of pairs.
    pairs: usize,
    /// The number of runs in all pairs.
    runs: usize,
    /// The verdicts on each command after the first, by each metric.
    verdicts: Vec<MetricVerdict<'a>>,
    /// The ranks of at least three commands, from the best estimate to the worst.
    #[serde(skip_serializing_if = "<[Rank]>::is_empty")]
    ranking: &'a [Rank],
    /// With `--ratchet`: whether this comparison accepts the candidate. The first comparison of one accepts nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted: Option<bool>,
    /// Warnings about the results.
    warnings: Vec<StatedWarning<'a>>,
    /// The draws of snapshots. Missing if snapshots were not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Reading<WarmRuns>")]
    warm: Option<Reading<WarmRuns>>,
    /// The command that cannot start from a snapshot. Null if the reason applies to all commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    cold_command: Option<Option<usize>>,
    /// The record, with the effect of the load on the pairs.
    #[serde(flatten)]
    end: RecordEnd<'a, LoadDuring<'a>>,
}

impl<'a> Comparison<'a> {
    fn of(report: &'a Report, samples: bool) -> Self {
        let record = &report.record;
        Comparison {
            begin: RecordBegin::with(record, commands::all(report)),
            budget_seconds: budget(&record.plan),
            layouts: Layouts::of(report),
            pairs: record.blocks.len(),
            runs: report.runs(),
            verdicts: report.judgements.iter().map(|judgement| verdicts::of(record, judgement)).collect(),
            ranking: &report.ranking,
            accepted: accepts(report),
            warnings: during::warnings(report),
            warm: during::warm(record),
            cold_command: record.cold.as_ref().filter(|_| record.plan.warm).map(|cold| cold.command),
            end: RecordEnd::with(record, LoadDuring::of(report), samples),
        }
    }
}

/// The report as JSON. `samples` adds the raw samples, without which [`read_record`] cannot read it back.
pub fn json(report: &Report, samples: bool) -> Value {
    codec::value(&SCHEMA, &Comparison::of(report, samples))
}

/// [`json`] as indented text that ends with a newline. Small values and every block are on one line.
pub fn json_text(report: &Report, samples: bool) -> String {
    codec::text(&SCHEMA, &Comparison::of(report, samples))
}

/// The primary verdicts of a comparison, each with its sentence.
pub fn verdicts_json(report: &Report) -> Value {
    codec::part(&report.primary().map(|judgement| verdicts::stated(report, judgement)).collect::<Vec<_>>())
}
