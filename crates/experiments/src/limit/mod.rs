//! A command that is ended by the CPU time that it used.
//!
//! It is attended (`crate::attended`): its guardian reads the CPU time of the tree, judges, and has it end.

mod course;
mod limiter;
mod limits;
mod pace;
mod source;

use std::ffi::OsString;

use serde::{Deserialize, Serialize};
use steady_model::{Command, CpuSource, LimitOutcome, LimitPlan, Nanos, Outcome, Reading};

use crate::attended::{self, Attendant, Unattended};
use limiter::{Limiter, Task};

/// The first argument that makes `steady` the guardian of a limited command.
pub const ARGUMENT: &str = Limiter::WORD;

/// A limited command that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitRun {
    /// What ended it.
    pub outcome: LimitOutcome,
    /// How the command itself ended.
    pub ended: Outcome,
    /// CPU time of the whole tree.
    pub cpu: Nanos,
    /// From its start to its end.
    pub wall: Nanos,
    /// Of that, time spent waiting for a CPU.
    pub waiting: Reading<Nanos>,
    /// Of that, time in which it was stopped.
    pub stopped: Nanos,
    /// CPU time used beyond the limit.
    pub overshoot: Reading<Nanos>,
    /// Where the CPU time was read while it ran.
    pub source: CpuSource,
    /// Why better sources were not used, best first.
    pub passed_over: Vec<String>,
    /// Processes that it left behind, and that were ended.
    pub left_behind: u32,
}

/// Runs the plan's command, started with `words`, until it ends or a limit is reached; CPU time is read from `source`,
/// or from the best that there is. Standard input and output are the command's: afterwards this process has none.
///
/// For a process with one thread. From here on it keeps the signals that are passed on from itself.
///
/// # Errors
/// See [`Unattended`]. Nothing is left of the command then.
pub fn limit(plan: &LimitPlan, words: &[OsString], source: Option<CpuSource>) -> Result<LimitRun, Unattended> {
    // The guardian receives the program and its arguments as bytes: they need not be UTF-8, which JSON would require.
    let bounds = LimitPlan { command: Command::default(), ..plan.clone() };
    attended::attend::<Limiter>(&plan.command.program, words, Task { plan: bounds, source })
}

/// The whole life of a guardian, from the words behind [`ARGUMENT`]. Returns once nothing is left of the command.
pub fn guard(arguments: impl Iterator<Item = OsString>) {
    attended::guard::<Limiter>(arguments);
}
