//! What a load experiment measured, and what follows from it; and what the rulers read, alone and next to neighbours: the
//! records and their JSON.

mod scaling;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use steady_model::{
    Absent, Activity, Command, Ending, Host, Machine, Nanos, Outcome, Reading, Seed, Timestamp, required,
};
use steady_render::json::{self, Group, ReadError, Schema, group};
use steady_rulers::{Neighbour, RulerReading, RulerRow};
use steady_stats::Scaling;

use crate::judge::judged;
use crate::run::Setting;

/// The schema of [`LoadRecord`] in JSON.
pub const SCHEMA: Schema = Schema { name: "steady.load/1", what: "a load experiment" };

/// The field of a row that is written only where raw samples are wanted.
pub(crate) const RUNS: &str = "runs";
/// No run lasts longer: 97 days. Sums of such times do not overflow.
const LONGEST: Nanos = Nanos((1 << 23) * 1_000_000_000);
/// Nothing happens more often: a double, and so any reader of JSON, counts it exactly.
const MOST: u64 = 1 << 53;

/// Everything that a load experiment measured, and what follows from it. Its fields are those of its JSON. What is derived (figures
/// and scaling) is written, and derived again when it is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRecord {
    /// The seed of the order, and of the work's random numbers.
    pub seed: Seed,
    /// When it was begun: a label.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// From the start of the first row to the end of the last.
    #[serde(rename = "elapsed_seconds")]
    pub elapsed: Nanos,
    /// What each process does: `hash`, `sum` or `command`.
    #[serde(skip_deserializing)]
    pub workload: &'static str,
    /// The unit of the work: `hashes`, `numbers` or `runs`.
    #[serde(skip_deserializing)]
    pub unit: &'static str,
    /// Where.
    pub host: Host,
    /// Its CPUs.
    #[serde(serialize_with = "machine")]
    #[schemars(with = "UsableMachine<'static>")]
    pub machine: Machine,
    /// The git revision of the directory that it was done in.
    pub revision: Reading<String>,
    /// CPU time per second of a sleeping thread that polls at the plan's interval, measured before the first row; absent where
    /// nothing polls.
    #[serde(rename = "poll_cost_ratio")]
    pub poll_cost: Reading<f64>,
    /// The rows by number of processes.
    pub rows: Vec<LoadRow>,
    /// What they say together; absent with fewer than two that have figures.
    #[serde(skip_deserializing, default = "not_judged", serialize_with = "scaling::serialize")]
    #[schemars(with = "Reading<scaling::ScalingFigures>")]
    pub scaling: Reading<Scaling>,
    /// Why it ended.
    pub ending: Ending,
    /// Why it ended early: what could not be started, or what failed, in words.
    #[serde(deserialize_with = "required")]
    pub failure: Option<String>,
    /// What was to be done.
    pub plan: LoadPlan,
}

/// What a load experiment will do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPlan {
    /// What each process does.
    pub work: LoadWork,
    /// The numbers of processes at once, ascending and without doubles, none of them 0. They are run in an order drawn
    /// from the seed, because a load that drifts must not look like one that grows with N.
    pub procs: Vec<u32>,
    /// The CPUs to keep to, if not all.
    #[serde(deserialize_with = "required")]
    pub cpus: Option<Vec<usize>>,
}

/// What each process does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadWork {
    /// Hashes of random input until so much of its own CPU time is used; the work is the number of hashes.
    Hash {
        /// The CPU time of each process.
        #[serde(rename = "cpu_time_seconds", alias = "cpu_time")]
        cpu_time: Nanos,
        /// How often a thread asleep in the process looks whether it is used; exact where none is asked for.
        #[serde(rename = "poll_seconds", alias = "poll", deserialize_with = "required")]
        poll: Option<Nanos>,
    },
    /// The sum of so many random numbers; the work is their number.
    Sum {
        /// How many.
        work: u64,
    },
    /// A command of the user's, again and again in each place for a while; the work of a run is 1.
    Command {
        /// The command.
        command: Command,
        /// No run is begun later than this after the first.
        #[serde(rename = "window_seconds", alias = "window")]
        window: Nanos,
    },
}

