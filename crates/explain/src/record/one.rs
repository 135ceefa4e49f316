//! One command.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use steady_costs::prices::{Price, Priced, Prices};
use steady_feature::attended::AttendedCommand;
use steady_model::{Activity, AluTime, Host, Interval, Nanos, Outcome, Reading, Timestamp};
use steady_render::json::{self, ReadError};

use super::{Counts, LONGEST, Missing, ProcessUse, Progress, SCHEMA, figures, holds, not_judged};
use crate::judged;

/// The times and counts of a command that has ended, and where its time went. Its fields are those of its JSON. What is derived
/// (CPU time, parts, what they leave, notes) is written and never read: [`judged`] derives it again.
///
/// If a tracer counted its system calls (`trace`), its times are those of the command under the tracer, which stops it at each
/// call. What happened is counted, but nothing can be said of how long it takes by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainRecord {
    /// When it was begun: a label.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// The command.
    #[serde(serialize_with = "as_in_comparisons")]
    pub command: AttendedCommand,
    /// Whether a tracer stopped it at each of its system calls: its times are then not its own, and the prices of its events
    /// are not compared with them.
    pub trace: bool,
    /// Whether its processes are listed one by one.
    pub by_process: bool,
    /// Where.
    pub host: Host,
    /// The git revision of the directory that it ran in.
    pub revision: Reading<String>,
    /// How it ended.
    pub ended: Outcome,
    /// From its start to its end, stops not counted.
    pub wall_seconds: Nanos,
    /// User and system time of the tree: derived.
    #[serde(skip_deserializing)]
    pub cpu_seconds: Nanos,
    /// User time of the tree.
    pub user_seconds: Nanos,
    /// System time of the tree. If the kernel samples by ticks, only the sum of both is exact.
    pub system_seconds: Nanos,
    /// Where the system time lies as far as the kernel's ticks show, in seconds: a point if it is exact, absent if the ticks show
    /// nothing. Derived.
    #[serde(flatten, skip_deserializing, default = "not_judged", serialize_with = "figures::system")]
    #[schemars(with = "figures::System")]
    pub system_interval: Reading<Interval>,
    /// The length of the ticks by which user and system time are sampled; absent if both are exact.
    pub tick_seconds: Reading<Nanos>,
    /// The lifetimes of all threads together, stops not counted. Of a tree with a single thread it is the wall time.
    pub thread_seconds: Reading<Nanos>,
    /// Of it, time spent runnable, waiting for a CPU.
    pub waiting_seconds: Reading<Nanos>,
    /// Of it, time in which nothing of a thread could run: what CPU time and waiting leave. Derived.
    #[serde(skip_deserializing, default = "not_judged::<f64>")]
    pub blocked_seconds: Reading<f64>,
    /// Time in which it was stopped (job control): in none of the others.
    pub stopped_seconds: Nanos,
    /// How often things happened.
    pub counts: Counts,
    /// The modelled parts of the CPU time, the largest first; none of them is counted in another. Derived.
    #[serde(skip_deserializing)]
    pub parts: Vec<Part>,
    /// CPU time that neither a part nor the counting explains, in seconds, with its interval: the program's own code, and what
    /// the kernel did beyond the prices. Below zero if the parts come to more than the whole; absent if the times are a
    /// tracer's. Derived.
    #[serde(flatten, skip_deserializing, default = "not_judged", serialize_with = "figures::unexplained")]
    #[schemars(with = "figures::Unexplained")]
    pub unexplained: Reading<(f64, Interval)>,
    /// What could not be priced or counted. Derived.
    #[serde(skip_deserializing)]
    pub missing: Vec<Missing>,
    /// What a reader must know, as sentences. Derived.
    #[serde(skip_deserializing)]
    pub notes: Vec<String>,
    /// Where counts came from, in words, one each: `system calls: the raw_syscalls tracepoint`.
    pub sources: Vec<String>,
    /// CPU time that the counting itself cost the command, as far as it is known.
    pub counting_cost_seconds: Reading<Nanos>,
    /// Its processes, those that used most CPU time first, and of more than 10,000 only those. If only /proc showed them, those
    /// that were too short to be seen are missing.
    pub processes: Reading<Vec<ProcessUse>>,
    /// What it had used from time to time; empty for short runs.
    pub progress: Vec<Progress>,
    /// What the machine was doing during the run.
    pub load: Activity,
    /// How fast the CPU's clock ran just before it and just after.
    #[serde(flatten, with = "steady_costs::prices::alu")]
    #[schemars(with = "steady_costs::prices::alu::Fields")]
    pub alu: Reading<AluTime>,
    /// Processes that it left behind, and that were ended.
    pub left_behind: u32,
    /// What events cost here.
    pub prices: Prices,
}

/// A part of the CPU time: so many events at their price.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Part {
    /// What it is, in words: `page faults`, `read`, `process switches`.
    pub name: String,
    /// The event whose price it is.
    #[serde(rename = "event")]
    #[schemars(with = "String")]
    pub priced: Priced,
    /// Whether the price is only the least that such an event costs.
    pub at_least: bool,
    /// How many.
    #[serde(serialize_with = "figures::number")]
    #[schemars(with = "Reading<f64>")]
    pub count: f64,
    /// What one costs.
    #[serde(flatten, serialize_with = "figures::price")]
    #[schemars(with = "figures::PartPrice")]
    pub price: Price,
    /// Their time together.
    #[serde(serialize_with = "figures::number")]
    #[schemars(with = "Reading<f64>")]
    pub seconds: f64,
    /// Its interval.
    #[serde(flatten, serialize_with = "figures::interval")]
    #[schemars(with = "figures::PartInterval")]
    pub interval: Interval,
}

impl ExplainRecord {
    /// User and system time together.
    pub(crate) fn cpu(&self) -> Nanos {
        self.user_seconds + self.system_seconds
    }

    /// The record in a JSON text, exactly as it was measured, and judged again.
    ///
    /// # Errors
    /// What is wrong with it, and where; no input makes it panic.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let record: Self = json::record(&SCHEMA, text)?;
        holds(!record.command.argv.is_empty(), "command.argv", "empty")?;
        let times = [record.user_seconds, record.system_seconds];
        holds(times.iter().all(|time| *time < LONGEST), "cpu_seconds", "longer than any measuring")?;
        holds(record.tick_seconds != Ok(Nanos::ZERO), "tick_seconds", "zero")?;
        record.counts.check()?;
        Ok(judged(record))
    }
}

/// The command with the fields that it has in a comparison. It runs in the directory and the environment of `steady`.
fn as_in_comparisons<S: Serializer>(command: &AttendedCommand, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct InComparisons<'a> {
        #[serde(flatten)]
        command: &'a AttendedCommand,
        directory: (),
        environment: BTreeMap<String, String>,
        parameters: BTreeMap<String, String>,
        revision: (),
    }
    let (environment, parameters) = (BTreeMap::new(), BTreeMap::new());
    InComparisons { command, directory: (), environment, parameters, revision: () }.serialize(serializer)
}
