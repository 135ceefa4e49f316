//! Measurements of a comparison: the raw facts, stored so that they can be evaluated again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{finite, required};
use crate::{Absent, Bytes, Effort, FailureRule, Layout, Metric, Nanos, Plan, Reading, Timestamp};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It exited with this status.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It exceeded the time limit and was killed.
    TimedOut,
}

/// One run of one command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The index of the command in the plan.
    pub command: usize,
    /// The CPU to which its launcher was pinned (duets only).
    #[serde(deserialize_with = "required")]
    pub cpu: Option<usize>,
    /// The padding of its environment, in bytes.
    #[serde(rename = "padding_bytes", alias = "padding")]
    pub padding: u32,
    /// The start, on the experiment's clock.
    #[serde(rename = "started_seconds", alias = "started")]
    pub started: Nanos,
    /// Wall time from start to exit.
    #[serde(rename = "wall_seconds", alias = "wall")]
    pub wall: Nanos,
    /// User time of the process tree. If the kernel samples it by ticks, only sums over many runs are meaningful.
    #[serde(rename = "user_seconds", alias = "user")]
    pub user: Nanos,
    /// System time of the process tree; see `user`.
    #[serde(rename = "system_seconds", alias = "system")]
    pub system: Nanos,
    /// Time in which it was runnable and waited for a CPU.
    #[serde(rename = "run_delay_seconds", alias = "run_delay")]
    pub run_delay: Reading<Nanos>,
    /// Peak resident memory of the largest process in the tree.
    #[serde(rename = "peak_memory_bytes", alias = "peak_memory")]
    pub peak_memory: Reading<Bytes>,
    /// Page faults served without reading from storage.
    pub minor_faults: u64,
    /// Page faults that read from storage.
    pub major_faults: u64,
    /// Voluntary context switches: it gave up its CPU to wait.
    pub voluntary_switches: u64,
    /// Involuntary context switches: it was preempted.
    pub involuntary_switches: u64,
    /// The number of processes and threads that started on the machine during the run, its own included: an upper bound
    /// of those of the run. `None` if it is not known, as in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks_started: Option<u64>,
    /// The number of processes that it left behind. They were killed, and their CPU time is included.
    pub left_behind: u32,
    /// How the run ended.
    pub outcome: Outcome,
    /// Events of the CPU's counters for the whole tree, if they can be read (see [`Record::counters`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
    /// The energy of the CPU packages of the whole machine during the run, if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_joules: Option<f64>,
    /// The values of the custom metrics, in the order of [`Plan::metrics`]. Empty if the run failed or reported none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<f64>,
}

/// Events that the CPU counted during a run, over its whole process tree. Counts are scaled up if the kernel
/// multiplexed counters on one register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// The number of instructions retired.
    #[serde(deserialize_with = "required")]
    pub instructions: Option<u64>,
    /// CPU cycles, except those in which the CPU was halted.
    #[serde(deserialize_with = "required")]
    pub cycles: Option<u64>,
    /// The number of mispredicted branches.
    #[serde(deserialize_with = "required")]
    pub branch_misses: Option<u64>,
    /// Accesses that missed the last-level cache.
    #[serde(deserialize_with = "required")]
    pub cache_misses: Option<u64>,
}

/// The privilege levels that the counters include.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CounterScope {
    /// User mode only, because `perf_event_paranoid` does not allow counting in the kernel.
    User,
    /// User mode, and the kernel on behalf of the program.
    UserAndKernel,
}

impl Run {
    /// Returns user and system time together. The sum is exact even if the kernel samples its parts.
    pub fn cpu_time(&self) -> Nanos {
        self.user + self.system
    }

    /// Returns whether the run counts as a success under `rule`: it exited with a status that the rule accepts.
    pub fn succeeded(&self, rule: &FailureRule) -> bool {
        matches!(self.outcome, Outcome::Exited(status) if rule.accepts(status))
    }

    /// Returns the cost by `metric`, in seconds, bytes, events or the unit of a custom metric; not available if a
    /// required reading is not.
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
            Metric::Faults => Ok((self.minor_faults + self.major_faults) as f64),
            Metric::Switches => Ok(self.voluntary_switches as f64),
            Metric::Energy => self.energy_joules.ok_or_else(|| {
                Absent::because("the counters of energy were not read, or the run took longer than they count")
            }),
            Metric::Custom(custom) => {
                let value = self.values.get(custom.index()).copied();
                value.ok_or_else(|| Absent::because("the run reported no value"))
            }
        }
    }
}

/// A pair of runs, or one run of each of several commands: the unit of randomisation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// The layout of its runs in time.
    pub layout: Layout,
    /// The end of the last run, on the experiment's clock.
    #[serde(rename = "ended_seconds", alias = "ended")]
    pub ended: Nanos,
    /// The draw of snapshots that it belongs to, counted from 0; `None` if runs start normally. The effect of a draw is
    /// the same in all its blocks, which are therefore one unit of the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw: Option<u64>,
    /// The runs, in the order of their starts.
    pub runs: Vec<Run>,
}

