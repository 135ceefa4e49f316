//! The one effect of this experiment: a probe that is repeated. Behind a trait, so that experiments run in tests without
//! time passing.

use steady_model::{Nanos, Probe, Reading};
use thiserror::Error;

use super::protocol::{Calibrated, Opened, Repeat, Repeated};

/// Why something could not be measured.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CostsError {
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The time was over before it was done.
    #[error("the time was over")]
    OutOfTime,
    /// The process that measures a probe ended or could not be had; of the others nothing is lost.
    #[error("{}: {reason}", probe.name())]
    Lost {
        /// Which.
        probe: Probe,
        /// What is known of it.
        reason: String,
    },
}

/// Something that measures probes.
pub trait CostsRunner {
    /// The experiment's clock: what has passed since it was begun.
    fn now(&self) -> Nanos;

    /// Tells which probes are to be opened soon: they may get ready meanwhile.
    fn announce(&mut self, probes: &[Probe]);

    /// Makes a probe ready; absent where it cannot be had here.
    ///
    /// # Errors
    /// See [`CostsError`].
    fn open(&mut self, probe: Probe, until: Nanos) -> Result<Reading<Opened>, CostsError>;

    /// How many rounds of an open probe make a timed loop.
    ///
    /// # Errors
    /// See [`CostsError`].
    fn calibrate(&mut self, probe: Probe, until: Nanos) -> Result<Calibrated, CostsError>;

    /// Makes one repetition of an open probe, if it ends by `until`.
    ///
    /// # Errors
    /// See [`CostsError`].
    fn repeat(&mut self, probe: Probe, order: Repeat, until: Nanos) -> Result<Repeated, CostsError>;

    /// How many system calls `loops` rounds of a probe make, all who take part together, by a tracer that stops them at
    /// each: outside of what is timed.
    fn count_calls(&mut self, probe: Probe, until: Nanos) -> Reading<f64>;
}
