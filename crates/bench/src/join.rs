//! Joins the parts of a suite that were measured with `--shard`.

use std::collections::BTreeSet;

use steady_model::{Absent, Activity, Ending};

use crate::judge::judged;
use crate::record::SuiteRecord;

/// Joins the exports of parts of one suite.
///
/// # Errors
/// They are not parts of one suite, or contain the same benchmark twice. The error is for the user.
pub(crate) fn joined(texts: &[String]) -> Result<SuiteRecord, String> {
    let each = texts.iter().map(|text| SuiteRecord::read(text).map_err(|error| error.to_string()));
    let records = each.collect::<Result<Vec<_>, _>>()?;
    let mut all = records.into_iter();
    let first = all.next().ok_or("there are no files")?;
    let joined = all.try_fold(first, with)?;
    match missing_part(&joined) {
        Some(part) => Err(format!("the part {part} is missing: give the exports of all parts")),
        None => Ok(judged(joined)),
    }
}

/// A part of the suite that is not among those that were joined.
fn missing_part(joined: &SuiteRecord) -> Option<String> {
    let present: BTreeSet<&str> = joined.shard.as_deref()?.split(", ").collect();
    let (_, parts) = present.first()?.split_once('/')?;
    let each = (1..=parts.parse::<usize>().ok()?).map(|part| format!("{part}/{parts}"));
    each.into_iter().find(|part| !present.contains(part.as_str()))
}

/// Adds a part to others.
fn with(one: SuiteRecord, other: SuiteRecord) -> Result<SuiteRecord, String> {
    let same = [
        ("harness", one.harness == other.harness),
        ("old build", one.old == other.old),
        ("new build", one.new == other.new),
        ("metrics", one.metrics == other.metrics && one.compared == other.compared),
        ("memory layout (--draws)", one.draws == other.draws),
        ("number of benchmarks", one.suite == other.suite),
        ("resolution", one.resolution_ratio == other.resolution_ratio),
        ("confidence", one.confidence == other.confidence && one.error == other.error),
        ("condition", one.fail_if == other.fail_if && one.require_verdict == other.require_verdict),
    ];
    if let Some((what, _)) = same.iter().find(|(_, is_same)| !is_same) {
        return Err(format!("the files are not parts of one suite: the {what} differs"));
    }
    let names: BTreeSet<&str> = one.benchmarks.iter().map(|benchmark| benchmark.name.as_str()).collect();
    if let Some(twice) = other.benchmarks.iter().find(|benchmark| names.contains(benchmark.name.as_str())) {
        return Err(format!("two files have the benchmark '{}': only parts of one suite can be joined", twice.name));
    }
    let several = || Err(Absent::because("the parts were measured separately"));
    Ok(SuiteRecord {
        started: one.started.min(other.started),
        budget_seconds: one.budget_seconds + other.budget_seconds,
        elapsed_seconds: one.elapsed_seconds + other.elapsed_seconds,
        shard: one.shard.zip(other.shard).map(|(one, other)| format!("{one}, {other}")),
        benchmarks: one.benchmarks.into_iter().chain(other.benchmarks).collect(),
        unmeasured: one.unmeasured.into_iter().chain(other.unmeasured).collect(),
        activity: Activity {
            steal_ratio: several(),
            pressure: several(),
            busy_ratio: several(),
            throttled_ratio: several(),
        },
        ending: if [one.ending, other.ending].contains(&Ending::Interrupted) {
            Ending::Interrupted
        } else {
            one.ending
        },
        ..one
    })
}