impl Block {
    /// Creates a block from runs in the order of their starts. It ends with its last run.
    pub fn new(layout: Layout, runs: Vec<Run>) -> Self {
        let ended = runs.iter().map(|run| run.started + run.wall).max().unwrap_or_default();
        Block { layout, ended, runs, draw: None }
    }

    /// Returns the block as part of a draw of snapshots.
    #[must_use]
    pub fn in_draw(self, draw: Option<u64>) -> Self {
        Block { draw, ..self }
    }

    /// Returns whether the block is complete in a comparison of `commands` commands.
    pub fn is_whole(&self, commands: usize) -> bool {
        self.runs.len()
            == match self.layout {
                Layout::Turns => commands,
                Layout::Duet => 2,
            }
    }

    /// Returns the run of `command` and its position in the order of starts, if the block has one.
    pub fn run_of(&self, command: usize) -> Option<(usize, &Run)> {
        self.runs.iter().enumerate().find(|(_, run)| run.command == command)
    }
}

/// An evaluation of the data so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Look {
    /// The number of blocks measured up to the look.
    pub blocks: usize,
    /// The share of the effort spent, from 0 to 1.
    #[serde(rename = "fraction_ratio", alias = "fraction")]
    pub fraction: f64,
    /// Whether the look may use the rest of the error rate. Not so after an interruption.
    pub last: bool,
}

/// Why the measuring ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// All verdicts were decided.
    Decided,
    /// The budget or the number of pairs was used up.
    Spent,
    /// The user interrupted the measuring.
    Interrupted,
}

/// The machine on which the experiment ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// The name of the host.
    pub hostname: Reading<String>,
    /// The kernel's name and release.
    pub kernel: Reading<String>,
    /// The CPU's model name.
    pub cpu_model: Reading<String>,
    /// The number of logical CPUs that this process may use.
    pub cpus_allowed: usize,
    /// The number of logical CPUs online.
    pub cpus_online: usize,
    /// The CPU quota of the control group, or `None` if there is none.
    pub cpu_quota: Reading<Option<Quota>>,
    /// The memory of the host.
    #[serde(rename = "memory_bytes", alias = "memory")]
    pub memory: Reading<Bytes>,
    /// The hypervisor that the CPU reports, such as `kvm`, or `None` without one.
    pub hypervisor: Reading<Option<String>>,
}

/// A limit on the CPU time of a control group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quota {
    /// The CPU time that may be used in each period.
    #[serde(rename = "quota_seconds", alias = "quota")]
    pub quota: Nanos,
    /// The length of one period.
    #[serde(rename = "period_seconds", alias = "period")]
    pub period: Nanos,
}

impl Quota {
    /// Returns the quota as a number of CPUs.
    pub fn cpus(&self) -> f64 {
        self.quota.0 as f64 / self.period.0.max(1) as f64
    }
}

/// The load of the machine between two points in time, from the kernel's counters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// Share of the CPU time that the hypervisor gave to other guests.
    #[serde(serialize_with = "finite")]
    pub steal_ratio: Reading<f64>,
    /// Share of the time in which some task waited for a CPU (pressure stall information, "some").
    #[serde(serialize_with = "finite")]
    pub pressure: Reading<f64>,
    /// Share of the CPU time in use, by any process.
    #[serde(serialize_with = "finite")]
    pub busy_ratio: Reading<f64>,
    /// Share of the time in which the control group's quota throttled it.
    #[serde(serialize_with = "finite")]
    pub throttled_ratio: Reading<f64>,
}

/// The load of the machine since the previous moment: one element of a time series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// The time of the reading, on the experiment's clock.
    #[serde(rename = "at_seconds", alias = "at")]
    pub at: Nanos,
    /// Share of the CPU time in use, by any process.
    #[serde(deserialize_with = "required")]
    pub busy_ratio: Option<f64>,
    /// Share of the CPU time that the hypervisor gave to other guests.
    #[serde(deserialize_with = "required")]
    pub steal_ratio: Option<f64>,
    /// Share of the time in which some task waited for a CPU.
    #[serde(deserialize_with = "required")]
    pub pressure: Option<f64>,
}

/// A layout that was not used, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// The layout that was not used.
    pub layout: Layout,
    /// The reason: a clause that completes "no duets: ...".
    pub reason: String,
}

/// The reason why runs could not be started from snapshots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cold {
    /// The index of the command in the plan; `None` if the reason concerns no single command.
    pub command: Option<usize>,
    /// The reason: a clause with its own subject.
    pub reason: String,
}

