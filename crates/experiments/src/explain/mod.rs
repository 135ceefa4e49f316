//! Where the time of a command went: what it did, at the prices of this host.
//!
//! The command is attended (`steady_process::attended`): its guardian starts it within instruments that do not touch it, or under a
//! tracer, and gives an account of it once nothing is left ([`explain`]). What that says of its time is pure ([`report`]).

mod account;
mod attendant;
mod calls;
mod counted;
mod counter;
mod difference;
mod ends;
mod faults;
mod made;
pub mod pair;
mod parts;
mod report;
mod series;
mod usage;
mod watch;

use std::ffi::OsString;

use serde::{Deserialize, Serialize};
use steady_model::{Counts, ExplainPlan, Nanos, Outcome, ProcessUse, Progress, Reading};

use attendant::{Explainer, Task};
use steady_process::attended::{self, Attendant, Unattended};

pub use counter::{COUNTER, TracedRuns, serve_counter};
pub use difference::pair_report;
pub use report::report;

/// The first argument that makes `steady` the guardian of an explained command.
pub const ARGUMENT: &str = Explainer::WORD;

/// What an explained command did and used; the same of the names as in [`ExplainRecord`](steady_model::ExplainRecord).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExplainRun {
    /// How it ended.
    pub ended: Outcome,
    /// From its start to its end, stops left out.
    pub wall: Nanos,
    /// User time of the tree.
    pub user: Nanos,
    /// System time of the tree.
    pub system: Nanos,
    /// The lifetimes of all threads together.
    pub thread_time: Reading<Nanos>,
    /// Of it, time spent waiting for a CPU.
    pub waiting: Reading<Nanos>,
    /// Time in which it was stopped.
    pub stopped: Nanos,
    /// How often things happened.
    pub counts: Counts,
    /// Where what comes from, in words.
    pub sources: Vec<String>,
    /// CPU time that the counting itself cost it.
    pub counting_cost: Reading<Nanos>,
    /// Its processes.
    pub processes: Reading<Vec<ProcessUse>>,
    /// What it had used from time to time.
    pub progress: Vec<Progress>,
    /// Processes that it left behind, and that were ended.
    pub left_behind: u32,
    /// Whether it was traced: where that was asked for and is not allowed, it ran as it is.
    pub traced: bool,
}

/// Runs the plan's command, started with `words`, to its end, and gives account of it. Standard input and output are the
/// command's: afterwards this process has none.
///
/// For a process with one thread. From here on it keeps the signals that are passed on from itself.
///
/// # Errors
/// See [`Unattended`]. Nothing is left of the command then.
pub fn explain(plan: &ExplainPlan, words: &[OsString]) -> Result<ExplainRun, Unattended> {
    attended::attend::<Explainer>(&plan.command.program, words, Task { trace: plan.trace })
}

/// The whole life of a guardian, from the words behind [`ARGUMENT`]. Returns once nothing is left of the command.
pub fn guard(arguments: impl Iterator<Item = OsString>) {
    attended::guard::<Explainer>(arguments);
}
