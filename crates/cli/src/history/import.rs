//! Imports records and logs into the history.
#![allow(clippy::print_stderr, reason = "errors of the import are printed immediately")]

use steady_feature::Record;
use steady_history::History;
use steady_process::log::{self, AbandonedLog};

use super::home::Home;
use super::run;
use crate::features;

/// Stores a run under the name of its log. Returns its number.
pub(super) fn insert(history: &mut History, log: &str, record: &dyn Record) -> Result<i64, String> {
    history.insert(log, &record.facts(), &run::export(record)).map_err(|error| error.to_string())
}

/// The record of the complete parts of a log.
pub(super) fn logged(text: &str) -> Option<Box<dyn Record>> {
    features::logs().find_map(|kind| (kind.read)(text))
}

/// Returns whether the log has an invalid line that is not the last.
fn is_garbled(text: &str) -> bool {
    log::is_garbled(text, |line| features::logs().any(|kind| (kind.is_line)(line)))
}

/// Returns whether the export of a record can be read again.
fn is_consistent(record: &dyn Record) -> bool {
    let kind = features::record_kind(record.facts().kind.name());
    kind.is_some_and(|kind| (kind.read)(&run::export(record)).is_ok())
}

/// Imports the logs of killed processes. If that fails, a notice says why, and the caller continues.
pub(super) fn or_warn(home: &Home, history: &mut History) {
    if let Err(why) = orphans(home, history) {
        crate::failure::notice(&format!("an earlier run is not imported into the history: {why}"));
    }
}

/// Imports the logs whose processes were killed, in the order in which they started. A log without complete parts is
/// removed. A log with invalid lines is set aside, so that the user can look at it.
fn orphans(home: &Home, history: &mut History) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("'{}': {error}", home.logs().display());
    let (mut all, mut done) = (vec![], Ok(()));
    for name in home.names_of_logs().map_err(failed)? {
        match orphan(home, name) {
            Ok(found) => all.extend(found),
            // The other logs are still imported.
            Err(error) => done = done.and(Err(failed(error))),
        }
    }
    all.sort_by_key(|one| one.record.facts().started);
    for Orphan { name, log, record, is_garbled } in all {
        insert(history, &name, &*record)?;
        let removed = if is_garbled { log.set_aside() } else { log.remove() };
        removed.map_err(failed)?;
    }
    done
}

/// The log of a killed process, with the record of its complete parts.
struct Orphan {
    name: String,
    log: AbandonedLog,
    record: Box<dyn Record>,
    is_garbled: bool,
}

/// Reads a log if its process was killed. `None` if it is still being written, or if it was removed or set aside.
fn orphan(home: &Home, name: String) -> std::io::Result<Option<Orphan>> {
    let Some(mut log) = AbandonedLog::lock(&home.logs().join(&name))? else { return Ok(None) };
    let text = log.text()?;
    let is_garbled = is_garbled(&text);
    match logged(&text) {
        Some(record) if is_consistent(&*record) => return Ok(Some(Orphan { name, log, record, is_garbled })),
        None if !is_garbled => log.remove()?,
        // The record of a garbled log may be inconsistent.
        Some(_) | None => log.set_aside()?,
    }
    Ok(None)
}
