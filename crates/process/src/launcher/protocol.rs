//! What `steady` and its launchers say to each other, one JSON value a line.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use steady_model::{Command, CounterScope, Hook, Layout, Nanos, Outcome, Output, PerCommand, Reading, Run};

use crate::runner::Start;

/// The first line to a launcher: all that stays the same for an experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// The commands that it may be asked to run.
    pub commands: Vec<Command>,
    /// The shell commands to run before each run.
    pub prepare: PerCommand<String>,
    /// The shell commands to run after each run.
    pub conclude: PerCommand<String>,
    /// The file that runs read as standard input.
    pub input: Option<PathBuf>,
    /// Where the commands' output goes.
    pub output: PerCommand<Output>,
    /// The longest that one run may last.
    pub run_limit: Option<Nanos>,
    /// The CPUs to keep to, if not all.
    pub cpus: Option<Vec<usize>>,
    /// The CPU to name in the runs: the one it is pinned to in duets.
    pub pinned: Option<usize>,
    /// The monotonic clock's reading when the experiment began.
    pub epoch: Nanos,
    /// A folder to remove at the end: that of the snapshots, which nobody else may be left to remove.
    #[serde(default)]
    pub folder: Option<PathBuf>,
    /// The log to append numbered groups to.
    pub log: Option<PathBuf>,
    /// Whose events the CPU's counters count, or why they cannot be read, where another launcher has found out:
    /// launchers of one experiment count alike.
    pub counters: Option<Reading<CounterScope>>,
}

/// What a launcher is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Runs, one after the other.
    Runs {
        /// The runs, in the groups in which they are reported.
        groups: Vec<Group>,
        /// Whether to look closer at each ([`RunReply::wrote_to_storage`], [`RunReply::left_its_cpu`]).
        probe: bool,
    },
    /// Snapshots to start commands from, in place of those before.
    Snapshots(Vec<Snapshot>),
    /// A shell command of the user's, unmeasured.
    Script {
        /// When it runs.
        hook: Hook,
        /// For which command.
        command: usize,
        /// The shell command.
        script: String,
    },
}

/// Runs that belong together: a block in turns, or one side of a duet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Group {
    /// The number of its block; a warm-up has none.
    pub block: Option<u64>,
    /// How the block's runs lie in time.
    pub layout: Layout,
    /// The place of its first run in the block.
    pub place: usize,
    /// The runs.
    pub jobs: Vec<Job>,
    /// How they are started.
    #[serde(default)]
    pub start: Start,
    /// The draw of snapshots that its block belongs to, if any.
    #[serde(default)]
    pub draw: Option<u64>,
}

/// What a command is started from in place of its program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Which command.
    pub command: usize,
    /// The file to execute.
    pub file: PathBuf,
    /// The words that it is started with: the command's own, or those that a script's interpreter gets.
    pub words: Vec<OsString>,
}

/// One run to make.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Which command.
    pub command: usize,
    /// How much its environment is padded, in bytes.
    pub padding: u32,
}

/// What a launcher answers: first `Ready` or `Failed`, then one `Ran` per group or `Done` per script, or what went wrong.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It is set up.
    Ready {
        /// Whose events the CPU's counters count, or why they cannot be read.
        counters: Reading<CounterScope>,
    },
    /// A group's runs have ended.
    Ran(Vec<RunReply>),
    /// A script has ended well, or the snapshots are ready to be started.
    Done,
    /// A command could not be started.
    CannotStart {
        /// Which command.
        command: usize,
        /// What the system says.
        reason: String,
    },
    /// A script failed.
    ScriptFailed {
        /// When it ran.
        hook: Hook,
        /// The shell command.
        script: String,
        /// How it ended.
        outcome: Outcome,
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
