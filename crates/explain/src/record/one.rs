//! The record of one command.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use steady_costs::prices::{Price, Priced, Prices};
use steady_feature::attended::AttendedCommand;
use steady_model::{Activity, AluTime, Host, Interval, Nanos, Outcome, Reading, Timestamp};
use steady_render::json::{self, ReadError};

use super::{Counts, LONGEST, Missing, ProcessUse, Progress, SCHEMA, figures, holds, not_judged};
use crate::judged;

/// The times and counts of a command that has ended, and where its time went. Its fields are those of its JSON. Derived
/// fields (CPU time, parts, the unexplained rest, notes) are written and never read: [`judged`] computes them again.
///
/// If a tracer counted the system calls (`trace`), the times include the tracer's stops at each call. The counts are
/// those of the command, but its times without a tracer are unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainRecord {
    /// Time of day at the start.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// The command line and its program.
    #[serde(serialize_with = "as_in_comparisons")]
    pub command: AttendedCommand,
    /// The program that runs the command, if it is a script: the one that its first line names. Missing for others, and
    /// in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "steady_model::path::optional")]
    #[schemars(with = "Option<steady_model::path::Form>")]
    pub interpreter: Option<PathBuf>,
    /// Whether a tracer stopped the command at each system call. Its times are then distorted, and
    /// `unexplained_seconds` is absent.
    pub trace: bool,
    /// Whether the text report lists each process.
    pub by_process: bool,
    /// The machine that the command ran on.
    pub host: Host,
    /// Git revision of the working directory.
    pub revision: Reading<String>,
    /// Exit status or signal of the command.
    pub ended: Outcome,
    /// Time from start to end, without the time in which the command was stopped.
    pub wall_seconds: Nanos,
    /// User and system time of the process tree. Derived.
    #[serde(skip_deserializing)]
    pub cpu_seconds: Nanos,
    /// User time of the process tree, as the kernel reports it. If `system_low_seconds` is absent, the processes were
    /// too short for the kernel's ticks, and reports show neither user nor system time.
    pub user_seconds: Nanos,
    /// System time of the process tree, as the kernel reports it. If the kernel samples at ticks, only the sum of user
    /// and system time is exact.
    pub system_seconds: Nanos,
    /// Interval of the system time in seconds, from the kernel's ticks. It is a point if the system time is exact, and
    /// absent if the ticks show nothing. Derived.
    #[serde(flatten, skip_deserializing, default = "not_judged", serialize_with = "figures::system")]
    #[schemars(with = "figures::System")]
    pub system_interval: Reading<Interval>,
    /// Length of the ticks at which the kernel samples user and system time; absent if both are exact.
    pub tick_seconds: Reading<Nanos>,
    /// Sum of the lifetimes of all threads, without the time in which they were stopped. With a single thread it is the
    /// wall time.
    pub thread_seconds: Reading<Nanos>,
    /// Part of `thread_seconds` in which threads were runnable and waited for a CPU.
    pub waiting_seconds: Reading<Nanos>,
    /// Part of `thread_seconds` in which threads were blocked: `thread_seconds` minus CPU time and waiting. Derived.
    #[serde(skip_deserializing, default = "not_judged::<f64>")]
    pub blocked_seconds: Reading<f64>,
    /// Time in which the command was stopped by job control. It is not in the other times.
    pub stopped_seconds: Nanos,
    /// Numbers of page faults, context switches, forks and other events.
    pub counts: Counts,
    /// Modelled parts of the CPU time, the largest first. They do not overlap. Derived.
    #[serde(skip_deserializing)]
    pub parts: Vec<Part>,
    /// CPU time that neither the parts nor the cost of counting explain, in seconds, with its interval. It is the
    /// program's own code and kernel work beyond the prices. It is negative if the parts exceed the CPU time, and
    /// absent if a tracer distorted the times. Derived.
    #[serde(flatten, skip_deserializing, default = "not_judged", serialize_with = "figures::unexplained")]
    #[schemars(with = "figures::Unexplained")]
    pub unexplained: Reading<(f64, Interval)>,
    /// Prices and counts that could not be measured. Derived.
    #[serde(skip_deserializing)]
    pub missing: Vec<Missing>,
    /// Notes for the reader, as sentences. Derived.
    #[serde(skip_deserializing)]
    pub notes: Vec<String>,
    /// Sources of the counts, one string each: `system calls: the raw_syscalls tracepoint`.
    pub sources: Vec<String>,
    /// Estimated CPU time that counting added to the command.
    pub counting_cost_seconds: Reading<Nanos>,
    /// The processes of the tree, by falling CPU time: at most 10,000.
    pub processes: Reading<Vec<ProcessUse>>,
    /// Whether samples of /proc provided `processes`. Then processes that started and ended between two samples are
    /// missing, and so is what others used after their last one. False in records of earlier versions.
    #[serde(default)]
    pub processes_sampled: bool,
    /// Cumulative use at points during the run; empty for short runs.
    pub progress: Vec<Progress>,
    /// Activity of the machine during the run.
    #[serde(alias = "load")]
    pub activity: Activity,
    /// CPU clock rate just before and just after the run.
    #[serde(flatten, with = "steady_costs::prices::alu")]
    #[schemars(with = "steady_costs::prices::alu::Fields")]
    pub alu: Reading<AluTime>,
    /// Number of processes that outlived the command and were killed.
    pub left_behind: u32,
    /// Prices of events on this machine.
    pub prices: Prices,
}

