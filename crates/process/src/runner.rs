//! The trait through which experiments run blocks of commands. Tests replace it with a simulated machine on which no
//! time passes.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
use steady_model::{Activity, Block, Hook, Layout, Moment, Nanos, Outcome};
use thiserror::Error;

use crate::launcher::NoValue;

/// Parameters of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSpec {
    /// Index of the command in the plan.
    pub command: usize,
    /// Index of the launcher: in duets 0 or 1, one of the two pinned launchers; in turns 0.
    pub seat: usize,
    /// Padding of the environment, in bytes.
    pub padding: u32,
}

/// How runs are started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// By executing the program.
    #[default]
    Usual,
    /// By executing the snapshot of the program from the last draw.
    Snapshot,
}

impl Start {
    /// Whether runs execute the program itself.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Start::Usual
    }
}

/// Parameters of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockSpec {
    /// Number among the blocks that count, from 0; `None` for a warm-up block.
    pub number: Option<u64>,
    /// Whether the runs follow each other or run concurrently. A duet has two runs with different `seat`.
    pub layout: Layout,
    /// The runs, in the order in which they start.
    pub runs: Vec<RunSpec>,
    /// How the runs are started.
    pub start: Start,
    /// Number of the draw of snapshots that the block belongs to, if any.
    pub draw: Option<u64>,
}

/// Properties of a command that a warm-up run shows, in addition to its costs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// Index of the command in the plan.
    pub command: usize,
    /// Whether it caused writes to storage (`write_bytes` of proc_pid_io(5)).
    pub wrote_to_storage: bool,
    /// Whether it ended on, or may use, another CPU than the one it was pinned to.
    pub left_its_cpu: bool,
    /// For how long threads of its tree could run.
    pub runnable: RunnableTime,
    /// For how long no thread of its tree could run, from the same samples.
    pub asleep: Nanos,
}

/// For how long threads of a command could run, estimated by looking at them at some moments of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunnableTime {
    /// The time with one runnable thread or more.
    pub any: Nanos,
    /// The part of it with several.
    pub several: Nanos,
}

impl RunnableTime {
    /// A command uses several CPUs if several threads are runnable in at least one part of this many of the time.
    const ONE_OF: u64 = 10;

    /// Whether the command could use several CPUs for a considerable part of the time.
    #[must_use]
    pub fn is_of_several_cpus(self) -> bool {
        self.several > Nanos::ZERO && self.several.0 * Self::ONE_OF >= self.any.0
    }
}

impl AddAssign for RunnableTime {
    fn add_assign(&mut self, other: Self) {
        self.any += other.any;
        self.several += other.several;
    }
}

/// Why runs could not be made.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RunError {
    /// The user interrupted the experiment.
    #[error("interrupted")]
    Interrupted,
    /// A command could not be started.
    #[error("command {} could not be started: {reason}", .command + 1)]
    CannotStart {
        /// Index of the command in the plan.
        command: usize,
        /// Error of the system.
        reason: String,
    },
    /// A shell command of the user that runs before or after measured runs failed.
    #[error("the --{} command '{script}' {}{}", .hook.name(), how(.outcome), last_lines(.printed.as_deref()))]
    ScriptFailed {
        /// Index of the command in the plan.
        command: usize,
        /// The hook that ran it.
        hook: Hook,
        /// Text of the shell command.
        script: String,
        /// Exit status or signal of the shell.
        outcome: Outcome,
        /// The last lines of its output; empty if it printed nothing. `None` if the output was shown, or the script ran
        /// too long.
        printed: Option<String>,
    },
    /// A successful run has no value of a custom metric.
    #[error("command {} has no value of '{}': {}", .command + 1, .why.metric, .why.reason)]
    NoValue {
        /// Index of the command in the plan.
        command: usize,
        /// The metric, the reason, and what was printed.
        why: NoValue,
    },
    /// No new snapshot of a command's program could be captured.
    #[error("no new snapshot of command {}: {reason}", .command + 1)]
    NotDrawn {
        /// Index of the command in the plan.
        command: usize,
        /// The reason, as a clause with its subject.
        reason: String,
    },
    /// A launcher process ended early or could not be set up.
    #[error("a launcher process failed: {0}")]
    LauncherLost(String),
}

/// How a run ended, as the end of a sentence that begins with the name of the command.
pub fn how(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Exited(status) => format!("exited with status {status}"),
        Outcome::Signalled(signal) => format!("was ended by signal {signal}"),
        Outcome::TimedOut => "exceeded the time limit".to_owned(),
    }
}

/// The last lines of an output as a clause of an error.
fn last_lines(printed: Option<&str>) -> String {
    match printed {
        None => String::new(),
        Some("") => "; it printed nothing".to_owned(),
        Some(lines) => format!("; the last lines of its output:\n  {}", lines.replace('\n', "\n  ")),
    }
}

/// Runs blocks of commands.
pub trait Runner {
    /// Time since the start of the experiment, on a monotonic clock.
    fn now(&self) -> Nanos;

    /// Runs blocks one after the other, all with the same layout. Calls `done` with each block as soon as it has ended.
    ///
    /// # Errors
    /// See [`RunError`]. Blocks that were passed to `done` before the error are valid.
    fn run(&mut self, blocks: &[BlockSpec], done: &mut dyn FnMut(Block)) -> Result<(), RunError>;

    /// Runs one block as [`Runner::run`] does, and also reads properties of its commands.
    ///
    /// # Errors
    /// The same as for [`Runner::run`].
    fn probe(&mut self, block: &BlockSpec) -> Result<(Block, Vec<Traits>), RunError>;

    /// Captures a new snapshot of every command, or links every program again, in place of the previous ones. Returns
    /// the mean time that this takes.
    ///
    /// # Errors
    /// See [`RunError::NotDrawn`] and [`RunError::ScriptFailed`].
    fn draw(&mut self) -> Result<Nanos, RunError>;

    /// Runs the user's shell command for `hook` and `command`, if the plan has one. The hook is [`Hook::Setup`] or
    /// [`Hook::Cleanup`]: launchers run the others with each run.
    ///
    /// # Errors
    /// See [`RunError`].
    fn hook(&mut self, hook: Hook, command: usize) -> Result<(), RunError>;

    /// Load of the machine since the start of the experiment.
    fn activity(&self) -> Activity;

    /// State of the machine since the previous call, or since the start of the experiment.
    fn moment(&mut self) -> Moment;
}
