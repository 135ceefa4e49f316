//! Evaluates a record. This is a pure function: the same record always gives the same digits.

mod breakdown;
mod evidence;
pub(crate) mod files;
mod join;
mod load;
mod ranking;
mod startups;
mod status;
mod verdicts;
mod warnings;

pub use evidence::with_least_pairs;
pub(crate) use evidence::{Evidence, Failures, least_pairs, least_runs};
pub use join::{JoinError, join};
pub(crate) use load::with_run_delay;
pub(crate) use status::{state, status, untested};
pub(crate) use warnings::{about_runs as warnings_about_runs, shim};

use std::collections::BTreeMap;

use steady_model::{Absent, Metric, Reading, Record, Report};

/// Computes the report of a record: verdicts, breakdowns, load and warnings.
pub fn judge(record: Record) -> Report {
    let (judgements, course) = verdicts::judgements(&record);
    let ranking = ranking::ranking(&record, &judgements);
    let breakdowns = breakdown::breakdowns(&record);
    let warnings = warnings::warnings(&record, &judgements);
    let startups = startups::startups(&record);
    Report { load: load::load(&record), startups, judgements, ranking, course, breakdowns, warnings, record }
}

/// The most frequent reason why runs of a command have no value of a metric. A reason may contain a number that varies
/// between runs.
fn usual_reason(record: &Record, metric: Metric, command: usize) -> Option<Absent> {
    let blocks = record.blocks.iter().filter(|block| verdicts::serves(metric, block.layout));
    let runs = blocks.flat_map(|block| &block.runs).filter(|run| run.command == command);
    let mut counts = BTreeMap::<String, usize>::new();
    runs.map(|run| run.cost(metric)).filter_map(Reading::err).for_each(|why| *counts.entry(why.0).or_default() += 1);
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(why, _)| Absent::because(why))
}
