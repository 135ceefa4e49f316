//! Facts as a row of the table of runs, and back.

use rusqlite::types::FromSql;
use rusqlite::{Row, ToSql, named_params};
use steady_model::{Absent, Facts, Kept, Metric, Reading, Seed, Timestamp};

use crate::HistoryError;

pub(crate) const INSERT: &str = "INSERT INTO runs (log, started, hostname, hostname_absent, kernel, kernel_absent,
        revision, revision_absent, seed, commands, pairs, complete, metric, verdict)
    VALUES (:log, :started, :hostname, :hostname_absent, :kernel, :kernel_absent,
        :revision, :revision_absent, :seed, :commands, :pairs, :complete, :metric, :verdict)";

/// Hands the parameters of [`INSERT`] to `then`.
pub(crate) fn with_parameters<T>(log: &str, facts: &Facts, then: impl FnOnce(&[(&str, &dyn ToSql)]) -> T) -> T {
    let value = |reading: &Reading<String>| reading.clone().ok();
    let reason = |reading: &Reading<String>| reading.clone().err().map(|absent| absent.0);
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    then(named_params! {
        ":log": log,
        ":started": whole(facts.started.0),
        ":hostname": value(&facts.hostname),
        ":hostname_absent": reason(&facts.hostname),
        ":kernel": value(&facts.kernel),
        ":kernel_absent": reason(&facts.kernel),
        ":revision": value(&facts.revision),
        ":revision_absent": reason(&facts.revision),
        ":seed": facts.seed.to_string(),
        ":commands": serde_json::Value::from(facts.commands.clone()).to_string(),
        ":pairs": whole(facts.pairs as u64),
        ":complete": facts.complete,
        ":metric": facts.primary.name(),
        ":verdict": facts.verdict,
    })
}

/// The run in a row of `SELECT * FROM runs`. Whatever stands in it, it is read or refused.
pub(crate) fn read(row: &Row<'_>) -> Result<Kept, HistoryError> {
    let id = row.get("id")?;
    let facts = facts(row).map_err(|why| HistoryError::Damaged { id, why })?;
    Ok(Kept { id, facts })
}

fn facts(row: &Row<'_>) -> Result<Facts, String> {
    let metric: String = field(row, "metric")?;
    let commands: String = field(row, "commands")?;
    let number = |name: &str| field(row, name).and_then(|value: i64| u64::try_from(value).map_err(|e| said(name, e)));
    Ok(Facts {
        started: Timestamp(number("started")?),
        hostname: reading(row, "hostname")?,
        kernel: reading(row, "kernel")?,
        revision: reading(row, "revision")?,
        seed: Seed(field::<String>(row, "seed")?.parse().map_err(|error| said("seed", error))?),
        commands: serde_json::from_str(&commands).map_err(|error| said("commands", error))?,
        pairs: usize::try_from(number("pairs")?).map_err(|error| said("pairs", error))?,
        complete: field(row, "complete")?,
        primary: Metric::ALL
            .into_iter()
            .find(|known| known.name() == metric)
            .ok_or_else(|| said("metric", "none of that name"))?,
        verdict: field(row, "verdict")?,
    })
}

fn reading(row: &Row<'_>, name: &str) -> Result<Reading<String>, String> {
    match (field(row, name)?, field(row, &format!("{name}_absent"))?) {
        (Some(value), None) => Ok(Ok(value)),
        (None, Some(reason)) => Ok(Err(Absent(reason))),
        _ => Err(said(name, "neither a value nor a reason, or both")),
    }
}

fn field<T: FromSql>(row: &Row<'_>, name: &str) -> Result<T, String> {
    row.get(name).map_err(|error| said(name, error))
}

fn said(name: &str, why: impl std::fmt::Display) -> String {
    format!("{name}: {why}")
}