/// So many processes at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRow {
    /// How many.
    pub procs: u32,
    /// What they did in figures; absent if no process came to its end. Logs do not have them.
    #[serde(
        flatten,
        skip_deserializing,
        default = "not_judged",
        skip_serializing_if = "is_not_judged",
        serialize_with = "figures"
    )]
    #[schemars(with = "Group<Figures>")]
    pub figures: Reading<Figures>,
    /// How many runs the figures rest on.
    #[serde(skip_deserializing)]
    pub run_count: usize,
    /// Its place in time among the rows, from 0.
    // Logs of the first version have none: their rows come in this order.
    #[serde(default)]
    pub order: usize,
    /// When all of them were ready and set off, on the experiment's clock.
    #[serde(rename = "started_seconds", alias = "started")]
    pub started: Nanos,
    /// From then to the end of the last.
    #[serde(rename = "elapsed_seconds", alias = "elapsed")]
    pub elapsed: Nanos,
    /// CPU time that everything else on the machine used during the row, `steady` itself excluded.
    #[serde(rename = "others_cpu_seconds", alias = "others_cpu")]
    pub others_cpu: Reading<Nanos>,
    /// CPU time that `steady` itself used during the row, readings of the rulers included.
    #[serde(rename = "own_cpu_seconds", alias = "own_cpu")]
    pub own_cpu: Reading<Nanos>,
    /// What the logical CPUs did during the row, ascending by number.
    pub cpus: Vec<CpuUse>,
    /// What the rulers read while all processes ran.
    pub rulers: Vec<RulerReading>,
    /// What the machine was doing during the row.
    pub activity: Activity,
    /// What each process did. Written only if samples are wanted.
    #[schemars(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<LoadRun>,
}

/// A row in figures: means over its processes (for a command, over its runs).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Figures {
    /// CPU time, in seconds.
    pub cpu_seconds: f64,
    /// Wall time, in seconds.
    pub wall_seconds: f64,
    /// Work: hashes, numbers or runs.
    pub work: f64,
    /// Work per second of CPU time: all work over all CPU time.
    pub work_per_cpu_second: f64,
    /// Work per second of wall time of one process: all work over all wall time.
    pub work_per_wall_second: f64,
    /// CPU time beyond the limit, the median process, in seconds.
    pub overshoot_median_seconds: Reading<f64>,
    /// CPU time beyond the limit, the worst process, in seconds.
    pub overshoot_max_seconds: Reading<f64>,
    /// User time, in seconds.
    pub user_seconds: f64,
    /// Work per second of all processes together: `procs` times `work_per_wall_second`.
    pub throughput_per_second: f64,
    /// Time waiting for a CPU over wall time.
    pub waiting_ratio: Reading<f64>,
    /// CPU time of everything else per second: how many CPUs others kept busy.
    pub others_cpus: Reading<f64>,
    /// CPU time of `steady` itself over the CPU time that the machine had.
    pub own_ratio: Reading<f64>,
}

/// One logical CPU while a row ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// The kernel's number for it.
    pub cpu: usize,
    /// Share of the row's time in which it was in use, by anybody.
    pub busy_ratio: Reading<f64>,
    /// Share of the looks at the row's processes that found one running on it.
    pub ours_ratio: Reading<f64>,
}

/// What one process of a row did; for a command, one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRun {
    /// User time.
    #[serde(rename = "user_seconds", alias = "user")]
    pub user: Nanos,
    /// System time.
    #[serde(rename = "system_seconds", alias = "system")]
    pub system: Nanos,
    /// From its start (that of the work, once all were ready) to its end.
    #[serde(rename = "wall_seconds", alias = "wall")]
    pub wall: Nanos,
    /// Time spent runnable, waiting for a CPU.
    #[serde(rename = "run_delay_seconds", alias = "run_delay")]
    pub run_delay: Reading<Nanos>,
    /// Work done: hashes, numbers, or runs.
    pub work: u64,
    /// CPU time of the work beyond what it was to use; absent where it had no such limit.
    #[serde(rename = "overshoot_seconds", alias = "overshoot")]
    pub overshoot: Reading<Nanos>,
    /// How it ended.
    pub outcome: Outcome,
}

/// A row with the figures that it has.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// How many processes at once.
    pub procs: u32,
    /// The row.
    pub row: &'a LoadRow,
    /// Its figures.
    pub figures: &'a Figures,
}

impl LoadRun {
    /// User and system time together.
    pub fn cpu_time(&self) -> Nanos {
        self.user + self.system
    }
}

