//! What was measured: the raw facts, kept so that they can be judged again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{finite, required};
use crate::{Absent, Bytes, FailureRule, Layout, Metric, Nanos, Plan, Reading, Timestamp};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It exited with this status.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It ran past the time limit and was killed.
    TimedOut,
}

/// One run of one command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Which command of the plan.
    pub command: usize,
    /// The CPU that its launcher was pinned to (duets).
    #[serde(deserialize_with = "required")]
    pub cpu: Option<usize>,
    /// How much its environment was padded, in bytes.
    #[serde(rename = "padding_bytes", alias = "padding")]
    pub padding: u32,
    /// When it was started, on the experiment's clock.
    #[serde(rename = "started_seconds", alias = "started")]
    pub started: Nanos,
    /// From its start to its end.
    #[serde(rename = "wall_seconds", alias = "wall")]
    pub wall: Nanos,
    /// User time of the reaped tree. Where the kernel samples by ticks, only sums over many runs mean something.
    #[serde(rename = "user_seconds", alias = "user")]
    pub user: Nanos,
    /// System time of the reaped tree; as `user`.
    #[serde(rename = "system_seconds", alias = "system")]
    pub system: Nanos,
    /// Time spent runnable, waiting for a CPU.
    #[serde(rename = "run_delay_seconds", alias = "run_delay")]
    pub run_delay: Reading<Nanos>,
    /// Peak resident memory of the largest process in the tree.
    #[serde(rename = "peak_memory_bytes", alias = "peak_memory")]
    pub peak_memory: Reading<Bytes>,
    /// Page faults served without reading from storage.
    pub minor_faults: u64,
    /// Page faults that read from storage.
    pub major_faults: u64,
    /// Times that it gave its CPU up to wait for something.
    pub voluntary_switches: u64,
    /// Times that its CPU was taken from it.
    pub involuntary_switches: u64,
    /// Processes that it left behind; they were killed, and their CPU time is counted.
    pub left_behind: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// What the CPU's counters said of the whole tree, where they can be read ([`Record::counters`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
}

/// Events that the CPU counted over a run, its whole process tree included; scaled up where the kernel let several
/// counters share one register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// Instructions retired.
    #[serde(deserialize_with = "required")]
    pub instructions: Option<u64>,
    /// CPU cycles, not counting those in which it was halted.
    #[serde(deserialize_with = "required")]
    pub cycles: Option<u64>,
    /// Branches that were predicted wrongly.
    #[serde(deserialize_with = "required")]
    pub branch_misses: Option<u64>,
    /// Accesses that missed the last level of cache.
    #[serde(deserialize_with = "required")]
    pub cache_misses: Option<u64>,
}

/// Whose events the counters count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CounterScope {
    /// The program's own only: the kernel's may not be counted (perf_event_paranoid).
    User,
    /// The program's, and the kernel's on its behalf.
    UserAndKernel,
}

impl Run {
    /// User and system time together: the sum is exact even where its parts are sampled.
    pub fn cpu_time(&self) -> Nanos {
        self.user + self.system
    }

    /// Whether it counts as a success under `rule`: it ended by itself, with a status that the rule accepts.
    pub fn succeeded(&self, rule: &FailureRule) -> bool {
        matches!(self.outcome, Outcome::Exited(status) if rule.accepts(status))
    }

    /// The cost by `metric`, in seconds or bytes; absent where a reading that it needs is absent.
    pub fn cost(&self, metric: Metric) -> Reading<f64> {
        match metric {
            Metric::Cpu => Ok(self.cpu_time().seconds()),
            Metric::Wall => Ok(self.wall.seconds()),
            Metric::Elapsed => self.run_delay.clone().map(|delay| (self.wall - delay).seconds()),
            Metric::Memory => self.peak_memory.clone().map(|bytes| bytes.0 as f64),
            Metric::Instructions => match self.counters.map(|counters| counters.instructions) {
                Some(Some(count)) => Ok(count as f64),
                Some(None) => Err(Absent::because("the CPU did not count all the instructions of every run")),
                None => Err(Absent::because("the CPU's counters were not read")),
            },
        }
    }
}

/// A pair of runs, or one run of each of several commands: the unit of the randomisation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// How its runs lay in time.
    pub layout: Layout,
    /// When its last run ended, on the experiment's clock.
    #[serde(rename = "ended_seconds", alias = "ended")]
    pub ended: Nanos,
    /// The draw of snapshots that it belongs to, counted from 0; none where runs start as usual. What one draw brings stays
    /// the same for all its blocks, so that they are one unit of the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw: Option<u64>,
    /// Its runs, in the order in which they were started.
    pub runs: Vec<Run>,
}

impl Block {
    /// A block of these runs, in the order in which they were started; it ends with its last run.
    pub fn new(layout: Layout, runs: Vec<Run>) -> Self {
        let ended = runs.iter().map(|run| run.started + run.wall).max().unwrap_or_default();
        Block { layout, ended, runs, draw: None }
    }

    /// The same block, in a draw of snapshots.
    #[must_use]
    pub fn in_draw(self, draw: Option<u64>) -> Self {
        Block { draw, ..self }
    }

    /// Whether it holds all the runs of a block in a comparison of `commands` commands.
    pub fn is_whole(&self, commands: usize) -> bool {
        self.runs.len()
            == match self.layout {
                Layout::Turns => commands,
                Layout::Duet => 2,
            }
    }

    /// The run of `command` and its place in the order of starts, if the block has one.
    pub fn run_of(&self, command: usize) -> Option<(usize, &Run)> {
        self.runs.iter().enumerate().find(|(_, run)| run.command == command)
    }
}

