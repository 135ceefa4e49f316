//! Runs a command and ends it when it has used its CPU time or wall time.
//!
//! The guardian (`steady_process::attended`) reads the CPU time of the process tree, checks the limits, and ends the
//! tree.

mod limiter;
mod limits;
mod source;
mod wall_clock;

use std::ffi::OsString;

use serde::{Deserialize, Serialize};
use steady_model::{Command, Nanos, Outcome, Reading};
use steady_process::attended::{self, Attendant, Unattended};

use crate::plan::LimitPlan;
use crate::record::{CpuSource, LimitOutcome};
use limiter::{Limiter, Task};

/// The first argument that makes `steady` the guardian of a limited command.
pub(crate) const ARGUMENT: &str = Limiter::WORD;

/// Result of a limited command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LimitRun {
    /// Limit that was reached, if any.
    pub(crate) outcome: LimitOutcome,
    /// Exit status or signal of the command itself.
    pub(crate) ended: Outcome,
    /// Whether it was killed, because it did not end at SIGTERM.
    pub(crate) killed: bool,
    /// CPU time of the whole process tree.
    pub(crate) cpu: Nanos,
    /// Wall time from the start of the command to its end.
    pub(crate) wall: Nanos,
    /// Part of `wall` spent waiting for a CPU.
    pub(crate) waiting: Reading<Nanos>,
    /// Part of `wall` in which the command was stopped.
    pub(crate) stopped: Nanos,
    /// CPU time used beyond the limit.
    pub(crate) overshoot: Reading<Nanos>,
    /// Source from which the CPU time was read while the command ran.
    pub(crate) source: CpuSource,
    /// Better sources that could not be used, best first, each with the reason.
    pub(crate) passed_over: Vec<String>,
    /// Number of processes that the command left behind. They were killed.
    pub(crate) left_behind: u32,
}

/// Runs the plan's command, started with `words`, until it ends or a limit is reached. Reads CPU time from `source`, or
/// from the best source available. The command gets standard input and output; this process has neither afterwards.
///
/// Call it from a process with one thread. From this call on, this process blocks the signals that it passes on.
///
/// # Errors
/// See [`Unattended`]. On an error, no process of the command is left, except those that cannot be ended.
pub(crate) fn limit(plan: &LimitPlan, words: &[OsString], source: Option<CpuSource>) -> Result<LimitRun, Unattended> {
    // The guardian receives the program and its arguments as bytes, because they may not be UTF-8, which JSON requires.
    let bounds = LimitPlan { command: Command::default(), ..plan.clone() };
    attended::attend::<Limiter>(&plan.command.program, words, Task { plan: bounds, source })
}

/// Main function of a guardian process. `arguments` are the words after [`ARGUMENT`]. Returns once no process of the
/// command is left.
pub(crate) fn guard(arguments: impl Iterator<Item = OsString>) {
    attended::guard::<Limiter>(arguments);
}