/// All measurements of a comparison. The verdicts are a pure function of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The resolved options of the comparison.
    pub plan: Plan,
    /// The start by the time of day: a label only, because that clock measures nothing here.
    pub started: Timestamp,
    /// The machine on which it ran.
    pub host: Host,
    /// The git revision of the working directory.
    pub revision: Reading<String>,
    /// What the counters of its runs include, or why there are none.
    pub counters: Reading<CounterScope>,
    /// Length of the ticks at which the kernel samples user and system time. Absent if both are exact, and in records
    /// of earlier versions.
    #[serde(default = "Record::tick_not_recorded")]
    pub tick: Reading<Nanos>,
    /// The primary metric: from the plan, or chosen by the warm-up.
    pub primary: Metric,
    /// The layouts that were not used.
    pub left_out: Vec<LeftOut>,
    /// The blocks in time order, without the warm-up. Blocks with failed runs are included.
    pub blocks: Vec<Block>,
    /// Blocks of the same draws whose runs were started normally. Only the start-up cost is estimated from them.
    #[serde(default)]
    pub usual: Vec<Block>,
    /// Why runs were started normally although snapshots were requested.
    #[serde(default)]
    pub cold: Option<Cold>,
    /// The evaluations of the data, in time order.
    pub looks: Vec<Look>,
    /// The load of the machine during the measuring.
    pub activity: Activity,
    /// The load of the machine over time, while the blocks ran.
    pub moments: Vec<Moment>,
    /// The time from the first warm-up run to the end.
    pub elapsed: Nanos,
    /// Why the measuring ended.
    pub ending: Ending,
    /// The command of a run that was killed at the end of the budget although it used little time itself, so that load
    /// may be the reason. Its block is left out.
    #[serde(default)]
    pub unfinished: Option<usize>,
    /// Whether no run opened a file of its revision. False also if that could not be watched.
    #[serde(default)]
    pub unused_revisions: bool,
}

impl Record {
    /// Returns the length of ticks in records of earlier versions, which do not have it.
    ///
    /// # Errors
    /// Always: the length is not known.
    pub fn tick_not_recorded() -> Reading<Nanos> {
        Err(Absent::because("an earlier version did not record it"))
    }

    /// Returns whether runs were started from snapshots.
    pub fn is_warm(&self) -> bool {
        self.plan.warm && self.cold.is_none()
    }

    /// Returns whether the units of the test are draws, of snapshots or of memory layouts, with several blocks each.
    pub fn has_draws(&self) -> bool {
        self.is_warm() || !self.plan.relink.is_empty()
    }

    /// Returns why a command has no successful run, if it has none.
    pub fn no_runs(&self) -> Absent {
        Absent::because(match (self.blocks.is_empty(), self.plan.commands.len()) {
            (true, 1) => "no run was completed",
            (true, _) => "no pair was completed",
            (false, _) => "no run succeeded",
        })
    }

    /// Returns whether a run failed by the rule of the plan.
    pub fn has_failures(&self) -> bool {
        self.blocks.iter().flat_map(|block| &block.runs).any(|run| !run.succeeded(&self.plan.failures))
    }

    /// Returns all metrics of its runs, in the order in which reports list them.
    pub fn metrics(&self) -> impl Iterator<Item = Metric> {
        let are_counted = self.counters.is_ok();
        let usual = Metric::USUAL.into_iter().filter(move |metric| *metric != Metric::Instructions || are_counted);
        let further = Metric::OPTIONAL.into_iter();
        let further = further.filter(|metric| *metric == self.primary || self.plan.further_metrics.contains(metric));
        usual.chain(further).chain(self.plan.custom_metrics())
    }

    /// Returns the record with all that its plan says about its metrics, of which only the names are read. `None` if
    /// the plan has no such metric.
    #[must_use]
    pub fn resolved(mut self) -> Option<Self> {
        self.primary = self.plan.resolved(self.primary)?;
        self.plan.metric = match self.plan.metric {
            Some(metric) => Some(self.plan.resolved(metric)?),
            None => None,
        };
        Some(self)
    }

    /// Returns the number of pairs of each command with the first, with failed ones; of a single command, that of its
    /// runs. A duet has one pair, and a block of turns has one of each command.
    pub fn rounds(&self) -> usize {
        let duets = self.blocks.iter().filter(|block| block.layout == Layout::Duet).count();
        let contenders = self.plan.commands.len().saturating_sub(1).max(1);
        self.blocks.len() - duets + duets.div_ceil(contenders)
    }

    /// Returns the share of its effort that the comparison spent, from 0 to 1.
    pub fn spent(&self) -> f64 {
        let time = match self.plan.effort {
            Effort::Budget(budget) => self.elapsed.seconds() / budget.seconds(),
            Effort::Pairs(_) => 0.0,
        };
        self.plan.spent(time, self.rounds() as u64)
    }

    /// Returns the number of draws in the blocks.
    pub fn draws(&self) -> usize {
        let mut draws: Vec<u64> = self.blocks.iter().filter_map(|block| block.draw).collect();
        draws.dedup();
        draws.len()
    }

    /// Returns the number of draws in the blocks with `layout`.
    pub fn draws_of(&self, layout: Layout) -> usize {
        let of_layout = self.blocks.iter().filter(|block| block.layout == layout);
        let mut draws: Vec<u64> = of_layout.filter_map(|block| block.draw).collect();
        draws.dedup();
        draws.len()
    }
}
