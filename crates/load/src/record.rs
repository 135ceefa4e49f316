//! The records of load experiments and of ruler readings, and their JSON.

pub(crate) mod scaling;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use steady_model::{
    Absent, Activity, Command, Ending, Host, Machine, Nanos, Outcome, OverflowCheck, Reading, RunKind, Seed, Timestamp,
    required,
};
use steady_render::json::{self, Group, ReadError, Schema, group};
use steady_rulers::{Neighbour, RulerReading, RulerRow};
use steady_stats::Scaling;

use crate::judge::judged;
use crate::run::LoadContext;

/// The schema of [`LoadRecord`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.load/1", what: "a load experiment" };
/// The kind of this record in the history.
pub(crate) const KIND: RunKind = RunKind::new("load");

/// The field of a row that is written only if raw samples are requested.
pub(crate) const RUNS: &str = "runs";
/// Maximum length of a run that is accepted: 97 days. Sums of such times do not overflow.
const MAX_TIME: Nanos = Nanos((1 << 23) * 1_000_000_000);
/// Maximum count that is accepted: the largest up to which a double, and so any reader of JSON, is exact.
const MAX_COUNT: u64 = 1 << 53;
/// The problem of a record whose sums could overflow.
const TOO_LARGE: &str = "the sum up to here is too large";

/// All measurements of a load experiment, and the results. Its fields are those of its JSON. Derived fields (figures
/// and scaling) are written, but computed again when the record is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRecord {
    /// Seed of the order of the rows and of the random numbers of the work.
    pub seed: Seed,
    /// Time of day at which it started.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// Wall time from the start of the first row to the end of the last.
    #[serde(rename = "elapsed_seconds")]
    pub elapsed: Nanos,
    /// What each process does: `hash`, `sum` or `command`.
    #[serde(skip_deserializing)]
    pub workload: &'static str,
    /// The unit of the work: `hashes`, `numbers` or `runs`.
    #[serde(skip_deserializing)]
    pub unit: &'static str,
    /// The host that it ran on.
    pub host: Host,
    /// The CPUs of the host.
    #[serde(serialize_with = "machine")]
    #[schemars(with = "UsableMachine<'static>")]
    pub machine: Machine,
    /// Git revision of the directory that it ran in.
    pub revision: Reading<String>,
    /// CPU time per second of a thread that polls at the plan's interval, measured before the first row. Absent if no
    /// thread polls.
    #[serde(rename = "poll_cost_ratio")]
    pub poll_cost: Reading<f64>,
    /// The rows, by number of processes.
    pub rows: Vec<LoadRow>,
    /// Scaling over all rows; absent with fewer than two rows with figures.
    #[serde(skip_deserializing, default = "not_judged", serialize_with = "scaling::serialize")]
    #[schemars(with = "Reading<scaling::ScalingFigures>")]
    pub scaling: Reading<Scaling>,
    /// Why it ended: all rows were measured, or it was interrupted.
    pub ending: Ending,
    /// Why it ended early: what could not be started, or what failed. Null if nothing failed.
    #[serde(deserialize_with = "required")]
    pub failure: Option<String>,
    /// The plan of the experiment.
    pub plan: LoadPlan,
}

/// The plan of a load experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPlan {
    /// The work of each process.
    pub work: LoadWork,
    /// The numbers of concurrent processes: ascending, without duplicates, each at least 1. The seed determines a
    /// random order of the rows. So a drift of the machine does not look like an effect of the number of processes.
    pub procs: Vec<u32>,
    /// The CPUs that the processes may use; null for all.
    #[serde(deserialize_with = "required")]
    pub cpus: Option<Vec<usize>>,
}

