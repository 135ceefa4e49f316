//! The experiment: the rows of a plan in an order drawn from its seed, each reported as soon as it has ended; and its one
//! effect, a row of so many processes, behind a trait, so that experiments run in tests without processes.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;
use steady_model::{Absent, Ending, Host, Machine, Nanos, Outcome, Reading, Seed, Timestamp};
use steady_process::runner::how;
use thiserror::Error;

use crate::{LoadPlan, LoadRecord, LoadRow, LoadWork};

/// What an experiment is told of the machine.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The machine.
    pub host: Host,
    /// Its CPUs.
    pub machine: Machine,
    /// The time of day.
    pub started: Timestamp,
    /// The git revision of the directory that it is started in.
    pub revision: Reading<String>,
}

/// What happens while an experiment runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It begins: the record as it is before anything was measured.
    Begun(Box<LoadRecord>),
    /// A row of so many processes begins.
    RowBegun {
        /// How many processes.
        procs: u32,
    },
    /// The row that runs was looked at.
    Looked {
        /// How long it has run.
        passed: Nanos,
    },
    /// A row is over.
    RowEnded(Box<LoadRow>),
}

/// What came of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The rows that are whole, and all that goes with them.
    pub record: LoadRecord,
    /// What ended it before the last row.
    pub stopped: Option<LoadError>,
}

/// Runs the experiment that `plan` describes, its rows in an order drawn from `seed`. Whatever ends it, the rows that are whole are
/// in the record.
pub fn measure<R: LoadRunner>(
    plan: &LoadPlan,
    seed: Seed,
    setting: Setting,
    runner: &mut R,
    events: &mut dyn FnMut(Event),
) -> Measured {
    let poll_cost = poll_cost(&plan.work, runner);
    let mut record = LoadRecord::begun(plan.clone(), seed, setting, poll_cost);
    events(Event::Begun(Box::new(record.clone())));
    let mut stopped = None;
    for procs in order(&plan.procs, seed) {
        events(Event::RowBegun { procs });
        match runner.row(procs, &mut |passed| events(Event::Looked { passed })) {
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
        _ => Err(Absent::because("nothing polls")),
    }
}

/// The rows in random order: a load that drifts must not look like one that grows with the number of processes.
fn order(procs: &[u32], seed: Seed) -> Vec<u32> {
    let mut order = procs.to_vec();
    order.shuffle(&mut ChaCha12Rng::seed_from_u64(seed.0));
    order
}

/// From the start of the first row to the end of the last.
fn elapsed(rows: &[LoadRow]) -> Nanos {
    let begun = rows.iter().map(|row| row.started).min().unwrap_or_default();
    rows.iter().map(|row| row.started + row.elapsed).max().unwrap_or_default() - begun
}

/// Why a row could not be measured.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LoadError {
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// Not all processes could be started.
    #[error("only {started} of {procs} processes could be started: {reason}")]
    Refused {
        /// How many there were to be.
        procs: u32,
        /// How many could be.
        started: u32,
        /// What the system says, and which limit it may be.
        reason: String,
    },
    /// The user's command could not be started.
    #[error("the command could not be started: {0}")]
    CannotStart(String),
    /// A run of the user's command failed.
    #[error("the command {}, {procs} at once", how(.outcome))]
    CommandFailed {
        /// How many there were at once.
        procs: u32,
        /// How the run ended.
        outcome: Outcome,
    },
    /// A process ended before its work was done.
    #[error("one of {procs} processes {} before its work was done", how(.outcome))]
    WorkerLost {
        /// How many there were at once.
        procs: u32,
        /// How it ended.
        outcome: Outcome,
    },
    /// The crowd ended, or could not be set up.
    #[error("the process that leads a row's processes was lost: {0}")]
    CrowdLost(String),
}

/// Something that runs rows.
pub trait LoadRunner {
    /// CPU time per second of a sleeping thread that wakes so often to look at its process's CPU clock.
    fn poll_cost(&mut self, every: Nanos) -> Reading<f64>;

    /// Runs so many processes at once, until all have done their work. Now and then `looked` is called with how long they have
    /// run.
    ///
    /// # Errors
    /// See [`LoadError`]; nothing of the row counts then, and none of its processes is left.
    fn row(&mut self, procs: u32, looked: &mut dyn FnMut(Nanos)) -> Result<LoadRow, LoadError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_drawn_and_repeats() {
        let procs: Vec<u32> = (1..=32).collect();
        let drawn = order(&procs, Seed(1));
        assert_eq!(drawn, order(&procs, Seed(1)));
        assert_ne!(drawn, order(&procs, Seed(2)));
        assert_ne!(drawn, procs);
        let mut sorted = drawn;
        sorted.sort_unstable();
        assert_eq!(sorted, procs);
    }
}