/// A part of the CPU time: the number of events of a kind times their price.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Part {
    /// Name of the events: `page faults`, `read`, `switches`.
    pub name: String,
    /// The event whose price was used.
    #[serde(rename = "event")]
    #[schemars(with = "String")]
    pub priced: Priced,
    /// Whether the price is a lower bound for such an event; for execs, whether the count is a lower bound.
    pub at_least: bool,
    /// Number of events of this kind.
    #[serde(serialize_with = "figures::number")]
    #[schemars(with = "Reading<f64>")]
    pub count: f64,
    /// CPU time of one event.
    #[serde(flatten, serialize_with = "figures::price")]
    #[schemars(with = "figures::PartPrice")]
    pub price: Price,
    /// CPU time of all events of this kind.
    #[serde(serialize_with = "figures::number")]
    #[schemars(with = "Reading<f64>")]
    pub seconds: f64,
    /// Interval of the field `seconds`.
    #[serde(flatten, serialize_with = "figures::interval")]
    #[schemars(with = "figures::PartInterval")]
    pub interval: Interval,
}

impl ExplainRecord {
    /// User plus system time.
    pub(crate) fn cpu(&self) -> Nanos {
        self.user_seconds + self.system_seconds
    }

    /// Interval of the user time, in seconds: the CPU time is exact, so it mirrors that of the system time.
    pub(crate) fn user_interval(&self) -> Reading<Interval> {
        let cpu = self.cpu().seconds();
        self.system_interval
            .clone()
            .map(|system| Interval { low: (cpu - system.high).max(0.0), high: cpu - system.low })
    }

    /// Reads a record from JSON, exactly as it was measured, and judges it again.
    ///
    /// # Errors
    /// Returns what is wrong with the text, and where. No input causes a panic.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let record: Self = json::record(&SCHEMA, text)?;
        holds(!record.command.argv.is_empty(), "command.argv", "empty")?;
        let times = [record.user_seconds, record.system_seconds];
        holds(times.iter().all(|time| *time < LONGEST), "cpu_seconds", "longer than any measurement")?;
        holds(record.tick_seconds != Ok(Nanos::ZERO), "tick_seconds", "zero")?;
        record.counts.check()?;
        Ok(judged(record))
    }
}

/// Writes the command with the fields that commands have in a comparison. It runs in the directory and the environment
/// of `steady`.
fn as_in_comparisons<S: Serializer>(command: &AttendedCommand, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct InComparisons<'a> {
        #[serde(flatten)]
        command: &'a AttendedCommand,
        directory: Option<()>,
        environment: BTreeMap<String, String>,
        parameters: BTreeMap<String, String>,
        revision: Option<()>,
    }
    let (environment, parameters) = (BTreeMap::new(), BTreeMap::new());
    InComparisons { command, directory: None, environment, parameters, revision: None }.serialize(serializer)
}
