//! What `steady`, its stage and the stage's drivers say to each other, in JSON.

use std::path::PathBuf;

use crate::record::{BenchSession, LaunchMode, Spent};
use serde::{Deserialize, Serialize};
use steady_model::{CounterScope, Nanos, Outcome, Reading};

/// The first line to a stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    /// An empty folder of its own, removed at its end.
    pub(super) folder: PathBuf,
    /// The programs: file, and words, the first of which is the name.
    pub(super) programs: Vec<(PathBuf, Vec<String>)>,
    /// Rests between launches.
    pub(super) pause: Nanos,
    /// Whether the page cache is dropped before each session.
    pub(super) cold: bool,
    /// How long a launch may take.
    pub(super) timeout: Nanos,
    /// Whose events are counted where they are.
    pub(super) scope: Option<CounterScope>,
}

/// A session to be made.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) program: usize,
    pub(super) mode: LaunchMode,
    pub(super) count: u32,
    pub(super) padding: u32,
    pub(super) counted: bool,
}

/// What a stage answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// It has its folder.
    Ready,
    /// The session, or why there is none; why there was no snapshot.
    Session(Reading<BenchSession>, Option<String>),
    /// It cannot go on.
    Failed(String),
}

/// What a driver is to do: the argument behind its word.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Task {
    /// Where its account goes.
    pub(super) account: PathBuf,
    pub(super) program: PathBuf,
    pub(super) words: Vec<String>,
    pub(super) count: u32,
    pub(super) pause: Nanos,
}

/// What a driver tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Account {
    /// When its first line ran, on the monotonic clock.
    pub(super) begun: Nanos,
    /// CPU time of its process by then, what it was before included.
    pub(super) used: Nanos,
    pub(super) launches: Vec<Spent>,
    pub(super) voluntary_switches: u64,
    pub(super) involuntary_switches: u64,
    pub(super) minor_faults: u64,
    pub(super) major_faults: u64,
    pub(super) ended: Outcome,
    pub(super) alike: bool,
}