impl LoadWork {
    /// What each process does, in a word: `hash`, `sum` or `command`.
    fn name(&self) -> &'static str {
        match self {
            LoadWork::Hash { .. } => "hash",
            LoadWork::Sum { .. } => "sum",
            LoadWork::Command { .. } => "command",
        }
    }

    /// The unit of the work: `hashes`, `numbers` or `runs`.
    fn unit(&self) -> &'static str {
        match self {
            LoadWork::Hash { .. } => "hashes",
            LoadWork::Sum { .. } => "numbers",
            LoadWork::Command { .. } => "runs",
        }
    }
}

impl LoadRecord {
    /// The record of an experiment before its first row.
    pub fn begun(plan: LoadPlan, seed: Seed, setting: Setting, poll_cost: Reading<f64>) -> Self {
        LoadRecord {
            seed,
            started: setting.started,
            elapsed: Nanos::ZERO,
            workload: plan.work.name(),
            unit: plan.work.unit(),
            host: setting.host,
            machine: setting.machine,
            revision: setting.revision,
            poll_cost,
            rows: vec![],
            scaling: not_judged(),
            ending: Ending::Interrupted,
            failure: None,
            plan,
        }
    }

    /// The rows that have figures, by number of processes.
    pub fn points(&self) -> Vec<Point<'_>> {
        self.rows.iter().filter_map(LoadRow::point).collect()
    }

    /// The record in a JSON text that was written with its samples, exactly as it was measured, and judged again.
    ///
    /// # Errors
    /// What is wrong with it, and where; no input makes it panic, no number of processes stands there twice, and no sum of its
    /// times or of its work overflows.
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

    /// An error where the record contradicts itself, or where its sums would overflow.
    fn check(&self) -> Result<(), ReadError> {
        if let LoadWork::Command { command, .. } = &self.plan.work {
            holds(!command.argv.is_empty(), "plan.work.command.command.argv", "empty")?;
        }
        holds(self.plan.procs.iter().all(|procs| *procs > 0), "plan.procs", "a row of no processes")?;
        holds(self.elapsed < LONGEST, "elapsed_seconds", "longer than any measuring")?;
        let (mut procs, mut orders) = (BTreeSet::new(), BTreeSet::new());
        let mut sums = Sums::default();
        for (at, row) in self.rows.iter().enumerate() {
            let is_free = row.order < self.rows.len() && orders.insert(row.order);
            let problem = format!("{} is the place of another row, or of none", row.order);
            holds(is_free, &format!("rows[{at}].order"), &problem)?;
            let path = format!("the row of N = {}", row.procs);
            holds(row.procs > 0, &path, "there is no such row")?;
            holds(procs.insert(row.procs), &path, "it stands there twice")?;
            row.check(&path, &mut sums)?;
        }
        Ok(())
    }

    /// The record as JSON, with the runs of each row where samples are wanted.
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
    /// A row of which no more is known than when it ran and what the machine was doing. It has no runs.
    pub fn new(procs: u32, started: Nanos, elapsed: Nanos, activity: Activity) -> Self {
        let unknown = || Err(Absent::because("it was not measured"));
        LoadRow {
            procs,
            figures: not_judged(),
            run_count: 0,
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

    /// Whether its times and counts are such that there can be.
    fn check(&self, path: &str, sums: &mut Sums) -> Result<(), ReadError> {
        let times = [
            ("started_seconds", self.started),
            ("elapsed_seconds", self.elapsed),
            ("others_cpu_seconds", *self.others_cpu.as_ref().unwrap_or(&Nanos::ZERO)),
            ("own_cpu_seconds", *self.own_cpu.as_ref().unwrap_or(&Nanos::ZERO)),
        ];
        for (name, time) in times {
            // Of many CPUs that work at once there may be more than there is of time.
            let most = Nanos(LONGEST.0.saturating_mul(1024));
            holds(time < most, &format!("{path}: {name}"), "longer than any measuring")?;
        }
        sums.add(&[self.started.0, self.elapsed.0], 0, path)?;
        for (index, run) in self.runs.iter().enumerate() {
            run.check(&format!("{path}: runs[{index}]"), sums)?;
        }
        Ok(())
    }
}

impl LoadRun {
    /// Whether its times and counts are such that there can be.
    fn check(&self, path: &str, sums: &mut Sums) -> Result<(), ReadError> {
        let times = [
            ("user_seconds", self.user),
            ("system_seconds", self.system),
            ("wall_seconds", self.wall),
            ("run_delay_seconds", *self.run_delay.as_ref().unwrap_or(&Nanos::ZERO)),
            ("overshoot_seconds", *self.overshoot.as_ref().unwrap_or(&Nanos::ZERO)),
        ];
        for (name, time) in times {
            holds(time < LONGEST, &format!("{path}.{name}"), "longer than any measuring")?;
        }
        holds(self.work <= MOST, &format!("{path}.work"), "more than there can be")?;
        sums.add(&times.map(|(_, time)| time.0), self.work, path)
    }
}

fn holds(condition: bool, path: &str, problem: &str) -> Result<(), ReadError> {
    if condition { Ok(()) } else { Err(ReadError::inconsistent(path, problem)) }
}

/// Running totals, kept so that no sum made of the record later can overflow.
#[derive(Default)]
struct Sums {
    time: u64,
    work: u64,
}

impl Sums {
    fn add(&mut self, times: &[u64], work: u64, path: &str) -> Result<(), ReadError> {
        let time = times.iter().try_fold(self.time, |sum, time| sum.checked_add(*time));
        match (time, self.work.checked_add(work)) {
            (Some(time), Some(work)) => (self.time, self.work) = (time, work),
            _ => return Err(ReadError::inconsistent(path, "what is above adds up to more than there can be")),
        }
        Ok(())
    }
}

/// Why what is derived is absent before it is derived.
const NOT_JUDGED: &str = "it was not judged";

fn not_judged<T>() -> Reading<T> {
    Err(Absent::because(NOT_JUDGED))
}

fn is_not_judged<T>(reading: &Reading<T>) -> bool {
    reading.as_ref().is_err_and(|absent| absent.0 == NOT_JUDGED)
}

/// A machine, and how many CPUs' worth of time can be had of it.
#[derive(Serialize, JsonSchema)]
struct UsableMachine<'a> {
    #[serde(flatten)]
    machine: &'a Machine,
    /// The allowed CPUs, or the quota where that is less.
    usable_cpus: f64,
}

