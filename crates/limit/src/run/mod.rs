//! A command that is ended by the CPU time that it used.
//!
//! It is attended (`steady_process::attended`): its guardian reads the CPU time of the tree, judges, and has it end.

mod course;
mod limiter;
mod limits;
mod source;

use std::ffi::OsString;

use serde::{Deserialize, Serialize};
use steady_model::{Command, Nanos, Outcome, Reading};
use steady_process::attended::{self, Attendant, Unattended};

use crate::plan::LimitPlan;
use crate::record::{CpuSource, LimitOutcome};
use limiter::{Limiter, Task};

/// The first argument that makes `steady` the guardian of a limited command.
pub(crate) const ARGUMENT: &str = Limiter::WORD;

/// A limited command that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LimitRun {
    /// What ended it.
    pub(crate) outcome: LimitOutcome,
    /// How the command itself ended.
    pub(crate) ended: Outcome,
    /// CPU time of the whole tree.
    pub(crate) cpu: Nanos,
    /// From its start to its end.
    pub(crate) wall: Nanos,
    /// Of that, time spent waiting for a CPU.
    pub(crate) waiting: Reading<Nanos>,
    /// Of that, time in which it was stopped.
    pub(crate) stopped: Nanos,
    /// CPU time used beyond the limit.
    pub(crate) overshoot: Reading<Nanos>,
    /// Where the CPU time was read while it ran.
    pub(crate) source: CpuSource,
    /// Why better sources were not used, best first.
    pub(crate) passed_over: Vec<String>,
    /// Processes that it left behind, and that were ended.
    pub(crate) left_behind: u32,
}

/// Runs the plan's command, started with `words`, until it ends or a limit is reached; CPU time is read from `source`,
/// or from the best that there is. Standard input and output are the command's: afterwards this process has none.
///
/// For a process with one thread. From here on it keeps the signals that are passed on from itself.
///
/// # Errors
/// See [`Unattended`]. Nothing is left of the command then.
pub(crate) fn limit(plan: &LimitPlan, words: &[OsString], source: Option<CpuSource>) -> Result<LimitRun, Unattended> {
    // The guardian receives the program and its arguments as bytes: they need not be UTF-8, which JSON would require.
    let bounds = LimitPlan { command: Command::default(), ..plan.clone() };
    attended::attend::<Limiter>(&plan.command.program, words, Task { plan: bounds, source })
}

/// The whole life of a guardian, from the words behind [`ARGUMENT`]. Returns once nothing is left of the command.
pub(crate) fn guard(arguments: impl Iterator<Item = OsString>) {
    attended::guard::<Limiter>(arguments);
}
