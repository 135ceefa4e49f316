//! The log of a load experiment: everything measured, appended as it happens, so that a kill loses no more than the row in
//! flight. One JSON value a line.
//!
//! ```text
//! {"load_begun": {..the record, without rows..}}
//! {"row": ..}
//! {"load_ended": {..what is known only at the end..}}
//! ```

use serde::{Deserialize, Serialize};
use steady_model::{Ending, LoadRecord, LoadRow, Nanos};

/// A line, written and read.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    LoadBegun(Box<LoadRecord>),
    Row(Box<LoadRow>),
    LoadEnded(LoadEnd),
}

/// What is known of a load experiment only at its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LoadEnd {
    elapsed: Nanos,
    ending: Ending,
    failure: Option<String>,
}

/// The first line: the record before a row was measured.
pub fn begun(record: &LoadRecord) -> String {
    line(&Entry::LoadBegun(Box::new(record.clone())))
}

/// The line of a row that was measured.
pub fn row(row: &LoadRow) -> String {
    line(&Entry::Row(Box::new(row.clone())))
}

/// The last line. With it, a log gives exactly the record that was measured.
pub fn ended(record: &LoadRecord) -> String {
    line(&Entry::LoadEnded(LoadEnd { elapsed: record.elapsed, ending: record.ending, failure: record.failure.clone() }))
}

fn line(entry: &Entry) -> String {
    // Records have text for keys and nothing that can fail.
    serde_json::to_string(entry).unwrap_or_default()
}

/// Whether a line may stand in the log of a load experiment.
pub fn is_line(line: &str) -> bool {
    serde_json::from_str::<Entry>(line).is_ok()
}

/// The record in the text of a log; `None` where no row was measured, and for the log of something else. Without its last line
/// it was killed: all rows that were whole. A line that is not whole ends the log. No input makes it panic.
pub fn read(text: &str) -> Option<LoadRecord> {
    let mut entries = text.lines().map_while(|line| serde_json::from_str(line).ok());
    let Some(Entry::LoadBegun(mut record)) = entries.next() else { return None };
    let mut end = None;
    for entry in entries {
        match entry {
            Entry::Row(row) => record.rows.push(*row),
            Entry::LoadEnded(ended) => end = Some(ended),
            Entry::LoadBegun(_) => return None,
        }
    }
    let last = record.rows.iter().map(|row| row.started + row.elapsed).max()?;
    let whole = record.plan.procs.iter().all(|procs| record.rows.iter().any(|row| row.procs == *procs));
    // Killed after its last row, it had nothing left to measure.
    let ending = if whole { Ending::Spent } else { Ending::Interrupted };
    let end = end.unwrap_or(LoadEnd { elapsed: last, ending, failure: None });
    (record.elapsed, record.ending, record.failure) = (end.elapsed, end.ending, end.failure);
    Some(*record)
}
