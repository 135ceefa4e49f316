//! From reports and logs into the history.
#![allow(clippy::print_stderr, reason = "what is not imported is told at once")]

use steady_feature::Record;
use steady_history::History;
use steady_process::log::{self, Orphan};

use super::home::Home;
use super::run;
use crate::features;

/// Keeps a run under the name of its log; its number.
pub(super) fn insert(history: &mut History, log: &str, record: &dyn Record) -> Result<i64, String> {
    history.insert(log, &record.facts(), &run::export(record)).map_err(|error| error.to_string())
}

/// What is whole of what a log tells, judged.
pub(super) fn logged(text: &str) -> Option<Box<dyn Record>> {
    features::logs().find_map(|kind| (kind.read)(text))
}

/// Whether a line makes no sense in any log, and others follow it.
fn holds_more(text: &str) -> bool {
    log::is_garbled(text, |line| features::logs().any(|kind| (kind.is_line)(line)))
}

/// Imports what others left behind, or says why it cannot: whatever else is wanted of the history is done all the same.
pub(super) fn or_warn(home: &Home, history: &mut History) {
    if let Err(why) = orphans(home, history) {
        crate::failure::notice(&format!("an earlier run is not imported into the history: {why}"));
    }
}

/// Imports the logs whose owners are gone, killed before they could do it. Those that tell of nothing whole are removed;
/// one that makes no sense, or of which only the beginning does, is put aside, for somebody to look at.
fn orphans(home: &Home, history: &mut History) -> Result<(), String> {
    let said = |error: std::io::Error| format!("'{}': {error}", home.logs().display());
    for name in home.names_of_logs().map_err(said)? {
        let Some(mut orphan) = Orphan::take(&home.logs().join(&name)).map_err(said)? else { continue };
        let text = orphan.text().map_err(said)?;
        let Some(found) = logged(&text) else {
            let done = if holds_more(&text) { orphan.set_aside() } else { orphan.remove() };
            done.map_err(said)?;
            continue;
        };
        // A garbled log may tell what cannot be.
        if run::read(found.facts().kind, &run::export(&*found)).is_err() {
            orphan.set_aside().map_err(said)?;
            continue;
        }
        insert(history, &name, &*found)?;
        let done = if holds_more(&text) { orphan.set_aside() } else { orphan.remove() };
        done.map_err(said)?;
    }
    Ok(())
}
