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
    let mut all = vec![];
    for name in home.names_of_logs().map_err(failed)? {
        let Some(mut orphan) = AbandonedLog::lock(&home.logs().join(&name)).map_err(failed)? else { continue };
        let text = orphan.text().map_err(failed)?;
        let Some(found) = logged(&text) else {
            let done = if is_garbled(&text) { orphan.set_aside() } else { orphan.remove() };
            done.map_err(failed)?;
            continue;
        };
        // The record of a garbled log may be inconsistent.
        if !is_consistent(&*found) {
            orphan.set_aside().map_err(failed)?;
            continue;
        }
        all.push((found, name, orphan, is_garbled(&text)));
    }
    all.sort_by_key(|(found, ..)| found.facts().started);
    for (found, name, orphan, is_garbled) in all {
        insert(history, &name, &*found)?;
        let done = if is_garbled { orphan.set_aside() } else { orphan.remove() };
        done.map_err(failed)?;
    }
    Ok(())
}
