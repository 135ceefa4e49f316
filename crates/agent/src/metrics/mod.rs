//! What the agent adds up, shown to scrapes as metrics (docs/metrics.md): sums since it began, fed with the very rows
//! that are handed over to be written, so that whoever keeps differences of them has what the store has.
//!
//! An answer is written from sums that stand still on a thread that is not the agent's; what arrives meanwhile is added
//! to a copy of them.

mod answer;
mod families;
mod listen;
mod page;
mod requests;
mod server;
mod sums;
#[cfg(test)]
mod tests;
mod text;
mod waiting;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::record::Arrived;
use steady_model::ReleaseRows;

use crate::store::Batch;
use crate::table::Limits;
use sums::Sums;

pub use listen::{ListenAt, ListenPlan};
pub(crate) use server::Server;

/// The sums of now.
#[derive(Debug)]
pub(crate) struct Metrics {
    sums: Mutex<Arc<Sums>>,
}

impl Metrics {
    /// Nothing has arrived; `start` is in seconds since 1970.
    pub(crate) fn new(limits: Limits, start: f64) -> Metrics {
        Metrics { sums: Mutex::new(Arc::new(Sums::new(limits, start))) }
    }

    fn locked(&self) -> MutexGuard<'_, Arc<Sums>> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what was gathered, with what the agent says of itself at that moment. They are copied only where an answer
    /// is being written from them.
    pub(crate) fn add(&self, batch: &Batch, arrived: &Arrived, given_up: u64) {
        let mut sums = self.locked();
        let sums = Arc::make_mut(&mut sums);
        sums.add(batch);
        (sums.arrived, sums.given_up) = (*arrived, given_up);
    }

    /// Rows were given up: the table will tell of them once more, as lost.
    pub(crate) fn give_up(&self, rows: &[ReleaseRows]) {
        Arc::make_mut(&mut self.locked()).give_up(rows);
    }

    /// What is shown now.
    fn now(&self) -> Arc<Sums> {
        Arc::clone(&self.locked())
    }
}