/// The work of each process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadWork {
    /// Hash random input until the process has used its CPU time. The work is the number of hashes.
    Hash {
        /// CPU time that each process uses.
        #[serde(rename = "cpu_time_seconds", alias = "cpu_time")]
        cpu_time: Nanos,
        /// Interval between the checks of a thread that enforces the CPU time; null if the limit is exact.
        #[serde(rename = "poll_seconds", alias = "poll", deserialize_with = "required")]
        poll: Option<Nanos>,
    },
    /// Add random numbers. The work is their number.
    Sum {
        /// Number of random numbers.
        work: u64,
    },
    /// Run a command of the user repeatedly in each worker. The work of a run is 1.
    Command {
        /// The command that is run.
        command: Command,
        /// Time after the start of the first run in which further runs start.
        #[serde(rename = "window_seconds", alias = "window")]
        window: Nanos,
    },
}

/// The measurements of a row of concurrent processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRow {
    /// Number of concurrent processes.
    pub procs: u32,
    /// Figures of the row; absent if no process succeeded. Logs do not contain them.
    #[serde(
        flatten,
        skip_deserializing,
        default = "not_judged",
        skip_serializing_if = "is_not_judged",
        serialize_with = "figures"
    )]
    #[schemars(with = "Group<Figures>")]
    pub figures: Reading<Figures>,
    /// Number of runs that the figures are based on.
    #[serde(skip_deserializing)]
    pub run_count: usize,
    /// Number of processes that these runs left behind. They were killed, and their CPU time is included.
    #[serde(skip_deserializing)]
    pub left_behind: u64,
    /// Position of the row in the order of measurement, from 0.
    // Logs of the first version lack this field; their rows are in this order.
    #[serde(default)]
    pub order: usize,
    /// When all processes were ready and started their work, in time since the start of the experiment.
    #[serde(rename = "started_seconds", alias = "started")]
    pub started: Nanos,
    /// Time from then to the end of the last process.
    #[serde(rename = "elapsed_seconds", alias = "elapsed")]
    pub elapsed: Nanos,
    /// CPU time that everything else on the machine used during the row, without `steady` itself.
    #[serde(rename = "others_cpu_seconds", alias = "others_cpu")]
    pub others_cpu: Reading<Nanos>,
    /// CPU time that `steady` itself used during the row, including readings of the rulers.
    #[serde(rename = "own_cpu_seconds", alias = "own_cpu")]
    pub own_cpu: Reading<Nanos>,
    /// Use of each logical CPU during the row, ascending by number.
    pub cpus: Vec<CpuUse>,
    /// Readings of the rulers while all processes ran.
    pub rulers: Vec<RulerReading>,
    /// Activity of the machine during the row.
    pub activity: Activity,
    /// Measurements of each process. Written only if samples are requested.
    #[schemars(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<LoadRun>,
}

/// Figures of a row: means over its processes (for a command, over its runs).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Figures {
    /// Mean CPU time, in seconds.
    pub cpu_seconds: f64,
    /// Mean wall time, in seconds.
    pub wall_seconds: f64,
    /// Mean work: hashes, numbers or runs.
    pub work: f64,
    /// Work per second of CPU time: all work over all CPU time.
    pub work_per_cpu_second: f64,
    /// Work per second of wall time of one process: all work over all wall time.
    pub work_per_wall_second: f64,
    /// CPU time beyond the limit, the median process, in seconds.
    pub overshoot_median_seconds: Reading<f64>,
    /// CPU time beyond the limit, the worst process, in seconds.
    pub overshoot_max_seconds: Reading<f64>,
    /// Mean user time, in seconds.
    pub user_seconds: f64,
    /// Mean system time, in seconds.
    pub system_seconds: f64,
    /// Work per second of all processes: `procs` times `work_per_wall_second`.
    pub throughput_per_second: f64,
    /// Time waiting for a CPU (run delay), divided by wall time.
    pub waiting_ratio: Reading<f64>,
    /// CPU time of everything else per second: the number of CPUs that others used.
    pub others_cpus: Reading<f64>,
    /// CPU time of `steady` itself, divided by the CPU time of the machine.
    pub own_ratio: Reading<f64>,
}

