//! From reports and logs into the history.
#![allow(clippy::print_stderr, reason = "what is not imported is told at once")]

use steady_experiments::judge;
use steady_experiments::log::Orphan;
use steady_history::History;
use steady_model::{Facts, Report};
use steady_report::{json_text, read_record, summary};

use super::home::Home;
use super::keeper::has_whole_pair;

/// Keeps a report under the name of its log; its number.
pub(super) fn insert(history: &mut History, log: &str, report: &Report) -> Result<i64, String> {
    let facts = Facts::of(report, summary(report));
    history.insert(log, &facts, &json_text(report, true)).map_err(|error| error.to_string())
}

/// Imports what others left behind, or says why it cannot: whatever else is wanted of the history is done all the same.
pub(super) fn or_warn(home: &Home, history: &mut History) {
    if let Err(why) = orphans(home, history) {
        eprintln!("steady: an earlier comparison is not imported into the history: {why}");
    }
}

/// Imports the logs whose owners are gone, killed before they could do it. Those without a whole pair are removed;
/// one that makes no sense is put aside, for somebody to look at.
fn orphans(home: &Home, history: &mut History) -> Result<(), String> {
    let said = |error: std::io::Error| format!("'{}': {error}", home.logs().display());
    for name in home.names_of_logs().map_err(said)? {
        let Some(mut orphan) = Orphan::take(&home.logs().join(&name)).map_err(said)? else { continue };
        let Some(record) = orphan.record().map_err(said)?.filter(has_whole_pair) else {
            orphan.remove().map_err(said)?;
            continue;
        };
        let report = judge(record);
        // A garbled log may tell what cannot be.
        if read_record(&json_text(&report, true)).is_err() {
            orphan.set_aside().map_err(said)?;
            continue;
        }
        insert(history, &name, &report)?;
        orphan.remove().map_err(said)?;
    }
    Ok(())
}
