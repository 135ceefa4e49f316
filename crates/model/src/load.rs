//! How CPU time and wall time move with load: so many processes at once, and what each got done.

use serde::{Deserialize, Serialize};

use crate::{
    Absent, Activity, Command, Ending, Host, Interval, Machine, Nanos, Outcome, Reading, RulerReading, Seed, Timestamp,
};

/// What each process does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadWork {
    /// Hashes of random input until so much of its own CPU time is used; the work is the number of hashes.
    Hash {
        /// The CPU time of each process.
        cpu_time: Nanos,
        /// How often a thread asleep in the process looks whether it is used; exact where none is asked for.
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
        window: Nanos,
    },
}

/// What a load experiment will do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadPlan {
    /// What each process does.
    pub work: LoadWork,
    /// The numbers of processes at once, ascending and without doubles, none of them 0. They are run in an order drawn
    /// from the seed, for a load that drifts must not look like one that grows with N.
    pub procs: Vec<u32>,
    /// The CPUs to keep to, if not all.
    pub cpus: Option<Vec<usize>>,
    /// The seed of the order, and of the work's random numbers.
    pub seed: Seed,
}

/// What one process of a row did; for a command, one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadRun {
    /// User time.
    pub user: Nanos,
    /// System time.
    pub system: Nanos,
    /// From its start (that of the work, once all were ready) to its end.
    pub wall: Nanos,
    /// Time spent runnable, waiting for a CPU.
    pub run_delay: Reading<Nanos>,
    /// Work done: hashes, numbers, or runs.
    pub work: u64,
    /// CPU time of the work beyond what it was to use; absent where it had no such limit.
    pub overshoot: Reading<Nanos>,
    /// How it ended.
    pub outcome: Outcome,
}

impl LoadRun {
    /// User and system time together.
    pub fn cpu_time(&self) -> Nanos {
        self.user + self.system
    }
}

/// One logical CPU while a row ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuUse {
    /// The kernel's number for it.
    pub cpu: usize,
    /// Share of the row's time in which it was in use, by anybody.
    pub busy_ratio: Reading<f64>,
    /// Share of the looks at the row's processes that found one running on it.
    pub ours_ratio: Reading<f64>,
}

/// So many processes at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadRow {
    /// How many.
    pub procs: u32,
    /// When all of them were ready and set off, on the experiment's clock.
    pub started: Nanos,
    /// From then to the end of the last.
    pub elapsed: Nanos,
    /// What each did.
    pub runs: Vec<LoadRun>,
    /// What the logical CPUs did meanwhile, ascending by number.
    pub cpus: Vec<CpuUse>,
    /// CPU time that everything else on the machine used meanwhile, `steady` itself excluded.
    pub others_cpu: Reading<Nanos>,
    /// CPU time that `steady` itself used meanwhile, readings of the rulers included.
    pub own_cpu: Reading<Nanos>,
    /// What the machine was doing meanwhile.
    pub activity: Activity,
    /// What the rulers read while all processes ran.
    pub rulers: Vec<RulerReading>,
}

/// Everything that a load experiment measured. The report is a pure function of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadRecord {
    /// What was to be done.
    pub plan: LoadPlan,
    /// When it was begun: a label.
    pub started: Timestamp,
    /// Where.
    pub host: Host,
    /// Its CPUs.
    pub machine: Machine,
    /// The git revision of the directory that it was done in.
    pub revision: Reading<String>,
    /// CPU time per second of a sleeping thread that polls at the plan's interval, measured before the first row;
    /// absent where nothing polls.
    pub poll_cost: Reading<f64>,
    /// The rows, in the order in which they were measured.
    pub rows: Vec<LoadRow>,
    /// From the start of the first row to the end of the last.
    pub elapsed: Nanos,
    /// Why it ended.
    pub ending: Ending,
    /// Why it ended early: what could not be started, or what failed, in words.
    pub failure: Option<String>,
}

