//! What the log of a load experiment tells.

use serde::{Deserialize, Serialize};
use steady_model::{Ending, LoadRecord, LoadRow, Nanos};

/// What is known of a load experiment only at its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct LoadEnd {
    elapsed: Nanos,
    ending: Ending,
    failure: Option<String>,
}

impl LoadEnd {
    pub(super) fn of(record: &LoadRecord) -> Self {
        LoadEnd { elapsed: record.elapsed, ending: record.ending, failure: record.failure.clone() }
    }
}

/// The record of an experiment that began as `begun`; `None` where no row was measured. Where its end is not told, it was
/// killed: all rows that were whole.
pub(super) fn assemble(begun: LoadRecord, rows: Vec<LoadRow>, end: Option<LoadEnd>) -> Option<LoadRecord> {
    let last = rows.iter().map(|row| row.started + row.elapsed).max()?;
    let whole = begun.plan.procs.iter().all(|procs| rows.iter().any(|row| row.procs == *procs));
    // Killed after its last row, it had nothing left to measure.
    let ending = if whole { Ending::Spent } else { Ending::Interrupted };
    let end = end.unwrap_or(LoadEnd { elapsed: last, ending, failure: None });
    Some(LoadRecord { rows, elapsed: end.elapsed, ending: end.ending, failure: end.failure, ..begun })
}