/// Use of one logical CPU during a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// Number of the CPU in the kernel.
    pub cpu: usize,
    /// Share of the row's time in which any process used it.
    pub busy_ratio: Reading<f64>,
    /// Share of the samples that found a process of the row runnable on it: running, or waiting for it.
    pub ours_ratio: Reading<f64>,
}

/// Measurements of one process of a row; for a command, of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRun {
    /// User time of the process.
    #[serde(rename = "user_seconds", alias = "user")]
    pub user: Nanos,
    /// System time of the process.
    #[serde(rename = "system_seconds", alias = "system")]
    pub system: Nanos,
    /// Wall time from the start of the work, when all processes were ready, to its end.
    #[serde(rename = "wall_seconds", alias = "wall")]
    pub wall: Nanos,
    /// Time that it was runnable and waited for a CPU (run delay).
    #[serde(rename = "run_delay_seconds", alias = "run_delay")]
    pub run_delay: Reading<Nanos>,
    /// Work done: hashes, numbers, or runs.
    pub work: u64,
    /// CPU time beyond the limit; absent if there is no limit.
    #[serde(rename = "overshoot_seconds", alias = "overshoot")]
    pub overshoot: Reading<Nanos>,
    /// How the process ended.
    pub outcome: Outcome,
    /// Number of processes that it left behind. They were killed, and their CPU time is included.
    #[serde(default)]
    pub left_behind: u32,
}

/// A row that has figures.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// Number of concurrent processes.
    pub procs: u32,
    /// The measurements of the row.
    pub row: &'a LoadRow,
    /// The figures of the row.
    pub figures: &'a Figures,
}

impl LoadRun {
    /// Returns the sum of user and system time.
    pub fn cpu_time(&self) -> Nanos {
        self.user + self.system
    }
}

impl LoadWork {
    /// Returns the name of the work: `hash`, `sum` or `command`.
    fn name(&self) -> &'static str {
        match self {
            LoadWork::Hash { .. } => "hash",
            LoadWork::Sum { .. } => "sum",
            LoadWork::Command { .. } => "command",
        }
    }

    /// Returns the unit of the work: `hashes`, `numbers` or `runs`.
    fn unit(&self) -> &'static str {
        match self {
            LoadWork::Hash { .. } => "hashes",
            LoadWork::Sum { .. } => "numbers",
            LoadWork::Command { .. } => "runs",
        }
    }
}

impl LoadRecord {
    /// Returns the record of an experiment before its first row.
    pub fn begun(plan: LoadPlan, seed: Seed, context: LoadContext, poll_cost: Reading<f64>) -> Self {
        LoadRecord {
            seed,
            started: context.started,
            elapsed: Nanos::ZERO,
            workload: plan.work.name(),
            unit: plan.work.unit(),
            host: context.host,
            machine: context.machine,
            revision: context.revision,
            poll_cost,
            rows: vec![],
            scaling: not_judged(),
            ending: Ending::Interrupted,
            failure: None,
            plan,
        }
    }

