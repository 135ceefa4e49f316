//! The one effect of this experiment: a probe that is repeated. It is behind a trait, so that experiments run in tests without
//! time passing. Below it stands what `steady` and its probers say to each other, one JSON value a line.

use serde::{Deserialize, Serialize};
use steady_model::{Nanos, Probe, Reading, Timed};
use thiserror::Error;

use crate::record::{Affinity, Repetition};

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

    /// Announces the probes that are opened soon, so that they can get ready.
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

/// The first line to a prober.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    /// What it measures.
    pub(super) probe: Probe,
    /// The CPUs that it keeps to.
    pub(super) affinity: Affinity,
    /// The monotonic clock's reading when the experiment began.
    pub(super) epoch: Nanos,
    /// Whether it only counts the system calls of a round, and times nothing.
    pub(super) only_calls: bool,
}

/// What a prober is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// How many rounds take about as long as a timed loop should.
    Calibrate,
    /// The probe and its empty loop, once each.
    Repeat(Repeat),
}

/// One repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeat {
    /// Rounds of each loop.
    pub loops: u64,
    /// Whether the empty loop comes first.
    pub empty_first: bool,
}

/// What a prober answers: first `Ready`, `Absent` or `Failed`, then one thing for each order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// It is ready to be asked.
    Ready(Opened),
    /// What it is to measure cannot be had here.
    Absent(String),
    /// See [`Order::Calibrate`].
    Calibrated(Calibrated),
    /// See [`Order::Repeat`].
    Repeated(Repeated),
    /// How many system calls a round makes; absent where they cannot be counted. It is the last thing that is said.
    Calls(Reading<f64>),
    /// Something went wrong.
    Failed(String),
}

/// A probe that is ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// How often its event should happen in a round.
    pub events_per_loop: f64,
    /// What the empty loop still does, in words; of most nothing.
    pub subtracted: String,
    /// How many system calls a round should make; absent where that is not for the probe to say.
    pub calls_per_loop: Reading<f64>,
}

/// How long the loop of a probe should be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    /// Rounds that take about as long as a timed loop should.
    pub loops: u64,
    /// The last loop that was tried.
    pub tried: Timed,
}

/// A repetition that was made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeated {
    /// What was measured.
    pub repetition: Repetition,
    /// CPU time of a unit of arithmetic just before and just after it, in seconds.
    pub alu_seconds: f64,
}
