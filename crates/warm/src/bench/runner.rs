//! The one effect that the experiment has: a session. Behind a trait, so that it runs in tests without time passing.

use crate::record::{BenchSession, LaunchMode};
use steady_model::{Nanos, Reading};
use thiserror::Error;

/// A session to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionOrder {
    /// Which program of the plan.
    pub program: usize,
    /// How it is launched.
    pub mode: LaunchMode,
    /// How often.
    pub count: u32,
    /// How much the environment is padded, in bytes.
    pub padding: u32,
    /// Whether events are counted, and nothing timed.
    pub counted: bool,
}

/// Why there are no more sessions.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BenchError {
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The process that makes them ended, or could not be set up.
    #[error("the process that launches programs was lost: {0}")]
    Lost(String),
}

/// Something that makes sessions.
pub trait SessionLauncher {
    /// Makes one; absent where the program cannot be launched, or does not end. Beside it why there is no snapshot, where
    /// there was none and a reason is told.
    ///
    /// # Errors
    /// See [`BenchError`].
    fn session(&mut self, order: SessionOrder) -> Result<Reading<(BenchSession, Option<String>)>, BenchError>;

    /// The experiment's clock.
    fn now(&self) -> Nanos;
}
