//! Checks whether records may be joined: they must be of the same comparison, and each must be another run.

use steady_model::{FailIf, Plan, Record};
use thiserror::Error;

/// Why records cannot be joined.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum JoinError {
    /// The records are of different comparisons.
    #[error(
        "not the same comparison: {what} is {first} in '{first_source}' and {other} in '{other_source}'; each file must be an export of one comparison of the same commands"
    )]
    Differs {
        /// The property that differs.
        what: String,
        /// The property in the first source.
        first: String,
        /// The property in the other source.
        other: String,
        /// The name of the first source.
        first_source: String,
        /// The name of the other source.
        other_source: String,
    },
    /// Two records are of the same run.
    #[error(
        "'{first}' and '{other}' are the same run (seed {seed}), whose pairs must not count twice: give one of them"
    )]
    Twice {
        /// The name of one source.
        first: String,
        /// The name of the other source.
        other: String,
        /// The seed of both runs.
        seed: String,
    },
    /// A record has only one command.
    #[error("'{0}' measured a single command, so there is no verdict to join")]
    Alone(String),
}

/// Refuses records of different comparisons, and records of the same run.
pub(super) fn check(records: &[(String, Record)]) -> Result<(), JoinError> {
    let Some(((first_source, first), others)) = records.split_first() else { return Ok(()) };
    for (other_source, other) in others {
        if let Some((what, first, other)) = difference(first, other) {
            let (first_source, other_source) = (first_source.clone(), other_source.clone());
            return Err(JoinError::Differs { what, first, other, first_source, other_source });
        }
    }
    if first.plan.commands.len() < 2 {
        return Err(JoinError::Alone(first_source.clone()));
    }
    for (place, (other, record)) in records.iter().enumerate() {
        let same = |(_, one): &&(String, Record)| same_run(one, record);
        if let Some((first, _)) = records[..place].iter().find(same) {
            let seed = record.plan.seed.to_string();
            return Err(JoinError::Twice { first: first.clone(), other: other.clone(), seed });
        }
    }
    Ok(())
}

/// Returns whether two records are of one run: the same seed, started in the same second on hosts of the same name.
fn same_run(one: &Record, other: &Record) -> bool {
    let label = |record: &Record| (record.plan.seed.0, record.started, record.host.hostname.clone());
    label(one) == label(other)
}

/// The first property that differs although joined comparisons must share it, and its two values.
fn difference(one: &Record, other: &Record) -> Option<(String, String, String)> {
    let compare = |what: &str, one: String, other: String| (one != other).then(|| (what.to_owned(), one, other));
    let share = |ratio: f64| format!("{}%", (ratio * 1e8).round() / 1e6);
    let condition = |plan: &Plan| plan.fail_if.as_ref().map_or("not given".to_owned(), FailIf::to_string);
    let (a, b) = (&one.plan, &other.plan);
    compare("the number of commands", a.commands.len().to_string(), b.commands.len().to_string())
        .or_else(|| command(a, b))
        .or_else(|| compare("the primary metric", one.primary.name().to_owned(), other.primary.name().to_owned()))
        .or_else(|| compare("the list of custom metrics", metrics(a), metrics(b)))
        .or_else(|| compare("how runs were started", started(one), started(other)))
        .or_else(|| compare("--resolution", share(a.resolution), share(b.resolution)))
        .or_else(|| compare("--confidence", share(a.confidence), share(b.confidence)))
        .or_else(|| compare("--fail-if", condition(a), condition(b)))
        .or_else(|| compare("--require-verdict", a.require_verdict.to_string(), b.require_verdict.to_string()))
}

/// The custom metrics of a plan, as in `latency[ms], rate[1/s]`.
fn metrics(plan: &Plan) -> String {
    let each = plan.metrics.iter().map(|source| {
        let better = if source.more_is_better { ",more" } else { "" };
        format!("{}[{}{better}]", source.name, source.unit)
    });
    let all = each.collect::<Vec<_>>().join(", ");
    if all.is_empty() { "empty".to_owned() } else { all }
}

/// How runs were started. Comparisons with and without start-up cannot be joined.
fn started(record: &Record) -> String {
    match (record.is_warm(), record.has_draws()) {
        (true, _) => "from snapshots",
        (false, true) => "with --relink",
        (false, false) => "as usual",
    }
    .to_owned()
}

/// The first command that differs: in its name and also in its words or its variables, or in its revision.
fn command(a: &Plan, b: &Plan) -> Option<(String, String, String)> {
    a.commands.iter().zip(&b.commands).zip(1..).find_map(|((one, other), number)| {
        // Jobs may build in different directories. Their words and the paths in their variables differ then.
        let does_same = (&one.argv, &one.environment) == (&other.argv, &other.environment);
        if one.name != other.name && !does_same {
            return Some((format!("command {number}"), format!("'{}'", one.name), format!("'{}'", other.name)));
        }
        let (Some(first), Some(second)) = (&one.revision, &other.revision) else { return None };
        let what = format!("the revision of command {number}");
        (first != second).then(|| (what, first.clone(), second.clone()))
    })
}
