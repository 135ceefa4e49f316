//! The log of a load experiment: all measurements, appended after each row, so a kill loses at most the current row.
//! Each line is one JSON value.
//!
//! ```text
//! {"load_begun": {..plan, machine and other facts known before the first row..}}
//! {"row": ..}
//! {"load_ended": {..facts known only at the end..}}
//! ```
//!
//! Logs of earlier versions have other names for some fields, and further fields in the first line.

use serde::{Deserialize, Serialize};
use steady_model::{Ending, Host, Machine, Nanos, Reading, Seed, Timestamp};

use crate::run::LoadContext;
use crate::{LoadPlan, LoadRecord, LoadRow};

/// A line of the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    LoadBegun(Box<LoadBeginning>),
    Row(Box<LoadRow>),
    LoadEnded(LoadEnd),
}

/// Facts that are known before the first row.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LoadBeginning {
    plan: SeededPlan,
    started: Timestamp,
    host: Host,
    machine: Machine,
    revision: Reading<String>,
    poll_cost: Reading<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SeededPlan {
    #[serde(flatten)]
    plan: LoadPlan,
    seed: Seed,
}

/// Facts that are known only at the end.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LoadEnd {
    elapsed: Nanos,
    ending: Ending,
    failure: Option<String>,
}

impl From<LoadBeginning> for LoadRecord {
    fn from(begun: LoadBeginning) -> Self {
        let LoadBeginning { plan, started, host, machine, revision, poll_cost } = begun;
        LoadRecord::begun(plan.plan, plan.seed, LoadContext { host, machine, started, revision }, poll_cost)
    }
}

/// Formats the first line: the facts known before the first row.
pub fn begun(record: &LoadRecord) -> String {
    line(&Entry::LoadBegun(Box::new(LoadBeginning {
        plan: SeededPlan { plan: record.plan.clone(), seed: record.seed },
        started: record.started,
        host: record.host.clone(),
        machine: record.machine.clone(),
        revision: record.revision.clone(),
        poll_cost: record.poll_cost.clone(),
    })))
}

/// Formats the line of a measured row.
pub fn row(row: &LoadRow) -> String {
    line(&Entry::Row(Box::new(row.clone())))
}

/// Formats the last line. A log with this line contains the complete record.
pub fn ended(record: &LoadRecord) -> String {
    line(&Entry::LoadEnded(LoadEnd { elapsed: record.elapsed, ending: record.ending, failure: record.failure.clone() }))
}

fn line(entry: &Entry) -> String {
    // Serializing cannot fail: all keys are strings.
    serde_json::to_string(entry).unwrap_or_default()
}

/// Returns whether a line belongs to the log of a load experiment.
pub fn is_line(line: &str) -> bool {
    serde_json::from_str::<Entry>(line).is_ok()
}

/// Reads the record from a log. Returns `None` if it has no row, or is the log of something else. A log without its
/// last line is of a killed experiment and gives the complete rows. An incomplete line ends the log. No input makes
/// this panic.
pub fn read(text: &str) -> Option<LoadRecord> {
    let mut entries = text.lines().map_while(|line| serde_json::from_str(line).ok());
    let Some(Entry::LoadBegun(begun)) = entries.next() else { return None };
    let mut record = LoadRecord::from(*begun);
    let mut end = None;
    for entry in entries {
        match entry {
            Entry::Row(row) => record.rows.push(LoadRow { order: record.rows.len(), ..*row }),
            Entry::LoadEnded(ended) => end = Some(ended),
            Entry::LoadBegun(_) => return None,
        }
    }
    let last = record.rows.iter().map(|row| row.started + row.elapsed).max()?;
    let whole = record.plan.procs.iter().all(|procs| record.rows.iter().any(|row| row.procs == *procs));
    // An experiment that was killed after its last row is complete.
    let ending = if whole { Ending::Spent } else { Ending::Interrupted };
    let end = end.unwrap_or(LoadEnd { elapsed: last, ending, failure: None });
    (record.elapsed, record.ending, record.failure) = (end.elapsed, end.ending, end.failure);
    record.rows.sort_by_key(|row| row.procs);
    Some(record)
}
