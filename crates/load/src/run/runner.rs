//! The one effect of a load experiment: a row of so many processes. Behind a trait, so that experiments run in tests
//! without time passing.

use steady_model::{Nanos, Outcome, Reading};
use steady_process::runner::how;
use thiserror::Error;

use crate::LoadRow;

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