fn machine<S: Serializer>(machine: &Machine, serializer: S) -> Result<S::Ok, S::Error> {
    UsableMachine { machine, usable_cpus: machine.usable_cpus() }.serialize(serializer)
}

fn figures<S: Serializer>(figures: &Reading<Figures>, serializer: S) -> Result<S::Ok, S::Error> {
    const NAMES: [&str; 12] = [
        "cpu_seconds",
        "wall_seconds",
        "work",
        "work_per_cpu_second",
        "work_per_wall_second",
        "overshoot_median_seconds",
        "overshoot_max_seconds",
        "user_seconds",
        "throughput_per_second",
        "waiting_ratio",
        "others_cpus",
        "own_ratio",
    ];
    group(&NAMES, figures, serializer)
}

/// The schema of [`RulerRecord`] in JSON.
pub const RULERS_SCHEMA: Schema = Schema { name: "steady.rulers/1", what: "readings of rulers" };

/// Everything that `steady load --rulers` measured. Its fields are those of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RulerRecord {
    /// The seed of the order of the rows and rulers.
    pub seed: Seed,
    /// When it was begun: a label.
    #[serde(with = "steady_render::timestamp")]
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// From the first reading to the end.
    #[serde(rename = "elapsed_seconds")]
    pub elapsed: Nanos,
    /// What the neighbours did; none where none were asked for.
    #[serde(deserialize_with = "required")]
    pub neighbour: Option<Neighbour>,
    /// Where.
    pub host: Host,
    /// Its CPUs.
    pub machine: Machine,
    /// The git revision of the directory that it was done in.
    pub revision: Reading<String>,
    /// The rows by number of neighbours.
    pub rows: Vec<RulerRow>,
    /// Why it ended.
    pub ending: Ending,
    /// Why it ended early, where neighbours were lost or could not be had; the rows that are whole are there.
    #[serde(deserialize_with = "required")]
    pub failure: Option<String>,
}

impl RulerRecord {
    /// The record in a JSON text, exactly as it was.
    ///
    /// # Errors
    /// What is wrong with it, and where; no input makes it panic.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        json::record(&RULERS_SCHEMA, text)
    }
}
