//! The JSON of several comparisons joined into one.

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

/// Comparisons joined, as JSON: the verdicts of all together as `steady.compare` has them, each source with its own, and whether
/// they agree.
#[derive(Serialize, JsonSchema)]
pub struct JoinedComparisons<'a> {
    #[serde(flatten)]
    plan: Option<JoinedPlan<'a>>,
    /// How long all sources took, one after the other.
    elapsed_seconds: Nanos,
    /// How many pairs they hold.
    pairs: usize,
    /// How many runs those hold.
    runs: usize,
    /// What was found of each command besides the first, by each metric.
    verdicts: Vec<MetricVerdict>,
    /// Whether all sources found one effect.
    agreement: Agreements<'a>,
    /// The comparisons.
    sources: Vec<JoinedSource<'a>>,
}

/// What all sources have in common.
#[derive(Serialize, JsonSchema)]
struct JoinedPlan<'a> {
    /// The commands. Elsewhere they are named by their place here, from 0 on.
    commands: Vec<JoinedCommand<'a>>,
    /// The relative change that is as good as none.
    resolution_ratio: f64,
    /// One less the error rate that the verdicts may have.
    confidence: f64,
}

/// A command.
#[derive(Serialize, JsonSchema)]
struct JoinedCommand<'a> {
    /// What reports call it.
    name: &'a str,
    /// The words that it is started with.
    argv: &'a [String],
    /// The revision that it was built from.
    revision: Option<&'a str>,
}

/// Whether all sources found one effect.
#[derive(Serialize, JsonSchema)]
struct Agreements<'a> {
    /// Whether they agree on every command for which that can be tested.
    agree: Reading<bool>,
    /// The tests, one for each command besides the first.
    commands: Vec<CommandAgreement<'a>>,
}

/// Cochran's test that the effect is the same in all sources.
#[derive(Serialize, JsonSchema)]
struct CommandAgreement<'a> {
    /// Which command.
    command: usize,
    /// Whether nothing beyond chance lies between them.
    agree: Reading<bool>,
    /// The sum of the squared deviations from the joint effect.
    q: Reading<f64>,
    /// One less than there are sources with enough pairs.
    degrees_of_freedom: Reading<f64>,
    /// The probability of deviations as large, were the effect the same.
    p_value: Reading<f64>,
    /// The share of the deviations beyond chance (I squared).
    i_squared_ratio: Reading<f64>,
    /// Where they differ: the sources that stand out, by their place.
    outlying: &'a [usize],
}

/// One source: where and when, and what it says by itself.
#[derive(Serialize, JsonSchema)]
struct JoinedSource<'a> {
    /// The file that it was read from.
    file: &'a str,
    /// The seed of all coins, in decimal.
    seed: Seed,
    /// When it was begun: a label.
    #[serde(serialize_with = "steady_render::timestamp::serialize")]
    #[schemars(with = "String")]
    started: Timestamp,
    /// Where.
    host: &'a Host,
    /// The git revision of the directory that it ran in.
    revision: &'a Reading<String>,
    /// How long it was to measure in all.
    budget_seconds: Reading<Nanos>,
    /// From the first warm-up run to the end.
    elapsed_seconds: Nanos,
    /// Why the measuring ended.
    ending: Ending,
    /// How many pairs each layout has, and how long they took.
    layouts: Layouts,
    /// How many pairs there are.
    pairs: usize,
    /// How many runs they hold.
    runs: usize,
    /// Its own verdicts by the primary metric.
    verdicts: Vec<MetricVerdict>,
    /// What a reader should know of it.
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
            verdicts: joined.judgements.iter().map(verdicts::joined).collect(),
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
            None => Err(Absent::because("fewer than two sources have pairs enough to tell")),
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
            verdicts: report.primary().map(MetricVerdict::from).collect(),
            warnings: warnings(report),
        }
    }
}

/// Joined comparisons as JSON: indented text that ends with a newline.
pub fn joined_json_text(joined: &Joined) -> String {
    codec::text(&JOINED_SCHEMA, &JoinedComparisons::of(joined))
}
