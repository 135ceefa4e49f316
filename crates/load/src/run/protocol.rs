//! What `steady`, a row's crowd and its workers say to each other, one JSON value a line.

use serde::{Deserialize, Serialize};
use steady_model::{Nanos, Outcome, Seed};

use crate::{LoadRun, LoadWork};

/// What a crowd is told first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    /// What each process does.
    pub(super) work: LoadWork,
    /// How many.
    pub(super) procs: u32,
    /// The CPUs to keep to, if not all.
    pub(super) cpus: Option<Vec<usize>>,
    /// The seed of the work's random numbers.
    pub(super) seed: Seed,
}

/// What a crowd is told when `steady` has seen that all are ready: set off.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Go;

/// What a crowd says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// All workers are ready.
    Ready {
        /// Their process identifiers.
        pids: Vec<i32>,
    },
    /// All have done their work and are gone.
    Finished(Finished),
    /// Not all processes could be started.
    Refused {
        /// How many could be.
        started: u32,
        /// What the system says.
        reason: String,
    },
    /// The user's command could not be started.
    CannotStart(String),
    /// A run of the user's command failed.
    CommandFailed(Outcome),
    /// A worker ended before its work was done.
    WorkerLost(Outcome),
    /// Anything else went wrong.
    Failed(String),
}

/// What a crowd says when all is done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Finished {
    /// When they set off, on the monotonic clock.
    pub(super) fired: Nanos,
    /// When the last had done its work, on the monotonic clock.
    pub(super) ended: Nanos,
    /// What they did.
    pub(super) runs: Vec<LoadRun>,
    /// CPU time of the work from then on, that of runs which are not among `runs` included.
    pub(super) ours: Nanos,
    /// CPU time that the crowd itself used until the last was done, and those that start the user's commands.
    pub(super) own: Nanos,
    /// CPU time that the crowd used after that, until all were gone.
    pub(super) after: Nanos,
}

/// What a worker is to do; a command's words follow as further arguments.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Task {
    /// See [`LoadWork::Hash`].
    Hash { cpu_time: Nanos, poll: Option<Nanos>, seed: u64, procs: u32 },
    /// See [`LoadWork::Sum`].
    Sum { work: u64, seed: u64, procs: u32 },
    /// See [`LoadWork::Command`].
    Command { window: Nanos },
}

/// What a worker says. Many write to one pipe, so a line must not be longer than what a pipe takes whole (`PIPE_BUF`).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Line {
    /// Which worker.
    pub(super) place: u32,
    /// What it says.
    pub(super) said: Said,
}

/// See [`Line`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Said {
    /// It waits for the start.
    Ready,
    /// What it has done.
    Ran(Vec<Ran>),
    /// It is done.
    Done {
        /// CPU time that its process had used before the start.
        before: Nanos,
        /// CPU time that it used itself since, where the work is its children's.
        own: Nanos,
        /// When its last run ended, on the monotonic clock.
        ended: Nanos,
    },
    /// The system refused it another process or thread.
    Refused(String),
    /// The user's command could not be started.
    CannotStart(String),
    /// A run of the user's command failed.
    CommandFailed(Outcome),
}

/// One run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ran {
    /// When it was started, on the monotonic clock; with all the others where it is absent.
    pub(super) started: Option<Nanos>,
    /// When it ended.
    pub(super) ended: Nanos,
    /// What it did; its wall time is what lies between the two.
    pub(super) run: LoadRun,
}

impl Ran {
    /// The run, where all set off at `fired`.
    pub(super) fn into_run(self, fired: Nanos) -> LoadRun {
        LoadRun { wall: self.ended - self.started.unwrap_or(fired), ..self.run }
    }
}