    /// Returns the rows that have figures, by number of processes.
    pub fn points(&self) -> Vec<Point<'_>> {
        self.rows.iter().filter_map(LoadRow::point).collect()
    }

    /// Reads a record from a JSON text with samples, and derives figures and scaling again.
    ///
    /// # Errors
    /// Returns what is wrong with the text, and where. No input makes it panic. In a record that it returns, numbers of
    /// processes are unique, and sums of times and of work do not overflow.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let without = |row: &Value| row.is_object() && row.get(RUNS).is_none_or(Value::is_null);
        let read: Result<Self, ReadError> = json::record(&SCHEMA, text);
        if read.is_err() {
            let value = SCHEMA.value(text)?;
            if value.get("rows").and_then(Value::as_array).is_some_and(|rows| rows.iter().any(without)) {
                return Err(ReadError::WithoutSamples);
            }
        }
        let mut record = read?;
        record.check()?;
        (record.workload, record.unit) = (record.plan.work.name(), record.plan.work.unit());
        record.rows.sort_by_key(|row| row.procs);
        Ok(judged(record))
    }

    /// Checks that the record is consistent, and that its sums do not overflow.
    fn check(&self) -> Result<(), ReadError> {
        if let LoadWork::Command { command, .. } = &self.plan.work {
            holds(!command.argv.is_empty(), "plan.work.command.command.argv", "empty")?;
        }
        holds(self.plan.procs.iter().all(|procs| *procs > 0), "plan.procs", "a row must have at least 1 process")?;
        holds(self.elapsed < MAX_TIME, "elapsed_seconds", "longer than any measurement")?;
        let (mut procs, mut orders) = (BTreeSet::new(), BTreeSet::new());
        let mut totals = OverflowCheck::default();
        for (at, row) in self.rows.iter().enumerate() {
            let is_free = row.order < self.rows.len() && orders.insert(row.order);
            let problem = format!("{} is the position of another row, or of none", row.order);
            holds(is_free, &format!("rows[{at}].order"), &problem)?;
            let path = format!("the row of N = {}", row.procs);
            holds(row.procs > 0, &path, "a row must have at least 1 process")?;
            holds(procs.insert(row.procs), &path, "there are two rows with this number of processes")?;
            row.check(&path, &mut totals)?;
        }
        Ok(())
    }

    /// Returns the record as JSON, with the runs of each row if samples are requested.
    pub(crate) fn value(&self, samples: bool) -> Value {
        let mut value = json::value(&SCHEMA, self);
        if !samples {
            let rows = value.get_mut("rows").and_then(Value::as_array_mut).into_iter().flatten();
            rows.filter_map(Value::as_object_mut).for_each(|row| {
                row.shift_remove(RUNS);
            });
        }
        value
    }
}

impl LoadRow {
    /// Returns a row without runs, for which only its time and the activity of the machine are known.
    pub fn new(procs: u32, started: Nanos, elapsed: Nanos, activity: Activity) -> Self {
        let unknown = || Err(Absent::because("it was not measured"));
        LoadRow {
            procs,
            figures: not_judged(),
            run_count: 0,
            left_behind: 0,
            order: 0,
            started,
            elapsed,
            others_cpu: unknown(),
            own_cpu: unknown(),
            cpus: vec![],
            rulers: vec![],
            activity,
            runs: vec![],
        }
    }

    fn point(&self) -> Option<Point<'_>> {
        Some(Point { procs: self.procs, row: self, figures: self.figures.as_ref().ok()? })
    }

    /// Checks that its times and counts are possible.
    fn check(&self, path: &str, totals: &mut OverflowCheck) -> Result<(), ReadError> {
        let times = [
            ("started_seconds", self.started),
            ("elapsed_seconds", self.elapsed),
            ("others_cpu_seconds", *self.others_cpu.as_ref().unwrap_or(&Nanos::ZERO)),
            ("own_cpu_seconds", *self.own_cpu.as_ref().unwrap_or(&Nanos::ZERO)),
        ];
        for (name, time) in times {
            // CPU time of many concurrent CPUs may exceed the wall time.
            let most = Nanos(MAX_TIME.0.saturating_mul(1024));
            holds(time < most, &format!("{path}: {name}"), "longer than any measurement")?;
        }
        holds(totals.add(&[self.started, self.elapsed], &[]), path, TOO_LARGE)?;
        for (index, run) in self.runs.iter().enumerate() {
            run.check(&format!("{path}: runs[{index}]"), totals)?;
        }
        Ok(())
    }
}

impl LoadRun {
    /// Checks that its times and counts are possible.
    fn check(&self, path: &str, totals: &mut OverflowCheck) -> Result<(), ReadError> {
        let times = [
            ("user_seconds", self.user),
            ("system_seconds", self.system),
            ("wall_seconds", self.wall),
            ("run_delay_seconds", *self.run_delay.as_ref().unwrap_or(&Nanos::ZERO)),
            ("overshoot_seconds", *self.overshoot.as_ref().unwrap_or(&Nanos::ZERO)),
        ];
        for (name, time) in times {
            holds(time < MAX_TIME, &format!("{path}.{name}"), "longer than any measurement")?;
        }
        holds(self.work <= MAX_COUNT, &format!("{path}.work"), "larger than the largest exact count")?;
        holds(totals.add(&times.map(|(_, time)| time), &[self.work]), path, TOO_LARGE)
    }
}

