//! The one effect that experiments have: running blocks of commands. Behind a trait, so that experiments run in tests
//! on simulated machines, without time passing.

use steady_model::{Activity, Block, Hook, Layout, Moment, Nanos, Outcome};
use thiserror::Error;

/// A run to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSpec {
    /// Which command of the plan.
    pub command: usize,
    /// The seat it takes: in duets 0 or 1, one of the two pinned launchers; in turns 0.
    pub seat: usize,
    /// How much its environment is padded, in bytes.
    pub padding: u32,
}

/// How the runs of a block are started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// The program is executed.
    #[default]
    Usual,
    /// A snapshot of the program is executed: the one that was drawn last.
    Snapshot,
}

impl Start {
    /// Whether the program itself is executed.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Start::Usual
    }
}

/// A block to be measured: its runs in the order in which they are started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockSpec {
    /// Its number among the blocks that count, from 0; a warm-up block has none.
    pub number: Option<u64>,
    /// How the runs lie in time. A duet has two, in different seats.
    pub layout: Layout,
    /// The runs.
    pub runs: Vec<RunSpec>,
    /// How they are started.
    pub start: Start,
    /// The draw of snapshots that it belongs to, if any.
    pub draw: Option<u64>,
}

/// What a warm-up run gives away about a command, beside its costs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// Which command.
    pub command: usize,
    /// It had pages written to storage (`write_bytes` of proc_pid_io(5)).
    pub wrote_to_storage: bool,
    /// It ended on, or may use, another CPU than the one it was pinned to.
    pub left_its_cpu: bool,
}

/// Why runs could not be made.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RunError {
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A command could not be started.
    #[error("command {} could not be started: {reason}", .command + 1)]
    CannotStart {
        /// Which command of the plan.
        command: usize,
        /// What the system says.
        reason: String,
    },
    /// A shell command that was to run beside the measured ones failed.
    #[error("the --{} command '{script}' {}", .hook.name(), how(.outcome))]
    ScriptFailed {
        /// When it ran.
        hook: Hook,
        /// The shell command.
        script: String,
        /// How it ended.
        outcome: Outcome,
    },
    /// There is no new snapshot of a command's program.
    #[error("no new snapshot of command {}: {reason}", .command + 1)]
    NotDrawn {
        /// Which command of the plan.
        command: usize,
        /// Why: a clause with its subject.
        reason: String,
    },
    /// A launcher process ended, or could not be set up.
    #[error("a launcher process was lost: {0}")]
    LauncherLost(String),
}

/// How a run ended, as the end of a sentence that begins with its name.
pub fn how(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Exited(status) => format!("exited with status {status}"),
        Outcome::Signalled(signal) => format!("was ended by signal {signal}"),
        Outcome::TimedOut => "ran past the time limit".to_owned(),
    }
}

/// Something that runs blocks.
pub trait Runner {
    /// Time since the experiment began, on a monotonic clock.
    fn now(&self) -> Nanos;

    /// Runs the blocks one after the other; all are of one layout. Each is handed to `done` as soon as it has ended.
    ///
    /// # Errors
    /// See [`RunError`]; blocks handed out before an error count.
    fn run(&mut self, blocks: &[BlockSpec], done: &mut dyn FnMut(Block)) -> Result<(), RunError>;

    /// Runs one block as [`Runner::run`] does, and looks closer at its commands.
    ///
    /// # Errors
    /// As [`Runner::run`].
    fn probe(&mut self, block: &BlockSpec) -> Result<(Block, Vec<Traits>), RunError>;

    /// Gives every command a snapshot that no run had before, for blocks that start from snapshots; those before it are gone.
    /// How long that takes on average.
    ///
    /// # Errors
    /// See [`RunError::NotDrawn`].
    fn draw(&mut self) -> Result<Nanos, RunError>;

    /// Runs the user's shell command for `hook` and `command`, if the plan has one: [`Hook::Setup`] or
    /// [`Hook::Cleanup`], for the others go with the runs.
    ///
    /// # Errors
    /// See [`RunError`].
    fn hook(&mut self, hook: Hook, command: usize) -> Result<(), RunError>;

    /// What the machine has been doing since the experiment began.
    fn activity(&self) -> Activity;

    /// What the machine has been doing since the last moment, or since the experiment began.
    fn moment(&mut self) -> Moment;
}
