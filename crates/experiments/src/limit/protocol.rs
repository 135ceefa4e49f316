//! What the front and the guardian say to each other, one JSON value a line.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use steady_model::{CpuSource, LimitOutcome, LimitPlan, Nanos, Outcome, Reading};

/// The first line to a guardian.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    /// What is allowed.
    pub plan: LimitPlan,
    /// The signals that are passed on.
    pub passed: Vec<i32>,
    /// The signals that the command is to ignore.
    pub ignored: Vec<i32>,
    /// The one source of CPU time to use; the best where none is named.
    pub source: Option<CpuSource>,
}

/// What a guardian is asked for later.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// To pass a signal on, unless it went to the whole process group.
    Pass(i32),
}

/// What a guardian tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Told {
    /// The command runs; the control group that was made for it, if one was.
    Started(Option<PathBuf>),
    /// The command could not be executed: the number of the error.
    NotStarted(i32),
    /// There is no way to go on.
    Refused(String),
    /// A signal has stopped the command.
    Stopped(i32),
    /// The command goes on.
    Continued,
    /// It has ended, and nothing is left of it.
    Ended(Box<LimitRun>),
}

/// A limited command that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitRun {
    /// What ended it.
    pub outcome: LimitOutcome,
    /// How the command itself ended.
    pub ended: Outcome,
    /// CPU time of the whole tree.
    pub cpu: Nanos,
    /// From its start to its end.
    pub wall: Nanos,
    /// Of that, time spent waiting for a CPU.
    pub waiting: Reading<Nanos>,
    /// Of that, time in which it was stopped.
    pub stopped: Nanos,
    /// CPU time used beyond the limit.
    pub overshoot: Reading<Nanos>,
    /// Where the CPU time was read while it ran.
    pub source: CpuSource,
    /// Why better sources were not used, best first.
    pub passed_over: Vec<String>,
    /// Processes that it left behind, and that were ended.
    pub left_behind: u32,
}

/// Says one value.
pub(super) fn say(mut socket: &UnixStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    socket.write_all(&line)
}
