//! What an allocator's lock costs: signatures of the same bytes by several allocators, numbers of workers and sizes.
//!
//! A **round** makes a signature in every way, in an order drawn by coin, so that what the machine does meanwhile meets all of
//! them alike; ways are compared by pairs out of one round. What takes long has its turn only in every second, fourth, ... round.

#[path = "../../../../signature/src/run/experiment.rs"]
mod experiment;
#[path = "../../../../signature/src/plan.rs"]
mod plan;
#[path = "../../../../signature/src/judge.rs"]
mod report;
#[path = "../../../../signature/src/run/runner.rs"]
mod runner;
#[path = "../../../../signature/src/run/simulated.rs"]
mod simulated;

pub use experiment::{Done, Event, Setting, measure};
pub use plan::{SIZES, WORKERS, conditions, pools};
pub use report::report;
pub use runner::{BenchError, CrewRunner, SignatureRunner};
pub use simulated::SimulatedCrew;