/// A row in figures: means over its processes (for a command, over its runs).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadPoint {
    /// How many processes at once.
    pub procs: u32,
    /// How many runs it rests on.
    pub runs: usize,
    /// CPU time, in seconds.
    pub cpu_seconds: f64,
    /// Of it, user time.
    pub user_seconds: f64,
    /// Wall time, in seconds.
    pub wall_seconds: f64,
    /// Work: hashes, numbers or runs.
    pub work: f64,
    /// Work per second of CPU time: all work over all CPU time.
    pub work_per_cpu_second: f64,
    /// Work per second of wall time of one process: all work over all wall time.
    pub work_per_wall_second: f64,
    /// Work per second of all processes together: `procs` times the above.
    pub throughput_per_second: f64,
    /// Time waiting for a CPU over wall time.
    pub waiting_ratio: Reading<f64>,
    /// CPU time beyond the limit, the median process, in seconds.
    pub overshoot_median_seconds: Reading<f64>,
    /// CPU time beyond the limit, the worst process, in seconds.
    pub overshoot_max_seconds: Reading<f64>,
    /// CPU time of everything else per second: how many CPUs others kept busy.
    pub others_cpus: Reading<f64>,
    /// CPU time of `steady` itself over the CPU time that the machine had.
    pub own_ratio: Reading<f64>,
}

/// A number of processes of which the data tell no more than that it is one of these, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountRange {
    /// The fewest.
    pub low: u32,
    /// The most.
    pub high: u32,
}

/// A figure with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fitted {
    /// The best fit.
    pub value: f64,
    /// The 95 % interval; ends may be infinite.
    pub interval: Interval,
}

/// The Universal Scalability Law (Gunther): throughput `lambda N / (1 + sigma (N - 1) + kappa N (N - 1))`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScalabilityLaw {
    /// Throughput of one process, in work per second.
    pub lambda: Fitted,
    /// Contention: the share that is done one after the other.
    pub sigma: Fitted,
    /// Coherency: what each pair of processes costs.
    pub kappa: Fitted,
    /// The number of processes with the most throughput; absent where the law has no peak.
    pub peak: Reading<Fitted>,
    /// Root mean square of what the law leaves unexplained, relative to throughput.
    pub residual_ratio: f64,
}

/// What the points say about scaling, without knowing the machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scaling {
    /// By what factor work per CPU second ranges over the points: the most over the least.
    pub per_cpu_factor: f64,
    /// By what factor work per wall second ranges.
    pub per_wall_factor: f64,
    /// Up to how many processes each has a core to itself; absent where the points cannot tell.
    pub cores: Reading<CountRange>,
    /// Up to how many processes each has a logical CPU to itself; absent where the points cannot tell.
    pub logical_cpus: Reading<CountRange>,
    /// What a second thread adds to what a core gets done, 0.2 for 20 %: over what one process alone on the machine gets
    /// done, with the range that the points leave (a core on a busy machine may be slower). Absent where cores have but
    /// one thread, or the points cannot tell.
    pub second_thread_gain: Reading<Fitted>,
    /// CPU time for the same work at full load over that at the least load.
    pub full_load_inflation: f64,
    /// Why the points tell no more: short clauses.
    pub caveats: Vec<String>,
    /// The law, where there are at least six points.
    pub law: Reading<ScalabilityLaw>,
}

/// A load experiment as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadReport {
    /// What was measured.
    pub record: LoadRecord,
    /// The rows in figures, by number of processes.
    pub points: Vec<LoadPoint>,
    /// What they say; absent with fewer than two points.
    pub scaling: Reading<Scaling>,
}

impl LoadRecord {
    /// The unit of the work: `hashes`, `numbers` or `runs`.
    pub fn unit(&self) -> &'static str {
        match self.plan.work {
            LoadWork::Hash { .. } => "hashes",
            LoadWork::Sum { .. } => "numbers",
            LoadWork::Command { .. } => "runs",
        }
    }

    /// What each process does, in a word: `hash`, `sum` or `command`.
    pub fn workload(&self) -> &'static str {
        match self.plan.work {
            LoadWork::Hash { .. } => "hash",
            LoadWork::Sum { .. } => "sum",
            LoadWork::Command { .. } => "command",
        }
    }

    /// The command, where it is one of the user's.
    ///
    /// # Errors
    /// Absent for the work that `steady` brings along.
    pub fn command(&self) -> Reading<&Command> {
        match &self.plan.work {
            LoadWork::Command { command, .. } => Ok(command),
            _ => Err(Absent::because("the work is steady's own")),
        }
    }
}
