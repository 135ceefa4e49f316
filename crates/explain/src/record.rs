//! The records of an explained command and of an explained difference, and their JSON.
//!
//! Both have one schema. The JSON of one command has the field `command`, the JSON of two has `commands`.

mod figures;
mod one;
mod pair;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steady_costs::prices::Priced;
use steady_feature::Record;
use steady_model::{Absent, CallCount, Nanos, Reading, RunKind};
use steady_render::json::{ReadError, Schema};

pub use one::{ExplainRecord, Part};
pub use pair::{Difference, ExplainPairRecord, Line, PairExport};
pub(crate) use pair::{EventRows, event_rows};

/// The schema of [`ExplainRecord`] and [`ExplainPairRecord`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.explain/1", what: "an explanation" };
/// The kind of this record in the history.
pub(crate) const KIND: RunKind = RunKind::new("explain");

/// Upper limit of times in a record (97 days). Sums of such times do not overflow.
const LONGEST: Nanos = Nanos((1 << 23) * 1_000_000_000);

/// Either kind of record in JSON, for the JSON Schema.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum Explanation {
    /// The record of one command.
    One(Box<ExplainRecord>),
    /// The record of the difference of two commands.
    Pair(Box<PairExport<'static>>),
}

/// A price or a count that could not be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Missing {
    /// What is missing: `forks`, `the price of execs`.
    pub what: String,
    /// Why it could not be measured.
    pub why: String,
}

/// Reads a record of either kind from JSON and judges it again. A difference needs its samples.
pub(crate) fn read(text: &str) -> Result<Box<dyn Record>, ReadError> {
    if SCHEMA.value(text)?.get("commands").is_some() {
        return Ok(Box::new(ExplainPairRecord::read(text)?));
    }
    Ok(Box::new(ExplainRecord::read(text)?))
}

/// Whether an event of this kind costs at least its price: system calls in their cheapest case, and execs, whose price is
/// that of a small static program.
pub(crate) fn is_least_price(priced: Priced, at_least: bool) -> bool {
    at_least || priced == Priced::Exec
}

/// Placeholder for a derived field that has not been computed yet.
pub(crate) fn not_judged<T>() -> Reading<T> {
    Err(Absent::because("not judged"))
}

fn holds(condition: bool, path: &str, problem: &str) -> Result<(), ReadError> {
    if condition { Ok(()) } else { Err(ReadError::inconsistent(path, problem)) }
}

/// Upper limit of counts. A double, and with it every reader of JSON, represents them exactly.
const MOST: u64 = 1 << 53;

/// Numbers of events in a process tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Page faults served without reading from storage.
    pub minor_faults: u64,
    /// Page faults that read from storage.
    pub major_faults: u64,
    /// Context switches because a thread waits for something. Not available under a tracer, as each of its stops is
    /// one.
    pub voluntary_switches: Reading<u64>,
    /// Context switches because the kernel gives the CPU to another thread. Not available under a tracer.
    pub involuntary_switches: Reading<u64>,
    /// Processes created, without the command's own.
    pub forks: Reading<u64>,
    /// Threads created, without the first thread of each process.
    pub threads: Reading<u64>,
    /// Programs executed, without the command's own.
    pub execs: Reading<u64>,
    /// Whether `execs` is a lower bound: exit records show at most one exec for each process. Missing in records of
    /// earlier versions.
    #[serde(default)]
    pub execs_at_least: bool,
    /// Number of all system calls.
    pub calls: Reading<u64>,
    /// System calls by name, the most frequent first. Only a tracer can count them.
    pub calls_by_name: Reading<Vec<CallCount>>,
}

impl Counts {
    /// Rejects counts above the limit, to keep sums from overflowing.
    fn check(&self) -> Result<(), ReadError> {
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
        all.try_for_each(|(name, count)| holds(count <= MOST, &format!("counts.{name}"), "too large"))
    }
}

/// The largest number of processes that a record lists.
pub(crate) const MOST_PROCESSES: usize = 10_000;

/// What one process of the tree used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessUse {
    /// ID of the process.
    pub pid: i32,
    /// ID of the parent process. An orphan's parent is the process that adopted it.
    pub parent: i32,
    /// The first 15 bytes of its program's name.
    pub name: String,
    /// Number of threads over its lifetime.
    pub threads: u32,
    /// Time from its start to its end.
    pub wall_seconds: Nanos,
    /// User and system time, without the time to release its memory at its end.
    pub cpu_seconds: Nanos,
    /// Total time that its threads waited for a CPU.
    pub waiting_seconds: Reading<Nanos>,
    /// Total time that its threads were blocked, as in a wait for its children.
    #[serde(default = "not_recorded")]
    pub blocked_seconds: Reading<Nanos>,
    /// Minor and major page faults.
    pub faults: u64,
    /// Voluntary and involuntary context switches.
    pub switches: u64,
}

fn not_recorded() -> Reading<Nanos> {
    Err(Absent::because("an earlier version did not record it"))
}

/// What the process tree had used up to some moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// Time since the start of the command.
    pub at_seconds: Nanos,
    /// User and system time so far.
    pub cpu_seconds: Nanos,
    /// User time so far, as sampled by the kernel's ticks.
    pub user_seconds: Nanos,
    /// Time that the observed threads have waited for a CPU so far. Null if it was not known at that moment, for the
    /// reasons that `waiting_seconds` of the whole run gives.
    pub waiting_seconds: Option<Nanos>,
}