fn holds(condition: bool, path: &str, problem: &str) -> Result<(), ReadError> {
    if condition { Ok(()) } else { Err(ReadError::inconsistent(path, problem)) }
}

/// The reason for which derived fields are absent before they are computed.
const NOT_JUDGED: &str = "it was not evaluated";

fn not_judged<T>() -> Reading<T> {
    Err(Absent::because(NOT_JUDGED))
}

fn is_not_judged<T>(reading: &Reading<T>) -> bool {
    reading.as_ref().is_err_and(|absent| absent.0 == NOT_JUDGED)
}

/// A machine, and the number of CPUs that can be used at full speed.
#[derive(Serialize, JsonSchema)]
struct UsableMachine<'a> {
    #[serde(flatten)]
    machine: &'a Machine,
    /// The number of allowed CPUs, or the quota if it is smaller.
    usable_cpus: f64,
}

fn machine<S: Serializer>(machine: &Machine, serializer: S) -> Result<S::Ok, S::Error> {
    UsableMachine { machine, usable_cpus: machine.usable_cpus() }.serialize(serializer)
}

fn figures<S: Serializer>(figures: &Reading<Figures>, serializer: S) -> Result<S::Ok, S::Error> {
    const NAMES: [&str; 13] = [
        "cpu_seconds",
        "wall_seconds",
        "work",
        "work_per_cpu_second",
        "work_per_wall_second",
        "overshoot_median_seconds",
        "overshoot_max_seconds",
        "user_seconds",
        "system_seconds",
        "throughput_per_second",
        "waiting_ratio",
        "others_cpus",
        "own_ratio",
    ];
    group(&NAMES, figures, serializer)
}

/// The schema of [`RulerRecord`] in JSON.
pub const RULERS_SCHEMA: Schema = Schema { name: "steady.rulers/1", what: "readings of rulers" };
/// The kind of this record in the history.
pub(crate) const RULERS_KIND: RunKind = RunKind::new("rulers");

/// All measurements of `steady load --rulers`. Its fields are those of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RulerRecord {
    /// Seed of the order of rows and rulers.
    pub seed: Seed,
    /// Time of day at which it started.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// Wall time from the first reading to the end.
    #[serde(rename = "elapsed_seconds")]
    pub elapsed: Nanos,
    /// The kind of the neighbours; null if none were requested.
    #[serde(deserialize_with = "required")]
    pub neighbour: Option<Neighbour>,
    /// Whether earlier runs left readings of this host. If not, slowdowns are relative to the best reading of this run.
    #[serde(default = "has_earlier_readings")]
    pub earlier_readings: bool,
    /// The host that it ran on.
    pub host: Host,
    /// The CPUs of the host.
    pub machine: Machine,
    /// Git revision of the directory that it ran in.
    pub revision: Reading<String>,
    /// The rows, by number of neighbours.
    pub rows: Vec<RulerRow>,
    /// Why it ended: all rows were measured, or it was interrupted.
    pub ending: Ending,
    /// Why it ended early: neighbours could not be started or ended. The complete rows are in `rows`. Null if nothing
    /// failed.
    #[serde(deserialize_with = "required")]
    pub failure: Option<String>,
}

/// The value of [`RulerRecord::earlier_readings`] in a record of a version without this field.
fn has_earlier_readings() -> bool {
    true
}

impl RulerRecord {
    /// Reads a record from its JSON text.
    ///
    /// # Errors
    /// Returns what is wrong with the text, and where. No input makes it panic.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        json::record(&RULERS_SCHEMA, text)
    }
}
