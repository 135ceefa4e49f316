//! What primitives of this machine and its kernel cost: each timed in a loop, less the same loop without it.
//!
//! A **prober** (this same program, called with [`PROBER`]) measures one of them, kept to one CPU. Repetitions go round all
//! probes in random order, so that what drifts meanwhile falls upon all alike, and each has its probe and its empty loop
//! in an order drawn by coin.

mod calibrate;
mod calls;
mod client;
mod clocks;
mod cpus;
mod experiment;
mod judge;
mod machine;
pub mod prices;
mod protocol;
mod runner;
mod series;
mod serve;
mod simulated;
mod sweep;

pub use calls::rounds;
pub use clocks::clocks;
pub use cpus::cpus;
pub use experiment::{Done, Event, Setting, measure};
pub use judge::{FEWEST, report};
pub use machine::ProberRunner;
pub use protocol::{Calibrated, Opened, Repeat, Repeated};
pub use runner::{CostsError, CostsRunner};
pub use serve::serve;
pub use simulated::SimulatedProbes;

/// The first argument that makes `steady` a prober.
pub const PROBER: &str = "__prober";

/// The first argument that makes `steady` go round a probe's loop and end, for a tracer to count its system calls.
pub const ROUNDS: &str = "__rounds";
