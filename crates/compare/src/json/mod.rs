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
use steady_model::{CounterScope, Ending, Host, LeftOut, Metric, Nanos, Plan, Rank, Reading, Report, Seed, Timestamp};
use steady_render::json::{self as codec, Schema};

use commands::ComparedCommand;
use during::{Layouts, LoadDuring, StatedWarning, WarmRuns, budget};
use record::{Samples, choices};
use verdicts::MetricVerdict;

pub use joined::{JOINED_SCHEMA, JoinedComparisons, joined_json_text};
pub use record::{RecordBegin, RecordEnd, read_record, read_record_of};
pub(crate) use steady_render::json::ReadError;

/// The schema of [`Comparison`].
pub const SCHEMA: Schema = Schema { name: "steady.compare/1", what: "a comparison" };

/// A comparison in JSON: its verdicts and their data. An export with samples can be evaluated again.
#[derive(Serialize, JsonSchema)]
pub struct Comparison<'a> {
    /// The seed of all random choices, in decimal.
    seed: Seed,
    /// The time of day when the comparison started. It is only a label.
    #[serde(serialize_with = "steady_render::timestamp::serialize")]
    #[schemars(with = "String")]
    started: Timestamp,
    /// The maximum time to measure.
    budget_seconds: Reading<Nanos>,
    /// The time from the first warm-up run to the end.
    elapsed_seconds: Nanos,
    /// The commands, and the parts of the time of their runs. Other fields name a command by its index here, from 0.
    commands: Vec<ComparedCommand<'a>>,
    /// Facts about the machine.
    host: &'a Host,
    /// The git revision of the working directory.
    revision: &'a Reading<String>,
    /// Which events the CPU's counters counted.
    counters: &'a Reading<CounterScope>,
    /// The number of pairs in each layout, and the time that they took.
    layouts: Layouts,
    /// The number of pairs.
    pairs: usize,
    /// The number of runs in all pairs.
    runs: usize,
    /// The verdicts on each command after the first, by each metric.
    verdicts: Vec<MetricVerdict>,
    /// The ranks of at least three commands, from the best estimate to the worst.
    #[serde(skip_serializing_if = "<[Rank]>::is_empty")]
    ranking: &'a [Rank],
    /// The effect of the load on the pairs, and the activity of the machine.
    load: LoadDuring<'a>,
    /// Warnings about the results.
    warnings: Vec<StatedWarning<'a>>,
    /// The metric that stopped the measuring and carries the error guarantee.
    primary: Metric,
    /// Why the measuring ended.
    ending: Ending,
    /// The command of a run that did not end within the budget and was killed. Missing if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    unfinished_command: Option<usize>,
    /// Layouts that were not used.
    layouts_left_out: &'a [LeftOut],
    /// The draws of snapshots. Missing if snapshots were not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Reading<WarmRuns>")]
    warm: Option<Reading<WarmRuns>>,
    /// The command that cannot start from a snapshot. Null if the reason applies to all commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    cold_command: Option<Option<usize>>,
    /// The options of the comparison.
    plan: Plan,
    /// The raw samples. Missing unless they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<Samples<'a>>,
}

impl<'a> Comparison<'a> {
    fn of(report: &'a Report, samples: bool) -> Self {
        let record = &report.record;
        let plan = &record.plan;
        Comparison {
            seed: plan.seed,
            started: record.started,
            budget_seconds: budget(plan),
            elapsed_seconds: record.elapsed,
            commands: commands::all(report),
            host: &record.host,
            revision: &record.revision,
            counters: &record.counters,
            layouts: Layouts::of(report),
            pairs: record.blocks.len(),
            runs: report.runs(),
            verdicts: report.judgements.iter().map(|judgement| verdicts::of(record, judgement)).collect(),
            ranking: &report.ranking,
            load: LoadDuring::of(report),
            warnings: during::warnings(report),
            primary: record.primary,
            ending: record.ending,
            unfinished_command: record.unfinished,
            layouts_left_out: &record.left_out,
            warm: during::warm(record),
            cold_command: record.cold.as_ref().filter(|_| plan.warm).map(|cold| cold.command),
            plan: choices(plan),
            samples: samples.then(|| Samples::of(record)),
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
