//! The command and its limits.

use serde::{Deserialize, Serialize};
use steady_model::{Command, Nanos};

/// A command and its limits, resolved from the flags.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitPlan {
    /// The command to run.
    pub command: Command,
    /// CPU time that the whole process tree may use.
    pub cpu: Nanos,
    /// Wall limit divided by `cpu`. Time spent waiting for a CPU does not count towards the wall limit.
    pub wall_factor: f64,
    /// Interval at which CPU time is read. Without it, CPU time is read as often as precision requires.
    pub poll: Option<Nanos>,
    /// Time between the first signal and SIGKILL.
    pub kill_after: Nanos,
}
