//! The log of a load experiment: everything measured, appended as it happens, so that a kill loses no more than the row in
//! flight. One JSON value a line.
//!
//! ```text
//! {"load_begun": {..plan, machine and what else is known before the first row..}}
//! {"row": ..}
//! {"load_ended": {..what is known only at the end..}}
//! ```
//!
//! Logs of earlier versions have other names for some fields, and further fields at the beginning.

use serde::{Deserialize, Serialize};
use steady_model::{Ending, Host, Machine, Nanos, Reading, Seed, Timestamp};

use crate::run::Setting;
use crate::{LoadPlan, LoadRecord, LoadRow};

/// A line, written and read.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    LoadBegun(Box<LoadBeginning>),
    Row(Box<LoadRow>),
    LoadEnded(LoadEnd),
}

/// What is known of a load experiment before its first row.
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

/// What is known of a load experiment only at its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LoadEnd {
    elapsed: Nanos,
    ending: Ending,
    failure: Option<String>,
}

impl From<LoadBeginning> for LoadRecord {
    fn from(begun: LoadBeginning) -> Self {
        let LoadBeginning { plan, started, host, machine, revision, poll_cost } = begun;
        LoadRecord::begun(plan.plan, plan.seed, Setting { host, machine, started, revision }, poll_cost)
    }
}

/// The first line: what is known before a row was measured.
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
    // Killed after its last row, it had nothing left to measure.
    let ending = if whole { Ending::Spent } else { Ending::Interrupted };
    let end = end.unwrap_or(LoadEnd { elapsed: last, ending, failure: None });
    (record.elapsed, record.ending, record.failure) = (end.elapsed, end.ending, end.failure);
    record.rows.sort_by_key(|row| row.procs);
    Some(record)
}
