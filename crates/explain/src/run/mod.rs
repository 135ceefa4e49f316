//! Runs one command as it is, or two in turns.
//!
//! One command is attended (`steady_process::attended`): its guardian starts it within instruments that do not touch it, or under a
//! tracer, and gives an account of it once nothing is left ([`explain`]). Pairs are run as in a comparison ([`explain_pair`]).

mod account;
mod attendant;
mod counted;
mod counter;
mod ends;
mod one;
mod pair;
mod series;
mod usage;
mod watch;

use std::ffi::OsString;

use serde::{Deserialize, Serialize};
use steady_linux::{clock, host};
use steady_model::{Command, Nanos, Outcome, Reading};
use steady_process::attended::{self, Attendant, Unattended};

use attendant::{Explainer, Task};

use crate::record::{Counts, ProcessUse, Progress, exact};

pub(crate) use counter::{COUNTER, TracedRuns, serve_counter};
pub(crate) use one::one;
pub use pair::{COUNTED_RUNS, Counter, Means, explain_pair};

/// The first argument that makes `steady` the guardian of an explained command.
pub(crate) const ARGUMENT: &str = Explainer::WORD;

/// The length of the ticks by which user and system time are sampled. If that cannot be found out, they may be sampled.
///
/// # Errors
/// Both are exact.
pub(crate) fn tick() -> Reading<Nanos> {
    host::tick().unwrap_or_else(|_| Some(clock::tick())).ok_or_else(exact)
}

/// What an explained command did and used; as in [`ExplainRecord`](crate::ExplainRecord).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ExplainRun {
    /// How it ended.
    pub(crate) ended: Outcome,
    /// From its start to its end, stops left out.
    pub(crate) wall: Nanos,
    /// User time of the tree.
    pub(crate) user: Nanos,
    /// System time of the tree.
    pub(crate) system: Nanos,
    /// The lifetimes of all threads together.
    pub(crate) thread_time: Reading<Nanos>,
    /// Of it, time spent waiting for a CPU.
    pub(crate) waiting: Reading<Nanos>,
    /// Time in which it was stopped.
    pub(crate) stopped: Nanos,
    /// How often things happened.
    pub(crate) counts: Counts,
    /// Where what comes from, in words.
    pub(crate) sources: Vec<String>,
    /// CPU time that the counting itself cost it.
    pub(crate) counting_cost: Reading<Nanos>,
    /// Its processes.
    pub(crate) processes: Reading<Vec<ProcessUse>>,
    /// What it had used from time to time.
    pub(crate) progress: Vec<Progress>,
    /// Processes that it left behind, and that were ended.
    pub(crate) left_behind: u32,
    /// Whether it was traced: where that was asked for and is not allowed, it ran as it is.
    pub(crate) traced: bool,
}

/// Runs a command, started with `words`, to its end, and gives account of it. Standard input and output are the command's:
/// afterwards this process has none.
///
/// For a process with one thread. From here on it keeps the signals that are passed on from itself.
///
/// # Errors
/// See [`Unattended`]. Nothing is left of the command then.
fn explain(command: &Command, words: &[OsString], trace: bool) -> Result<ExplainRun, Unattended> {
    attended::attend::<Explainer>(&command.program, words, Task { trace })
}

/// The whole life of a guardian, from the words behind [`ARGUMENT`]. Returns once nothing is left of the command.
pub(crate) fn guard(arguments: impl Iterator<Item = OsString>) {
    attended::guard::<Explainer>(arguments);
}
