//! The experiment: the rows of a plan in an order drawn from its seed, each told as soon as it has ended.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;
use steady_model::{Absent, Ending, Host, Machine, Nanos, Reading, Seed, Timestamp};

use super::runner::{LoadError, LoadRunner};
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
