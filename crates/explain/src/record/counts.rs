//! What happened in a process tree: counts, processes, progress.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steady_model::{CallCount, Nanos, Reading};
use steady_render::json::ReadError;

use super::holds;

/// Nothing happens more often: a double, and so any reader of JSON, counts it exactly.
const MOST: u64 = 1 << 53;

/// How often things happened in a process tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Page faults served without reading from storage.
    pub minor_faults: u64,
    /// Page faults that read from storage.
    pub major_faults: u64,
    /// Times that a thread gave its CPU up to wait for something. Absent under a tracer: each of its stops is one.
    pub voluntary_switches: Reading<u64>,
    /// Times that the CPU was taken from a thread; likewise.
    pub involuntary_switches: Reading<u64>,
    /// Processes that were made, the command's own not counted.
    pub forks: Reading<u64>,
    /// Threads that were made in addition to the first of each process.
    pub threads: Reading<u64>,
    /// Programs that were executed, the command's own not counted.
    pub execs: Reading<u64>,
    /// System calls in all.
    pub calls: Reading<u64>,
    /// System calls by name, most frequent first; only a tracer knows them.
    pub calls_by_name: Reading<Vec<CallCount>>,
}

impl Counts {
    /// Whether there can be so many, so that sums of them do not overflow.
    pub(super) fn check(&self) -> Result<(), ReadError> {
        let readings = [
            ("voluntary_switches", &self.voluntary_switches),
            ("involuntary_switches", &self.involuntary_switches),
            ("forks", &self.forks),
            ("threads", &self.threads),
            ("execs", &self.execs),
            ("calls", &self.calls),
        ];
        let read = readings.into_iter().filter_map(|(name, count)| Some((name, *count.as_ref().ok()?)));
        let faults = [("minor_faults", self.minor_faults), ("major_faults", self.major_faults)];
        let named = self.calls_by_name.iter().flatten().map(|call| ("calls_by_name", call.count));
        let mut all = faults.into_iter().chain(read).chain(named);
        all.try_for_each(|(name, count)| holds(count <= MOST, &format!("counts.{name}"), "more than there can be"))
    }
}

/// One process of the tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessUse {
    /// Its number.
    pub pid: i32,
    /// The process that had made it, or that took it in when that had ended.
    pub parent: i32,
    /// Its name: the first 15 bytes of its program's.
    pub name: String,
    /// How many threads it had in all.
    pub threads: u32,
    /// From its start to its end.
    pub wall_seconds: Nanos,
    /// User and system time, without what it took to give its memory back at its end.
    pub cpu_seconds: Nanos,
    /// Time that its threads waited for a CPU, together.
    pub waiting_seconds: Reading<Nanos>,
    /// Page faults, minor and major.
    pub faults: u64,
    /// Switches, voluntary and involuntary.
    pub switches: u64,
}

/// What the tree had used at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// When, since its start.
    pub at_seconds: Nanos,
    /// CPU time so far.
    pub cpu_seconds: Nanos,
    /// Of it user time, by the kernel's ticks.
    pub user_seconds: Nanos,
    /// Time spent waiting for a CPU so far, of all threads that were seen. Null if it was not known at that moment: the reasons
    /// are those of `waiting_seconds` of the whole.
    pub waiting_seconds: Option<Nanos>,
}
