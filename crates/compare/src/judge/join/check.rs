//! Whether records may be joined: of one comparison, and each there once.

use steady_model::{FailIf, Plan, Record};
use thiserror::Error;

/// Why records cannot be joined.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum JoinError {
    /// They are not of the same comparison.
    #[error("not the same comparison: {what} is {first} in '{first_source}' and {other} in '{other_source}'")]
    Differs {
        /// What differs.
        what: String,
        /// What it is in the first source.
        first: String,
        /// What it is in the other.
        other: String,
        /// The first source's name.
        first_source: String,
        /// The other's.
        other_source: String,
    },
    /// The same run is there twice.
    #[error("'{first}' and '{other}' are the same run (seed {seed}); evidence must not be counted twice")]
    Twice {
        /// A source's name.
        first: String,
        /// The name of the one that is the same.
        other: String,
        /// The seed of both.
        seed: String,
    },
    /// A command alone is compared with nothing.
    #[error("'{0}' measured one command alone, and there is nothing to join")]
    Alone(String),
}

/// Whether all are of one comparison, and none is there twice.
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

/// Two comparisons by the same coins, begun in the same second on hosts of the same name, are one.
fn same_run(one: &Record, other: &Record) -> bool {
    let label = |record: &Record| (record.plan.seed.0, record.started, record.host.hostname.clone());
    label(one) == label(other)
}

/// The first thing in which two comparisons differ that they must have in common, and what it is in each.
fn difference(one: &Record, other: &Record) -> Option<(String, String, String)> {
    let told = |what: &str, one: String, other: String| (one != other).then(|| (what.to_owned(), one, other));
    let share = |ratio: f64| format!("{}%", (ratio * 1e8).round() / 1e6);
    let condition = |plan: &Plan| plan.fail_if.as_ref().map_or("not given".to_owned(), FailIf::to_string);
    let (a, b) = (&one.plan, &other.plan);
    told("the number of commands", a.commands.len().to_string(), b.commands.len().to_string())
        .or_else(|| command(a, b))
        .or_else(|| told("the primary metric", one.primary.name().to_owned(), other.primary.name().to_owned()))
        .or_else(|| told("how runs were started", started(one), started(other)))
        .or_else(|| told("--resolution", share(a.resolution), share(b.resolution)))
        .or_else(|| told("--confidence", share(a.confidence), share(b.confidence)))
        .or_else(|| told("--fail-if", condition(a), condition(b)))
        .or_else(|| told("--require-verdict", a.require_verdict.to_string(), b.require_verdict.to_string()))
}

/// Without start-up another thing is compared.
fn started(record: &Record) -> String {
    if record.is_warm() { "from snapshots" } else { "as usual" }.to_owned()
}

/// The first command that is another: by its name and its words, or by its revision.
fn command(a: &Plan, b: &Plan) -> Option<(String, String, String)> {
    a.commands.iter().zip(&b.commands).zip(1..).find_map(|((one, other), number)| {
        if one.name != other.name && one.argv != other.argv {
            return Some((format!("command {number}"), format!("'{}'", one.name), format!("'{}'", other.name)));
        }
        let (Some(first), Some(second)) = (&one.revision, &other.revision) else { return None };
        let what = format!("the revision of command {number}");
        (first != second).then(|| (what, first.clone(), second.clone()))
    })
}
