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

/// The columns that [`read`] takes, in its order: to find them by name would take longer than to read them.
pub(crate) const SELECT: &str = "SELECT id, started, hostname, hostname_absent, kernel, kernel_absent, revision,
    revision_absent, seed, commands, pairs, complete, metric, verdict FROM runs";

/// The run in a row of [`SELECT`]. Whatever stands in it, it is read or refused.
pub(crate) fn read(row: &Row<'_>) -> Result<Kept, HistoryError> {
    let id = row.get(0)?;
    let facts = facts(Cells { row, next: 1 }).map_err(|why| HistoryError::Damaged { id, why })?;
    Ok(Kept { id, facts })
}

fn facts(mut cells: Cells<'_, '_>) -> Result<Facts, String> {
    // In the order of the columns.
    Ok(Facts {
        started: Timestamp(cells.number("started")?),
        hostname: cells.reading("hostname")?,
        kernel: cells.reading("kernel")?,
        revision: cells.reading("revision")?,
        seed: Seed(cells.take::<String>("seed")?.parse().map_err(|error| said("seed", error))?),
        commands: serde_json::from_str(&cells.take::<String>("commands")?).map_err(|error| said("commands", error))?,
        pairs: usize::try_from(cells.number("pairs")?).map_err(|error| said("pairs", error))?,
        complete: cells.take("complete")?,
        primary: metric(&cells.take::<String>("metric")?)?,
        verdict: cells.take("verdict")?,
    })
}

fn metric(name: &str) -> Result<Metric, String> {
    let found = Metric::ALL.into_iter().find(|known| known.name() == name);
    found.ok_or_else(|| said("metric", "none of that name"))
}

/// The cells of a row, one after the other.
struct Cells<'a, 'b> {
    row: &'a Row<'b>,
    next: usize,
}

impl Cells<'_, '_> {
    fn take<T: FromSql>(&mut self, name: &str) -> Result<T, String> {
        let index = self.next;
        self.next += 1;
        self.row.get(index).map_err(|error| said(name, error))
    }

    fn number(&mut self, name: &str) -> Result<u64, String> {
        let value: i64 = self.take(name)?;
        u64::try_from(value).map_err(|error| said(name, error))
    }

    /// A value, and beside it the reason why there is none.
    fn reading(&mut self, name: &str) -> Result<Reading<String>, String> {
        match (self.take(name)?, self.take(name)?) {
            (Some(value), None) => Ok(Ok(value)),
            (None, Some(reason)) => Ok(Err(Absent(reason))),
            _ => Err(said(name, "neither a value nor a reason, or both")),
        }
    }
}

fn said(name: &str, why: impl std::fmt::Display) -> String {
    format!("{name}: {why}")
}
