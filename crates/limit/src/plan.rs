//! What a command is allowed.

use serde::{Deserialize, Serialize};
use steady_model::{Command, Nanos};

/// What is allowed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitPlan {
    /// The command.
    pub command: Command,
    /// The CPU time that its whole process tree may use.
    pub cpu: Nanos,
    /// The wall time that it may use, time spent waiting for a CPU not counted, over `cpu`.
    pub wall_factor: f64,
    /// How often to look; as often as exactness needs where it is not given.
    pub poll: Option<Nanos>,
    /// How long after the first signal the tree is killed.
    pub kill_after: Nanos,
}
