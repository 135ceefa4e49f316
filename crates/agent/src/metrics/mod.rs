//! Publishes metrics for scrapes (docs/metrics.md): sums since the agent started, of the same rows that are written to
//! the store. So differences of the metrics have the same content as the store.
//!
//! Answers are written on separate threads, from sums that do not change. Rows that arrive during the writing of an
//! answer are added to a copy of the sums.

mod answer;
mod families;
mod listen;
mod page;
mod pending;
mod requests;
mod server;
mod sums;
#[cfg(test)]
mod tests;
mod text;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use steady_model::ReleaseRows;

use crate::record::Arrived;
use crate::store::Batch;
use crate::table::Limits;
use sums::PublishedSums;

pub use listen::{ListenAt, ListenPlan};
pub(crate) use server::Server;

/// The current sums, shared with the threads that write answers.
#[derive(Debug)]
pub(crate) struct Metrics {
    sums: Mutex<Arc<PublishedSums>>,
}

impl Metrics {
    /// Creates empty sums; `start` is the start time of the agent, in seconds since 1970.
    pub(crate) fn new(limits: Limits, start: f64) -> Metrics {
        Metrics { sums: Mutex::new(Arc::new(PublishedSums::new(limits, start))) }
    }

    fn locked(&self) -> MutexGuard<'_, Arc<PublishedSums>> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a batch of rows, and replaces the agent's own counts by those of the same moment. The sums are copied only
    /// if an answer is being written from them.
    pub(crate) fn add(&self, batch: &Batch, arrived: &Arrived, given_up: u64) {
        let mut sums = self.locked();
        let sums = Arc::make_mut(&mut sums);
        sums.add(batch);
        (sums.arrived, sums.given_up) = (*arrived, given_up);
    }

    /// Notes rows that could not be written. The table will report their requests again, as lost; they must not be
    /// counted twice.
    pub(crate) fn give_up(&self, rows: &[ReleaseRows]) {
        Arc::make_mut(&mut self.locked()).give_up(rows);
    }

    /// Returns the current sums.
    fn now(&self) -> Arc<PublishedSums> {
        Arc::clone(&self.locked())
    }
}
