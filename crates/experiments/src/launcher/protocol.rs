//! What `steady` and its launchers say to each other, one JSON value a line.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use steady_model::{Command, Nanos, Output, Run};

/// The first line to a launcher: all that stays the same for an experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// The commands that it may be asked to run.
    pub commands: Vec<Command>,
    /// Per command, the shell command to run before each of its runs.
    pub preparations: Vec<Option<String>>,
    /// The file that runs read as standard input.
    pub input: Option<PathBuf>,
    /// Where the commands' output goes.
    pub output: Output,
    /// The longest that one run may last.
    pub run_limit: Option<Nanos>,
    /// The CPUs to keep to, if not all.
    pub cpus: Option<Vec<usize>>,
    /// The CPU to name in the runs: the one it is pinned to in duets.
    pub pinned: Option<usize>,
    /// The monotonic clock's reading when the experiment began.
    pub epoch: Nanos,
}

/// Runs to make, one after the other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The runs, in the groups in which they are reported.
    pub groups: Vec<Vec<Job>>,
    /// Whether to look closer at each ([`RunReply::wrote_to_storage`], [`RunReply::left_its_cpu`]).
    pub probe: bool,
}

/// One run to make.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Which command.
    pub command: usize,
    /// How much its environment is padded, in bytes.
    pub padding: u32,
}

/// What a launcher answers: first `Ready` or `Failed`, then one `Ran` per group, or what went wrong.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It is set up.
    Ready,
    /// A group's runs have ended.
    Ran(Vec<RunReply>),
    /// A command could not be started.
    CannotStart {
        /// Which command.
        command: usize,
        /// What the system says.
        reason: String,
    },
    /// A preparation failed.
    PreparationFailed {
        /// Which command it was to prepare.
        command: usize,
        /// How it ended.
        outcome: steady_model::Outcome,
    },
    /// Anything else went wrong.
    Failed(String),
}

/// A run that has ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunReply {
    /// What was measured.
    pub run: Run,
    /// Probes only: pages of it went to storage.
    pub wrote_to_storage: bool,
    /// Probes only: it was last seen on, or allowed on, another CPU than the launcher's.
    pub left_its_cpu: bool,
}
