//! The messages between `steady`, its stage and the stage's drivers, in JSON.

use std::path::PathBuf;

use crate::record::{BenchSession, LaunchMode, Spent};
use serde::{Deserialize, Serialize};
use steady_model::{CounterScope, Nanos, Outcome, Reading};

/// The first message to a stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    /// An empty directory, which the stage removes at its end.
    pub(super) folder: PathBuf,
    /// The programs: the file, and the arguments including argument 0.
    pub(super) programs: Vec<(PathBuf, Vec<String>)>,
    /// The pause between launches.
    pub(super) pause: Nanos,
    /// Whether the page cache is dropped before each session.
    pub(super) cold: bool,
    /// Whether written data is sent to disks before each launch.
    pub(super) sync: bool,
    /// The longest time that a launch may take.
    pub(super) timeout: Nanos,
    /// The scope in which counted sessions count events.
    pub(super) scope: Option<CounterScope>,
}

/// A request for a session.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) program: usize,
    pub(super) mode: LaunchMode,
    pub(super) count: u32,
    pub(super) padding: u32,
    pub(super) counted: bool,
}

/// A reply of a stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The stage is set up.
    Ready,
    /// The session, or why there is none; and why there was no snapshot.
    Session(Box<Reading<BenchSession>>, Option<String>),
    /// The stage failed and ends.
    Failed(String),
}

/// The task of a driver: its second argument.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Task {
    /// The file into which the driver writes its account.
    pub(super) account: PathBuf,
    pub(super) program: PathBuf,
    pub(super) words: Vec<String>,
    pub(super) count: u32,
    pub(super) pause: Nanos,
    pub(super) sync: bool,
}

/// The result of a driver.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Account {
    /// When the driver's main function began, on the monotonic clock.
    pub(super) begun: Nanos,
    /// CPU time of the driver's process at that moment, including what ran in it before.
    pub(super) used: Nanos,
    pub(super) launches: Vec<Spent>,
    pub(super) voluntary_switches: u64,
    pub(super) involuntary_switches: u64,
    pub(super) minor_faults: u64,
    pub(super) major_faults: u64,
    pub(super) ended: Outcome,
    pub(super) alike: bool,
}
