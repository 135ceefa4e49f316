//! What is kept of an explained command, and of two whose difference was explained: the records, what both count, and their
//! JSON.
//!
//! Both have one schema: the JSON of one command has `command`, that of two has `commands`.

mod figures;
mod one;
mod pair;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steady_feature::Record;
use steady_model::{Absent, CallCount, Nanos, Reading};
use steady_render::json::{ReadError, Schema};

pub use one::{ExplainRecord, Part};
pub use pair::{Difference, ExplainPairRecord, Line, PairExport};

/// The schema of [`ExplainRecord`] and [`ExplainPairRecord`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.explain/1", what: "an explanation" };

/// No run lasts longer: 97 days. Sums of such times do not overflow.
const LONGEST: Nanos = Nanos((1 << 23) * 1_000_000_000);

/// Either kind of record in JSON, for the JSON Schema.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum Explanation {
    /// One command.
    One(Box<ExplainRecord>),
    /// The difference of two.
    Pair(Box<PairExport<'static>>),
}

/// What could not be priced or counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Missing {
    /// What is missing: `forks`, `the price of execs`.
    pub what: String,
    /// The reason.
    pub why: String,
}

/// The record in a JSON text, with what follows from it. A difference needs its samples.
pub(crate) fn read(text: &str) -> Result<Box<dyn Record>, ReadError> {
    if SCHEMA.value(text)?.get("commands").is_some() {
        return Ok(Box::new(ExplainPairRecord::read(text)?));
    }
    Ok(Box::new(ExplainRecord::read(text)?))
}

/// Why user and system time have no tick.
pub(crate) fn exact() -> Absent {
    Absent::because("user and system time are exact")
}

/// The place of what is derived.
pub(crate) fn not_judged<T>() -> Reading<T> {
    Err(Absent::because("it was not judged"))
}

fn holds(condition: bool, path: &str, problem: &str) -> Result<(), ReadError> {
    if condition { Ok(()) } else { Err(ReadError::inconsistent(path, problem)) }
}

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
