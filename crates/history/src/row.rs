//! Conversion of facts to and from rows of the table of runs, and compression of records to about a tenth.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use rusqlite::types::FromSql;
use rusqlite::{Row, ToSql, named_params};
use steady_model::{Absent, Facts, Kept, Metric, Reading, RunKind, Seed, Timestamp};

use crate::HistoryError;

pub(crate) const INSERT: &str = "INSERT INTO runs (log, kind, started, hostname, hostname_absent, kernel, kernel_absent,
        revision, revision_absent, seed, seed_absent, commands, pairs, pairs_absent, complete, metric, metric_absent, verdict)
    VALUES (:log, :kind, :started, :hostname, :hostname_absent, :kernel, :kernel_absent, :revision, :revision_absent,
        :seed, :seed_absent, :commands, :pairs, :pairs_absent, :complete, :metric, :metric_absent, :verdict)";

/// Calls `then` with the parameters of [`INSERT`].
pub(crate) fn with_parameters<T>(log: &str, facts: &Facts, then: impl FnOnce(&[(&str, &dyn ToSql)]) -> T) -> T {
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let [hostname, kernel, revision] =
        [&facts.hostname, &facts.kernel, &facts.revision].map(|reading| split(reading, String::clone));
    let seed = split(&facts.seed, Seed::to_string);
    let pairs = split(&facts.pairs, |pairs| whole(*pairs as u64));
    let metric = split(&facts.primary, |metric| metric.name().to_owned());
    then(named_params! {
        ":log": log,
        ":kind": facts.kind.name(),
        ":started": whole(facts.started.0),
        ":hostname": hostname.0,
        ":hostname_absent": hostname.1,
        ":kernel": kernel.0,
        ":kernel_absent": kernel.1,
        ":revision": revision.0,
        ":revision_absent": revision.1,
        ":seed": seed.0,
        ":seed_absent": seed.1,
        ":commands": serde_json::Value::from(facts.commands.clone()).to_string(),
        ":pairs": pairs.0,
        ":pairs_absent": pairs.1,
        ":complete": facts.complete,
        ":metric": metric.0,
        ":metric_absent": metric.1,
        ":verdict": facts.verdict,
    })
}

/// The two columns of a reading: its value, and the reason if it has none.
fn split<T, U>(reading: &Reading<T>, column: impl FnOnce(&T) -> U) -> (Option<U>, Option<&str>) {
    match reading {
        Ok(value) => (Some(column(value)), None),
        Err(absent) => (None, Some(&absent.0)),
    }
}

/// The columns that [`read`] expects, in this order. Finding columns by name would take longer than reading them.
pub(crate) const SELECT: &str = "SELECT id, kind, started, hostname, hostname_absent, kernel, kernel_absent, revision,
    revision_absent, seed, seed_absent, commands, pairs, pairs_absent, complete, metric, metric_absent, verdict FROM runs";

/// Reads the run in a row of [`SELECT`]. Any content is either read or refused with an error.
pub(crate) fn read(row: &Row<'_>) -> Result<Kept, HistoryError> {
    let id = row.get(0)?;
    let facts = facts(Cells { row, next: 1 }).map_err(|why| HistoryError::Damaged { id, why })?;
    Ok(Kept { id, facts })
}

fn facts(mut cells: Cells<'_, '_>) -> Result<Facts, String> {
    // In the order of the columns.
    Ok(Facts {
        kind: kind(&cells.take::<String>("kind")?)?,
        started: Timestamp(cells.number("started")?),
        hostname: cells.reading("hostname")?,
        kernel: cells.reading("kernel")?,
        revision: cells.reading("revision")?,
        seed: converted(cells.reading::<String>("seed")?, |seed| {
            seed.parse().map(Seed).map_err(|error| invalid("seed", error))
        })?,
        commands: serde_json::from_str(&cells.take::<String>("commands")?)
            .map_err(|error| invalid("commands", error))?,
        pairs: converted(cells.reading::<i64>("pairs")?, |pairs| {
            usize::try_from(pairs).map_err(|error| invalid("pairs", error))
        })?,
        complete: cells.take("complete")?,
        primary: converted(cells.reading::<String>("metric")?, |name| metric(&name))?,
        verdict: cells.take("verdict")?,
    })
}

/// Converts the value of a reading. An error if the value is invalid.
fn converted<T, U>(reading: Reading<T>, value: impl FnOnce(T) -> Result<U, String>) -> Result<Reading<U>, String> {
    match reading {
        Ok(found) => value(found).map(Ok),
        Err(absent) => Ok(Err(absent)),
    }
}

fn kind(name: &str) -> Result<RunKind, String> {
    RunKind::parse(name).ok_or_else(|| invalid("kind", "not a name"))
}

fn metric(name: &str) -> Result<Metric, String> {
    Metric::named(name).ok_or_else(|| invalid("metric", "not a name"))
}

/// Reads the cells of a row one after the other.
struct Cells<'a, 'b> {
    row: &'a Row<'b>,
    next: usize,
}

impl Cells<'_, '_> {
    fn take<T: FromSql>(&mut self, name: &str) -> Result<T, String> {
        let index = self.next;
        self.next += 1;
        self.row.get(index).map_err(|error| invalid(name, error))
    }

    fn number(&mut self, name: &str) -> Result<u64, String> {
        let value: i64 = self.take(name)?;
        u64::try_from(value).map_err(|error| invalid(name, error))
    }

    /// Reads two cells: a value, and the reason if there is none.
    fn reading<T: FromSql>(&mut self, name: &str) -> Result<Reading<T>, String> {
        match (self.take::<Option<T>>(name)?, self.take(name)?) {
            (Some(value), None) => Ok(Ok(value)),
            (None, Some(reason)) => Ok(Err(Absent(reason))),
            _ => Err(invalid(name, "neither a value nor a reason, or both")),
        }
    }
}

fn invalid(name: &str, why: impl std::fmt::Display) -> String {
    format!("{name}: {why}")
}

/// Compresses a text at the fastest level, because the user waits.
pub(crate) fn pack(text: &str) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    // Writing to a vector cannot fail.
    let _ = encoder.write_all(text.as_bytes());
    encoder.finish().unwrap_or_default()
}

/// Decompresses a text and verifies its checksum.
pub(crate) fn unpack(bytes: &[u8]) -> io::Result<String> {
    let mut text = String::new();
    ZlibDecoder::new(bytes).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn compressed_text_is_restored(text in ".*") {
            prop_assert_eq!(unpack(&pack(&text)).unwrap(), text);
        }

        #[test]
        fn garbage_causes_no_panic(bytes in any::<Vec<u8>>()) {
            // The result is not checked, because random bytes may be a valid stream.
            let _ = unpack(&bytes);
        }

        #[test]
        fn a_changed_byte_is_detected(text in ".{20,}", place in any::<prop::sample::Index>(), by in 1u8..) {
            let mut packed = pack(&text);
            let at = place.index(packed.len());
            packed[at] ^= by;
            prop_assert!(unpack(&packed).map_or(true, |found| found == text));
        }
    }
}
