//! The JSON of a comparison and of several that are joined, as the output contract has it.

mod check;
mod commands;
mod during;
mod joined;
mod record;
mod verdicts;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use steady_model::{CounterScope, Ending, Host, LeftOut, Metric, Nanos, Plan, Reading, Report, Seed, Timestamp};
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

/// A comparison in JSON, its verdicts and what they rest on, in the order of the output contract. With its samples it can be judged
/// again.
#[derive(Serialize, JsonSchema)]
pub struct Comparison<'a> {
    /// The seed of all coins, in decimal.
    seed: Seed,
    /// When it was begun: a label.
    #[serde(serialize_with = "steady_render::timestamp::serialize")]
    #[schemars(with = "String")]
    started: Timestamp,
    /// How long it was to measure in all.
    budget_seconds: Reading<Nanos>,
    /// From the first warm-up run to the end.
    elapsed_seconds: Nanos,
    /// The commands, and where the time of their runs went. Elsewhere they are named by their place here, from 0 on.
    commands: Vec<ComparedCommand<'a>>,
    /// Where.
    host: &'a Host,
    /// The git revision of the directory that it ran in.
    revision: &'a Reading<String>,
    /// Whose events the CPU's counters counted.
    counters: &'a Reading<CounterScope>,
    /// How many pairs each layout has, and how long they took.
    layouts: Layouts,
    /// How many pairs there are.
    pairs: usize,
    /// How many runs they hold.
    runs: usize,
    /// What was found of each command besides the first, by each metric.
    verdicts: Vec<MetricVerdict>,
    /// What the load did to the pairs, and what the machine was doing.
    load: LoadDuring<'a>,
    /// What a reader should know.
    warnings: Vec<StatedWarning<'a>>,
    /// The metric that stopped the measuring and carries the error guarantee.
    primary: Metric,
    /// Why the measuring ended.
    ending: Ending,
    /// Layouts that were not used.
    layouts_left_out: &'a [LeftOut],
    /// What snapshots were drawn; missing if none were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Reading<WarmRuns>")]
    warm: Option<Reading<WarmRuns>>,
    /// The command that cannot start from a snapshot, if that is a matter of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    cold_command: Option<Option<usize>>,
    /// What was asked for.
    plan: Plan,
    /// The raw samples, if they were asked for.
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
            load: LoadDuring::of(report),
            warnings: during::warnings(report),
            primary: record.primary,
            ending: record.ending,
            layouts_left_out: &record.left_out,
            warm: during::warm(record),
            cold_command: record.cold.as_ref().filter(|_| plan.warm).map(|cold| cold.command),
            plan: choices(plan),
            samples: samples.then(|| Samples::of(record)),
        }
    }
}

/// The report as JSON, with the raw samples where `samples` says so: only then can it be judged again.
pub fn json(report: &Report, samples: bool) -> Value {
    codec::value(&SCHEMA, &Comparison::of(report, samples))
}

/// [`json`] as indented text that ends with a newline; what is small enough, and every block, stays on one line.
pub fn json_text(report: &Report, samples: bool) -> String {
    codec::text(&SCHEMA, &Comparison::of(report, samples))
}

/// The primary verdicts of a comparison, each with its sentence.
pub fn verdicts_json(report: &Report) -> Value {
    codec::part(&report.primary().map(|judgement| verdicts::stated(report, judgement)).collect::<Vec<_>>())
}
