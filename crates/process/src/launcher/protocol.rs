//! Messages between `steady` and its launchers, one JSON value per line.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use steady_model::{
    Command, CounterScope, Hook, Layout, MetricInput, MetricSource, Nanos, Outcome, Output, PerCommand, Reading, Run,
};

use crate::runner::{RunnableTime, Start};

/// First message to a launcher, with everything that is constant in an experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// The commands of the plan.
    pub commands: Vec<Command>,
    /// Shell commands to run before each run.
    pub prepare: PerCommand<String>,
    /// Shell commands to run after each run.
    pub conclude: PerCommand<String>,
    /// File that runs get as standard input.
    #[serde(with = "steady_model::path::optional")]
    pub input: Option<PathBuf>,
    /// Destination of the commands' output.
    pub output: PerCommand<Output>,
    /// The custom metrics, whose values the commands report themselves.
    pub metrics: Vec<MetricSource>,
    /// What these values are found in.
    pub metric_input: MetricInput,
    /// Whether to measure the energy of the machine during each run.
    pub energy: bool,
    /// Time limit of one run.
    pub run_limit: Option<Nanos>,
    /// CPUs to pin the launcher and its runs to, if not all.
    pub cpus: Option<Vec<usize>>,
    /// CPU to record in runs: the one that the launcher is pinned to in duets.
    pub pinned: Option<usize>,
    /// Reading of the monotonic clock at the start of the experiment.
    pub epoch: Nanos,
    /// Folder of the snapshots. The launcher removes it at the end, because `steady` may have been killed.
    #[serde(with = "steady_model::path::optional")]
    pub folder: Option<PathBuf>,
    /// Log to append groups with a block number to.
    #[serde(with = "steady_model::path::optional")]
    pub log: Option<PathBuf>,
    /// Scope of the CPU's counters that another launcher has found, or why they cannot be read. All launchers of an
    /// experiment use the same scope.
    pub counters: Option<Reading<CounterScope>>,
}

/// Request to a launcher.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Make runs one after the other.
    Runs {
        /// The runs, in groups. Each group has one reply.
        groups: Vec<Group>,
        /// Whether to also find the properties that [`RunReply`] has for probes.
        probe: bool,
    },
    /// Start commands from these snapshots, in place of previous ones.
    Snapshots(Vec<Snapshot>),
    /// Run a shell command of the user, without measuring it.
    Script {
        /// The hook that it is for.
        hook: Hook,
        /// Index of the command that it is for.
        command: usize,
        /// Text of the shell command.
        script: String,
    },
}

/// Runs that belong together: a block in turns, or one side of a duet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Group {
    /// Number of the block; `None` for a warm-up.
    pub block: Option<u64>,
    /// Whether the block's runs follow each other or run concurrently.
    pub layout: Layout,
    /// Place of its first run in the block.
    pub place: usize,
    /// The runs of the group.
    pub jobs: Vec<Job>,
    /// How the runs are started.
    #[serde(default)]
    pub start: Start,
    /// Number of the draw of snapshots that the block belongs to, if any.
    #[serde(default)]
    pub draw: Option<u64>,
}

/// A snapshot to start a command from, in place of its program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Index of the command.
    pub command: usize,
    /// File of the snapshot to execute.
    #[serde(with = "steady_model::path")]
    pub file: PathBuf,
    /// Arguments: those of the command, or those of a script's interpreter.
    pub words: Vec<OsString>,
}

/// Parameters of one run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Index of the command.
    pub command: usize,
    /// Padding of the environment, in bytes.
    pub padding: u32,
}

/// Reply of a launcher: first `Ready` or `Failed`, then one `Ran` per group or one `Done` per script, or an error.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The launcher is set up.
    Ready {
        /// Scope of the CPU's counters, or the reason why they cannot be read.
        counters: Reading<CounterScope>,
    },
    /// The runs of a group have ended.
    Ran(Vec<RunReply>),
    /// A script has succeeded, or the snapshots are ready.
    Done,
    /// A command could not be started.
    CannotStart {
        /// Index of the command.
        command: usize,
        /// Error of the system.
        reason: String,
    },
    /// A script of the user failed.
    ScriptFailed {
        /// Index of the command.
        command: usize,
        /// The hook that it is for.
        hook: Hook,
        /// Text of the shell command.
        script: String,
        /// Exit status or signal of the shell.
        outcome: Outcome,
        /// The last lines of its output; empty if it printed nothing. `None` if the output was shown, or the script ran
        /// too long.
        printed: Option<String>,
    },
    /// Any other error, as text.
    Failed(String),
}

/// Result of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunReply {
    /// The measurements of the run.
    pub run: Run,
    /// Only for probes: whether it caused writes to storage.
    pub wrote_to_storage: bool,
    /// Only for probes: whether it ended on, or may use, another CPU than the launcher's.
    pub left_its_cpu: bool,
    /// Only for probes: for how long threads of its tree could run.
    pub runnable: RunnableTime,
    /// Only for probes: for how long no thread of its tree could run.
    pub asleep: Nanos,
    /// The first metric without a valid value. [`Run::values`] is empty then.
    #[serde(default)]
    pub no_value: Option<NoValue>,
}

/// Why a run has no value of a metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoValue {
    /// The name of the metric.
    pub metric: String,
    /// The reason, as a clause.
    pub reason: String,
    /// The last lines of what was searched for the value.
    pub printed: String,
}