/// A moment at which the evidence was judged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Look {
    /// How many blocks had been measured.
    pub blocks: usize,
    /// How much of the effort was spent: 0 to 1.
    #[serde(rename = "fraction_ratio", alias = "fraction")]
    pub fraction: f64,
    /// Whether nothing was to come after it.
    pub last: bool,
}

/// Why the measuring ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The verdict was in.
    Decided,
    /// The budget, or the number of pairs, was spent.
    Spent,
    /// The user interrupted it.
    Interrupted,
}

/// The machine that the experiment ran on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// The host's name.
    pub hostname: Reading<String>,
    /// The kernel's name and release.
    pub kernel: Reading<String>,
    /// The CPU's model name.
    pub cpu_model: Reading<String>,
    /// How many logical CPUs this process may use.
    pub cpus_allowed: usize,
    /// How many logical CPUs are online.
    pub cpus_online: usize,
    /// CPUs' worth of time that the control group may use, where a quota is set.
    pub cpu_quota: Reading<Option<Quota>>,
    /// How much memory the host has.
    #[serde(rename = "memory_bytes", alias = "memory")]
    pub memory: Reading<Bytes>,
    /// What the CPU says it runs under, such as `kvm`.
    pub hypervisor: Reading<Option<String>>,
}

/// A limit on the CPU time of a control group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quota {
    /// CPU time that may be used in each period.
    #[serde(rename = "quota_seconds", alias = "quota")]
    pub quota: Nanos,
    /// The length of a period.
    #[serde(rename = "period_seconds", alias = "period")]
    pub period: Nanos,
}

impl Quota {
    /// How many CPUs the quota is worth.
    pub fn cpus(&self) -> f64 {
        self.quota.0 as f64 / self.period.0.max(1) as f64
    }
}

/// What the machine was doing between two moments, as the kernel's counters tell it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// Share of the CPUs' time that the hypervisor gave to others.
    #[serde(serialize_with = "finite")]
    pub steal_ratio: Reading<f64>,
    /// Share of the time in which something waited for a CPU (pressure stall information, "some").
    #[serde(serialize_with = "finite")]
    pub pressure: Reading<f64>,
    /// Share of the CPUs' time that was in use, by anybody.
    #[serde(serialize_with = "finite")]
    pub busy_ratio: Reading<f64>,
    /// Share of the time in which the control group's quota held it back.
    #[serde(serialize_with = "finite")]
    pub throttled_ratio: Reading<f64>,
}

/// What the machine was doing since the moment before: one of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// When it was looked at, on the experiment's clock.
    #[serde(rename = "at_seconds", alias = "at")]
    pub at: Nanos,
    /// Share of the CPUs' time that was in use, by anybody.
    #[serde(deserialize_with = "required")]
    pub busy_ratio: Option<f64>,
    /// Share of the CPUs' time that the hypervisor gave to others.
    #[serde(deserialize_with = "required")]
    pub steal_ratio: Option<f64>,
    /// Share of the time in which something waited for a CPU.
    #[serde(deserialize_with = "required")]
    pub pressure: Option<f64>,
}

/// A layout that was not used, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// The layout.
    pub layout: Layout,
    /// Why: a clause that completes "no duets: ...".
    pub reason: String,
}

/// A command that could not be started from a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cold {
    /// Which command of the plan; none where it is not a matter of commands.
    pub command: Option<usize>,
    /// Why: a clause with its subject.
    pub reason: String,
}

/// Everything that a comparison measured. The verdicts are a pure function of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What was to be done.
    pub plan: Plan,
    /// When it was begun: a label, for nothing is measured by that clock.
    pub started: Timestamp,
    /// Where it was done.
    pub host: Host,
    /// The git revision of the directory that it was done in.
    pub revision: Reading<String>,
    /// Whose events the counters of its runs count, or why there are none.
    pub counters: Reading<CounterScope>,
    /// The primary metric: the plan's, or the one that the warm-up chose.
    pub primary: Metric,
    /// Layouts that were not used.
    pub left_out: Vec<LeftOut>,
    /// The blocks, warm-up excluded, in the order of time. Those with failed runs are among them.
    pub blocks: Vec<Block>,
    /// Blocks of the same draws whose runs were started as usual: they tell what start-up costs, and nothing else.
    #[serde(default)]
    pub usual: Vec<Block>,
    /// Why runs were started as usual although snapshots were asked for.
    #[serde(default)]
    pub cold: Option<Cold>,
    /// When the evidence was judged.
    pub looks: Vec<Look>,
    /// What the machine was doing meanwhile.
    pub activity: Activity,
    /// The same over time, while the blocks ran.
    pub moments: Vec<Moment>,
    /// From the first warm-up run to the end.
    pub elapsed: Nanos,
    /// Why it ended.
    pub ending: Ending,
}

impl Record {
    /// Whether its runs were started from snapshots.
    pub fn is_warm(&self) -> bool {
        self.plan.warm && self.cold.is_none()
    }

    /// How many draws of snapshots its blocks are of.
    pub fn draws(&self) -> usize {
        let mut draws: Vec<u64> = self.blocks.iter().filter_map(|block| block.draw).collect();
        draws.dedup();
        draws.len()
    }

    /// How many of them are of `layout`.
    pub fn draws_of(&self, layout: Layout) -> usize {
        let of_layout = self.blocks.iter().filter(|block| block.layout == layout);
        let mut draws: Vec<u64> = of_layout.filter_map(|block| block.draw).collect();
        draws.dedup();
        draws.len()
    }
}
