//! The experiment: runs the rows of a plan in a random order, and reports each as soon as it has ended. Rows run behind
//! a trait, so that tests run experiments without processes.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;
use steady_model::{Absent, Ending, Host, Machine, Nanos, Outcome, Reading, Seed, Timestamp};
use steady_process::runner::how;
use thiserror::Error;

use crate::{LoadPlan, LoadRecord, LoadRow, LoadWork, processes};

/// The circumstances of an experiment.
#[derive(Clone, Debug)]
pub struct LoadContext {
    /// The host that it runs on.
    pub host: Host,
    /// The CPUs of the host.
    pub machine: Machine,
    /// Time of day at which it starts.
    pub started: Timestamp,
    /// Git revision of the directory that it runs in.
    pub revision: Reading<String>,
}

/// An event of a running experiment.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The experiment starts; with the record before the first row.
    Begun(Box<LoadRecord>),
    /// A row of concurrent processes starts.
    RowBegun {
        /// Number of concurrent processes.
        procs: u32,
    },
    /// The current row has made progress.
    Progressed {
        /// Time since the start of the row.
        passed: Nanos,
    },
    /// A row has ended.
    RowEnded(Box<LoadRow>),
}

/// The result of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The record with the complete rows.
    pub record: LoadRecord,
    /// The error that ended it before the last row.
    pub stopped: Option<LoadError>,
}

/// Runs the experiment of `plan`, with its rows in an order that `seed` determines. The record contains all complete
/// rows, even after an error.
pub fn measure<R: LoadRunner>(
    plan: &LoadPlan,
    seed: Seed,
    context: LoadContext,
    runner: &mut R,
    events: &mut dyn FnMut(Event),
) -> Measured {
    let poll_cost = poll_cost(&plan.work, runner);
    let mut record = LoadRecord::begun(plan.clone(), seed, context, poll_cost);
    events(Event::Begun(Box::new(record.clone())));
    let mut stopped = None;
    for procs in order(&plan.procs, seed) {
        events(Event::RowBegun { procs });
        match runner.row(procs, &mut |passed| events(Event::Progressed { passed })) {
            Ok(row) => {
                let row = LoadRow { order: record.rows.len(), ..row };
                events(Event::RowEnded(Box::new(row.clone())));
                record.rows.push(row);
            }
            Err(error) => {
                stopped = Some(error);
                break;
            }
        }
    }
    record.elapsed = elapsed(&record.rows);
    record.rows.sort_by_key(|row| row.procs);
    match &stopped {
        None => record.ending = Ending::Spent,
        Some(LoadError::Interrupted) => {}
        Some(error) => record.failure = Some(error.to_string()),
    }
    Measured { record, stopped }
}

fn poll_cost<R: LoadRunner>(work: &LoadWork, runner: &mut R) -> Reading<f64> {
    match work {
        LoadWork::Hash { poll: Some(every), .. } => runner.poll_cost(*every),
        _ => Err(Absent::because("no thread polls")),
    }
}

/// Returns the rows in random order, so that a drift of the machine does not look like an effect of their numbers.
fn order(procs: &[u32], seed: Seed) -> Vec<u32> {
    let mut order = procs.to_vec();
    order.shuffle(&mut ChaCha12Rng::seed_from_u64(seed.0));
    order
}

/// Returns the time from the start of the first row to the end of the last.
fn elapsed(rows: &[LoadRow]) -> Nanos {
    let begun = rows.iter().map(|row| row.started).min().unwrap_or_default();
    rows.iter().map(|row| row.started + row.elapsed).max().unwrap_or_default() - begun
}

/// Why a row could not be measured.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LoadError {
    /// The user interrupted the experiment.
    #[error("interrupted")]
    Interrupted,
    /// Not all processes could be started.
    #[error("only {started} of {procs} processes could be started: {reason}")]
    Refused {
        /// Number of processes in the row.
        procs: u32,
        /// Number of processes that could be started.
        started: u32,
        /// The error of the system, and the limit that may have caused it.
        reason: String,
    },
    /// The user's command could not be started.
    #[error("the command could not be started: {0}")]
    CannotStart(String),
    /// A run of the user's command failed.
    #[error("the command {} in the row of {}", how(.outcome), processes(.procs))]
    CommandFailed {
        /// Number of concurrent processes.
        procs: u32,
        /// How this run ended.
        outcome: Outcome,
    },
    /// A process ended before its work was done.
    #[error("one of {procs} processes {} before its work was done", how(.outcome))]
    WorkerLost {
        /// Number of concurrent processes.
        procs: u32,
        /// How the process ended.
        outcome: Outcome,
    },
    /// The leader ended unexpectedly, or could not be started.
    #[error("the leader process of a row was lost: {0}")]
    LeaderLost(String),
}

/// Runs the rows of an experiment.
pub trait LoadRunner {
    /// Measures the CPU time per second of a thread that reads the CPU clock of its process at this interval.
    fn poll_cost(&mut self, every: Nanos) -> Reading<f64>;

    /// Runs a row of concurrent processes until all have done their work. Calls `progress` now and then with the time
    /// since the start of the row.
    ///
    /// # Errors
    /// See [`LoadError`]. Nothing of the row counts then, and none of its processes is left.
    fn row(&mut self, procs: u32, progress: &mut dyn FnMut(Nanos)) -> Result<LoadRow, LoadError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_determines_a_random_order() {
        let procs: Vec<u32> = (1..=32).collect();
        let shuffled = order(&procs, Seed(1));
        assert_eq!(shuffled, order(&procs, Seed(1)));
        assert_ne!(shuffled, order(&procs, Seed(2)));
        assert_ne!(shuffled, procs);
        let mut sorted = shuffled;
        sorted.sort_unstable();
        assert_eq!(sorted, procs);
    }
}
