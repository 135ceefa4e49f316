//! Runs load experiments: rows of concurrent processes, one row after the other.
//!
//! A **leader**, a helper process of the same program (started with `LEADER`), starts the processes of a row. Each is a
//! **worker** (the same program, started with `WORKER`): it hashes, adds numbers, or runs the user's command
//! repeatedly. When all are ready, the leader lets them start together. When `steady` ends, however that happens, the
//! leader kills them all and exits.

mod client;
mod counters;
mod experiment;
mod leader;
mod machine;
mod protocol;
mod rulers;
mod simulated;
mod watch;
mod worker;

pub use experiment::{Event, LoadContext, LoadError, LoadRunner, Measured, measure};
pub(crate) use leader::serve as serve_leader;
pub(crate) use machine::MachineRunner;
pub(crate) use rulers::{BestFile, run as read_rulers};
pub use simulated::SimulatedMachine;
pub(crate) use worker::serve as serve_worker;

/// The first argument that makes `steady` the leader of a row.
pub(crate) const LEADER: &str = "__crowd";

/// The first argument that makes `steady` a worker.
pub(crate) const WORKER: &str = "__worker";
