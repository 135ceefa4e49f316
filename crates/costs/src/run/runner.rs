//! The trait behind which probes run: with a fake, tests run experiments without time passing. The module also has the
//! messages between `steady` and its probers, one JSON value per line.

use serde::{Deserialize, Serialize};
use steady_model::{Nanos, Probe, Reading, Timed};
use thiserror::Error;

use crate::record::{Affinity, Repetition};

/// Why something could not be measured.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CostsError {
    /// The user interrupted the run.
    #[error("interrupted")]
    Interrupted,
    /// The budget was spent before the probe was measured.
    #[error("the budget was spent")]
    OutOfTime,
    /// The process that measures a probe ended early or could not be started. Other probes are not affected.
    #[error("{}: {reason}", probe.name())]
    Lost {
        /// The probe that is lost.
        probe: Probe,
        /// The cause, as far as it is known.
        reason: String,
    },
}

/// Measures probes, on this machine or simulated.
pub trait CostsRunner {
    /// Time since the start of the experiment.
    fn now(&self) -> Nanos;

    /// Announces probes that will be opened soon, so that their processes can start in parallel.
    fn announce(&mut self, probes: &[Probe]);

    /// Prepares a probe. Absent if it is not available on this machine.
    ///
    /// # Errors
    /// See [`CostsError`].
    fn open(&mut self, probe: Probe, until: Nanos) -> Result<Reading<Opened>, CostsError>;

    /// Finds the number of rounds for the timed loop of an open probe.
    ///
    /// # Errors
    /// See [`CostsError`].
    fn calibrate(&mut self, probe: Probe, until: Nanos) -> Result<Calibrated, CostsError>;

    /// Runs one repetition of an open probe, which must end by `until`.
    ///
    /// # Errors
    /// See [`CostsError`].
    fn repeat(&mut self, probe: Probe, order: Repeat, until: Nanos) -> Result<Repeated, CostsError>;

    /// Counts the system calls in a round of a probe, over all processes that take part, by a tracer outside the timed
    /// loops.
    fn count_calls(&mut self, probe: Probe, until: Nanos) -> Reading<f64>;
}

/// First message to a prober.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    /// The probe to measure.
    pub(super) probe: Probe,
    /// The CPUs to pin processes to.
    pub(super) affinity: Affinity,
    /// Reading of the monotonic clock at the start of the experiment.
    pub(super) epoch: Nanos,
    /// Whether the prober only counts the system calls of a round, without timing.
    pub(super) only_calls: bool,
}

/// Request to a prober.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// Find the number of rounds for the timed loop.
    Calibrate,
    /// Time the loop and the empty loop once each.
    Repeat(Repeat),
}

/// Parameters of one repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeat {
    /// Rounds of each loop.
    pub loops: u64,
    /// Whether the empty loop runs first.
    pub empty_first: bool,
}

/// Reply of a prober: first `Ready`, `Absent` or `Failed`, then one reply for each order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// The probe is ready for orders.
    Ready(Opened),
    /// The probe is not available on this machine, for this reason.
    Absent(String),
    /// Answer to [`Order::Calibrate`], with the length of the loop.
    Calibrated(Calibrated),
    /// Answer to [`Order::Repeat`], with the timings.
    Repeated(Repeated),
    /// System calls of a round; absent if they cannot be counted. This is the last reply.
    Calls(Reading<f64>),
    /// The prober failed, for this reason, and ends.
    Failed(String),
}

/// Properties of a probe that is ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// Expected number of events in a round.
    pub events_per_loop: f64,
    /// Description of the work that the empty loop still does; empty for most probes.
    pub subtracted: String,
    /// Expected number of system calls in a round; absent if the probe does not determine it.
    pub calls_per_loop: Reading<f64>,
}

/// Result of calibrating a loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    /// Number of rounds for the timed loop.
    pub loops: u64,
    /// Timing of the last loop that was tried.
    pub tried: Timed,
}

/// Result of one repetition.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeated {
    /// The timings of both loops.
    pub repetition: Repetition,
    /// CPU time of one step of the arithmetic ruler, mean of just before and just after the repetition, in seconds.
    pub alu_seconds: f64,
}
