//! The messages between `steady`, the leader of a row and its workers: one JSON value in each line.

use serde::{Deserialize, Serialize};
use steady_model::{Nanos, Outcome, Seed};

use crate::{LoadRun, LoadWork};

/// The first message to a leader.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    /// The work of each process.
    pub(super) work: LoadWork,
    /// Number of workers in the row.
    pub(super) procs: u32,
    /// The CPUs that the processes may use; `None` for all.
    pub(super) cpus: Option<Vec<usize>>,
    /// Seed of the random numbers of the work.
    pub(super) seed: Seed,
}

/// The second message to a leader, when all workers are ready: start the work.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Go;

/// A message from a leader.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// All workers are ready.
    Ready {
        /// The process IDs of the workers.
        pids: Vec<i32>,
    },
    /// All workers have done their work and were reaped.
    Finished(Finished),
    /// Not all processes could be started.
    Refused {
        /// Number of processes that could be started.
        started: u32,
        /// The error of the system.
        reason: String,
    },
    /// The user's command could not be started.
    CannotStart(String),
    /// A run of the user's command failed.
    CommandFailed(Outcome),
    /// A worker ended before its work was done.
    WorkerLost(Outcome),
    /// Another error, with its text.
    Failed(String),
}

/// The result of a row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Finished {
    /// When the work started, on the monotonic clock.
    pub(super) fired: Nanos,
    /// When the last worker had done its work, on the monotonic clock.
    pub(super) ended: Nanos,
    /// The runs of all workers.
    pub(super) runs: Vec<LoadRun>,
    /// CPU time of the work from the start on, including runs that are not in `runs`.
    pub(super) ours: Nanos,
    /// CPU time that the leader, and workers that start commands, used until the last worker was done.
    pub(super) own: Nanos,
    /// CPU time that the leader used after that, until all workers were reaped.
    pub(super) after: Nanos,
}

/// The task of a worker, one variant for each of [`LoadWork`]. The arguments of a command follow as further arguments.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Task {
    Hash { cpu_time: Nanos, poll: Option<Nanos>, seed: u64, procs: u32 },
    Sum { work: u64, seed: u64, procs: u32 },
    Command { window: Nanos },
}

/// A message from a worker. Many workers write to one pipe, so a line must not be longer than an atomic write
/// (`PIPE_BUF`, pipe(7)).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Line {
    /// Number of the worker in the row.
    pub(super) place: u32,
    /// The content of the message.
    pub(super) said: Message,
}

/// The content of a [`Line`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Message {
    /// The worker waits for the start.
    Ready,
    /// The runs that it has done.
    Ran(Vec<TimedRun>),
    /// The worker has done its work.
    Done {
        /// CPU time that its process had used before the start.
        before: Nanos,
        /// CPU time that it used itself since the start, if its children do the work.
        own: Nanos,
        /// When its last run ended, on the monotonic clock.
        ended: Nanos,
    },
    /// The system could not start another process or thread.
    Refused(String),
    /// The user's command could not be started.
    CannotStart(String),
    /// A run of the user's command failed.
    CommandFailed(Outcome),
}

/// A run with its start and its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct TimedRun {
    /// When it was started, on the monotonic clock; `None` if it started with all others.
    pub(super) started: Option<Nanos>,
    /// When it ended, on the monotonic clock.
    pub(super) ended: Nanos,
    /// The measurements, without the wall time.
    pub(super) run: LoadRun,
}

impl TimedRun {
    /// Returns the run with its wall time, for a row that started at `fired`.
    pub(super) fn into_run(self, fired: Nanos) -> LoadRun {
        LoadRun { wall: self.ended - self.started.unwrap_or(fired), ..self.run }
    }
}
