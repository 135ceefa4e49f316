//! The JSON of joined comparisons.

use schemars::JsonSchema;
use serde::Serialize;
use steady_model::{
    Absent, Agreement, Command, Ending, Homogeneity, Host, Joined, Nanos, Reading, Seed, Source, Timestamp,
};
use steady_render::json::{self as codec, Schema};

use super::during::{Layouts, StatedWarning, budget, warnings};
use super::verdicts::{self, MetricVerdict};

/// The schema of [`JoinedComparisons`].
pub const JOINED_SCHEMA: Schema = Schema { name: "steady.judge/1", what: "joined comparisons" };

/// Joined comparisons as JSON: the joint verdicts in the form of `steady.compare`, the verdicts of each source, and
/// whether the sources agree.
#[derive(Serialize, JsonSchema)]
pub struct JoinedComparisons<'a> {
    #[serde(flatten)]
    plan: Option<JoinedPlan<'a>>,
    /// The sum of the times of all sources.
    elapsed_seconds: Nanos,
    /// The number of pairs in all sources.
    pairs: usize,
    /// The number of runs in these pairs.
    runs: usize,
    /// The joint verdicts on each command after the first, by each metric.
    verdicts: Vec<MetricVerdict<'a>>,
    /// Whether all sources have the same effect.
    agreement: Agreements<'a>,
    /// The comparisons that are joined.
    sources: Vec<JoinedSource<'a>>,
}

/// The part of the plan that all sources share.
#[derive(Serialize, JsonSchema)]
struct JoinedPlan<'a> {
    /// The commands. Other fields name a command by its index here, from 0.
    commands: Vec<JoinedCommand<'a>>,
    /// The relative change below which a difference is negligible.
    resolution_ratio: f64,
    /// One minus the error rate of the verdicts.
    confidence: f64,
}

/// A command of the joined comparisons.
#[derive(Serialize, JsonSchema)]
struct JoinedCommand<'a> {
    /// The name in reports.
    name: &'a str,
    /// The program and its arguments.
    argv: &'a [String],
    /// The revision that it was built from.
    revision: Option<&'a str>,
}

/// Whether all sources have the same effect.
#[derive(Serialize, JsonSchema)]
struct Agreements<'a> {
    /// Whether they agree on every command for which that can be tested.
    agree: Reading<bool>,
    /// The tests, one for each command after the first.
    commands: Vec<CommandAgreement<'a>>,
}

/// Cochran's test that the effect is the same in all sources.
#[derive(Serialize, JsonSchema)]
struct CommandAgreement<'a> {
    /// The index of the command.
    command: usize,
    /// Whether the sources differ by no more than chance explains.
    agree: Reading<bool>,
    /// The sum of the squared deviations from the joint effect.
    q: Reading<f64>,
    /// The number of sources with enough pairs, minus one.
    degrees_of_freedom: Reading<f64>,
    /// The probability of deviations at least as large if the effect is the same in all sources.
    p_value: Reading<f64>,
    /// The share of the variation that is beyond chance (I squared).
    i_squared_ratio: Reading<f64>,
    /// The indexes of the sources that stand out. Empty if the sources agree.
    outlying: &'a [usize],
}

/// One source: its file, machine and time, and its own verdicts.
#[derive(Serialize, JsonSchema)]
struct JoinedSource<'a> {
    /// The file that it was read from.
    file: &'a str,
    /// The seed of all random choices, in decimal.
    seed: Seed,
    /// The time of day when the comparison started. It is only a label.
    #[serde(serialize_with = "steady_render::timestamp::serialize")]
    #[schemars(with = "String")]
    started: Timestamp,
    /// Facts about the machine.
    host: &'a Host,
    /// The git revision of the working directory.
    revision: &'a Reading<String>,
    /// The maximum time to measure.
    budget_seconds: Reading<Nanos>,
    /// The time from the first warm-up run to the end.
    elapsed_seconds: Nanos,
    /// Why the measuring ended.
    ending: Ending,
    /// The number of pairs in each layout, and the time that they took.
    layouts: Layouts,
    /// The number of pairs.
    pairs: usize,
    /// The number of runs in these pairs.
    runs: usize,
    /// Its own verdicts by the primary metric.
    verdicts: Vec<MetricVerdict<'a>>,
    /// Warnings about its results.
    warnings: Vec<StatedWarning<'a>>,
}

impl<'a> JoinedComparisons<'a> {
    fn of(joined: &'a Joined) -> Self {
        let command = |command: &'a Command| JoinedCommand {
            name: &command.name,
            argv: &command.argv,
            revision: command.revision.as_deref(),
        };
        JoinedComparisons {
            plan: joined.plan().map(|plan| JoinedPlan {
                commands: plan.commands.iter().map(command).collect(),
                resolution_ratio: plan.resolution,
                confidence: plan.confidence,
            }),
            elapsed_seconds: joined.elapsed(),
            pairs: joined.blocks(),
            runs: joined.sources.iter().map(|source| source.report.runs()).sum(),
            verdicts: joined.judgements.iter().map(|judgement| verdicts::joined(joined, judgement)).collect(),
            agreement: Agreements::of(joined),
            sources: joined.sources.iter().map(JoinedSource::from).collect(),
        }
    }
}

impl<'a> Agreements<'a> {
    fn of(joined: &'a Joined) -> Self {
        let mut tested =
            joined.agreements.iter().filter_map(|agreement| agreement.homogeneity.as_ref().ok()).peekable();
        let agree = match tested.peek() {
            None => Err(Absent::because("fewer than two sources have enough pairs for the test")),
            Some(_) => Ok(tested.all(|found| found.agrees)),
        };
        Agreements { agree, commands: joined.agreements.iter().map(CommandAgreement::from).collect() }
    }
}

impl<'a> From<&'a Agreement> for CommandAgreement<'a> {
    fn from(agreement: &'a Agreement) -> Self {
        let found = agreement.homogeneity.as_ref();
        let number = |pick: fn(&Homogeneity) -> f64| found.map(pick).map_err(Absent::clone);
        CommandAgreement {
            command: agreement.command,
            agree: found.map(|found| found.agrees).map_err(Absent::clone),
            q: number(|found| found.q),
            degrees_of_freedom: number(|found| found.degrees_of_freedom as f64),
            p_value: number(|found| found.p_value),
            i_squared_ratio: number(|found| found.i_squared),
            outlying: found.map_or(&[], |found| &found.outlying),
        }
    }
}

impl<'a> From<&'a Source> for JoinedSource<'a> {
    fn from(source: &'a Source) -> Self {
        let (report, record) = (&source.report, &source.report.record);
        JoinedSource {
            file: &source.name,
            seed: record.plan.seed,
            started: record.started,
            host: &record.host,
            revision: &record.revision,
            budget_seconds: budget(&record.plan),
            elapsed_seconds: record.elapsed,
            ending: record.ending,
            layouts: Layouts::of(report),
            pairs: record.blocks.len(),
            runs: report.runs(),
            verdicts: report.primary().map(|judgement| verdicts::of(record, judgement)).collect(),
            warnings: warnings(report),
        }
    }
}

/// Joined comparisons as JSON: indented text that ends with a newline.
pub fn joined_json_text(joined: &Joined) -> String {
    codec::text(&JOINED_SCHEMA, &JoinedComparisons::of(joined))
}
