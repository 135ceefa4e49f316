//! How CPU time and wall time move with load: rows of so many processes at once, one row after the other.
//!
//! A row's processes are started by a **crowd**, a helper process of its own (this same program, called with
//! `CROWD`). Each is a **worker** (this same program, called with `WORKER`): it hashes, sums, or runs the user's
//! command again and again. When all are ready the crowd lets them set off at once. When `steady` is gone, however it
//! ended, the crowd ends them all and leaves.

mod client;
mod counters;
mod crowd;
mod experiment;
mod machine;
mod protocol;
mod rulers;
mod simulated;
mod watch;
mod worker;

pub(crate) use crowd::serve as serve_crowd;
pub use experiment::{Event, LoadError, LoadRunner, Measured, Setting, measure};
pub(crate) use machine::CrowdRunner;
pub(crate) use rulers::{BestFile, run as read_rulers};
pub use simulated::SimulatedCrowd;
pub(crate) use worker::serve as serve_worker;

/// The first argument that makes `steady` a crowd.
pub(crate) const CROWD: &str = "__crowd";

/// The first argument that makes `steady` one of a crowd's workers.
pub(crate) const WORKER: &str = "__worker";
