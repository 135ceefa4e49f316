//! Where the time of a command went.

use serde::{Deserialize, Serialize};

use crate::{Activity, Command, Host, Interval, Nanos, Outcome, Probe, Reading, Record, Timestamp};

/// What is to be explained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExplainPlan {
    /// The command.
    pub command: Command,
    /// Whether its system calls are counted by a tracer that stops it at each: its times are then not its own, and what
    /// its events cost is not held against them.
    pub trace: bool,
    /// Whether its processes are listed one by one.
    pub by_process: bool,
}

/// What events cost here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    /// When they were measured: a label.
    pub measured: Timestamp,
    /// The kernel that they were measured under, and its boot.
    pub kernel: Reading<String>,
    /// The identity of the boot (`/proc/sys/kernel/random/boot_id`): after another one they are measured again.
    pub boot: Reading<String>,
    /// How fast the CPU's clock ran meanwhile: the prices are told at the mean of these readings.
    pub alu: Reading<AluTime>,
    /// The prices; absent for what cannot be measured here.
    pub prices: Vec<(Priced, Reading<Price>)>,
}

/// How fast a CPU's clock ran: the CPU time of a step of dependent arithmetic, which follows nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AluTime {
    /// The mean of the readings, in seconds.
    pub seconds: f64,
    /// Where it lies, as far as the spread of the readings tells.
    pub interval: Interval,
    /// How many readings there were.
    pub readings: u32,
}

/// An event that has a price. Prices are net: what an event brings about and is counted by itself is not in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priced {
    /// A page fault that needs no storage, and giving the page back: a page of few, which a cache still holds.
    MinorFault,
    /// The same with a page of many, more than a core's own caches hold, that were given back a moment ago.
    MinorFaultMany,
    /// The same with a page that no cache holds.
    MinorFaultCold,
    /// A switch from one process to another, without the calls around it.
    Switch,
    /// A process, its end and the wait for it, the calls for them included, without its faults and switches.
    Fork,
    /// A process that runs in its maker's memory until it executes a program (vfork(2), posix_spawn(3)), likewise.
    Vfork,
    /// A thread, likewise.
    Thread,
    /// Executing another program, likewise: the new program's own start is its own.
    Exec,
    /// An entry into the kernel and the way back: the least that any system call costs.
    KernelEntry,
    /// One of the system calls that were measured by name, at its cheapest.
    Call(crate::KernelCall),
}

/// What one event costs, in seconds of CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// The median.
    pub seconds: f64,
    /// Its 95 % interval.
    pub interval: Interval,
}

/// How often things happened in a process tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Page faults served without reading from storage.
    pub minor_faults: u64,
    /// Page faults that read from storage.
    pub major_faults: u64,
    /// Times that a thread gave its CPU up to wait for something. Under a tracer absent: each of its stops is one.
    pub voluntary_switches: Reading<u64>,
    /// Times that the CPU was taken from a thread; likewise.
    pub involuntary_switches: Reading<u64>,
    /// Processes that were made, the command's own not counted.
    pub forks: Reading<u64>,
    /// Threads that were made beside the first of each process.
    pub threads: Reading<u64>,
    /// Programs that were executed, the command's own not counted.
    pub execs: Reading<u64>,
    /// System calls in all.
    pub calls: Reading<u64>,
    /// System calls by name, most frequent first; only a tracer knows them.
    pub calls_by_name: Reading<Vec<CallCount>>,
}

/// How often one system call was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallCount {
    /// Its name in the kernel's table; `number N` where we do not know it.
    pub name: String,
    /// How often.
    pub count: u64,
}

/// One process of the tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    pub wall: Nanos,
    /// User and system time, without what it took to give its memory back at its end.
    pub cpu: Nanos,
    /// Time that its threads waited for a CPU, together.
    pub waiting: Reading<Nanos>,
    /// Page faults, minor and major.
    pub faults: u64,
    /// Switches, voluntary and involuntary.
    pub switches: u64,
}

/// What the tree used up to some moment; a series of them tells how it went.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// When, since its start.
    pub at: Nanos,
    /// CPU time so far.
    pub cpu: Nanos,
    /// Of it user time, as the kernel's ticks say.
    pub user: Nanos,
    /// Time spent waiting for a CPU so far, of all threads that were seen.
    pub waiting: Option<Nanos>,
}

/// The times and counts of a command that has ended. The report is a pure function of it.
///
/// Where a tracer counted its system calls (`plan.trace`) the times are those of the command under the tracer, which
/// stops it at every call: what happened is counted, but nothing may be said of how long it takes by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExplainRecord {
    /// What was to be done.
    pub plan: ExplainPlan,
    /// When it was begun: a label.
    pub started: Timestamp,
    /// Where.
    pub host: Host,
    /// The git revision of the directory that it was done in.
    pub revision: Reading<String>,
    /// How it ended.
    pub ended: Outcome,
    /// From its start to its end, the time in which it was stopped left out.
    pub wall: Nanos,
    /// User time of the tree.
    pub user: Nanos,
    /// System time of the tree. Where the kernel samples by ticks only the sum of both is exact.
    pub system: Nanos,
    /// Whether user and system time are sampled by ticks of so long; exact where it is none.
    pub tick: Option<Nanos>,
    /// The lifetimes of all threads together, stops left out. Of a tree with a single thread it is the wall time.
    pub thread_time: Reading<Nanos>,
    /// Of it, time spent runnable, waiting for a CPU.
    pub waiting: Reading<Nanos>,
    /// Time in which it was stopped (job control): in none of the others.
    pub stopped: Nanos,
    /// How often things happened.
    pub counts: Counts,
    /// Where counts came from, in words: "system calls: the raw_syscalls tracepoint", one each.
    pub sources: Vec<String>,
    /// CPU time that the counting itself cost the command, as far as it is known.
    pub counting_cost: Reading<Nanos>,
    /// Its processes, the dearest first, and of more than 10,000 only those; such as were too short to be seen are missing
    /// where only /proc was there.
    pub processes: Reading<Vec<ProcessUse>>,
    /// What it had used from time to time; empty for short runs.
    pub progress: Vec<Progress>,
    /// What the machine was doing meanwhile.
    pub activity: Activity,
    /// How fast the CPU's clock ran just before it and just after.
    pub alu: Reading<AluTime>,
    /// Processes that it left behind, and that were ended.
    pub left_behind: u32,
    /// What events cost here.
    pub prices: Prices,
}

/// A line of an explanation beneath the CPU time: so many events at their price.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// What it is, in words: `page faults`, `read`, `process switches`.
    pub name: String,
    /// What its price is the price of.
    pub priced: Priced,
    /// Whether the price is only the least that such an event costs.
    pub at_least: bool,
    /// How many.
    pub count: f64,
    /// What one costs.
    pub price: Price,
    /// Their time together, in seconds.
    pub seconds: f64,
    /// Its interval.
    pub interval: Interval,
}

/// A command's time, explained.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainReport {
    /// What was measured.
    pub record: ExplainRecord,
    /// Where the system time lies as far as the kernel's ticks can tell, in seconds: a point where it is exact, absent
    /// where the ticks tell nothing.
    pub system_interval: Reading<Interval>,
    /// Time in which nothing of a thread could run: thread time less CPU time less waiting, in seconds.
    pub blocked: Reading<f64>,
    /// The modelled parts of the CPU time, dearest first; none of them is counted in another.
    pub parts: Vec<Part>,
    /// What could not be priced or counted, with the reason: `(what, why)`.
    pub missing: Vec<(String, String)>,
    /// CPU time that neither a part nor the counting explains, with its interval: the program's own code, and what the kernel did beyond the
    /// prices. In seconds; below zero where the parts come to more than the whole. Absent where the times are a tracer's.
    pub unexplained: Reading<(f64, Interval)>,
    /// What a reader must know; sentences.
    pub notes: Vec<String>,
}

/// Two commands of which the difference is to be explained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExplainPairRecord {
    /// The pairs: both commands in turns.
    pub record: Record,
    /// What runs of each were counted to do that the pairs do not tell (forks, system calls): one of each run, which was
    /// made for it alone.
    pub counted: [Reading<Vec<Counts>>; 2],
    /// Where counts came from, in words.
    pub sources: Vec<String>,
    /// Whether user and system time are sampled by ticks of so long; exact where it is none.
    pub tick: Option<Nanos>,
    /// How fast the CPU's clock ran between the pairs.
    pub alu: Reading<AluTime>,
    /// What events cost here.
    pub prices: Prices,
}

/// Which time a line of a difference is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// From a run's start to its end.
    Wall,
    /// User and system time.
    Cpu,
    /// Of it, user time.
    User,
    /// Of it, system time.
    System,
    /// Of it, what so many events cost.
    Part(Priced),
    /// Of it, what no part explains.
    Unexplained,
    /// Waiting for a CPU.
    Waiting,
    /// The rest of the wall time.
    Blocked,
    /// Waiting or blocked, where the two cannot be told apart.
    OffCpu,
}

/// One line of a difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Which time it is.
    pub line: Line,
    /// What it is, in words.
    pub name: String,
    /// How deep it stands beneath what it is a part of; 0 for the wall time.
    pub depth: u32,
    /// What a run of OLD and one of NEW took, in seconds: weighted means, with the same weights in all lines.
    pub seconds: Reading<[f64; 2]>,
    /// How many events there were in a run of each, for what is counted.
    pub counts: Option<[f64; 2]>,
    /// How many more there were in NEW, with the 95 % interval.
    pub more: Option<(f64, Interval)>,
    /// Whether each is priced at only the least that it costs.
    pub at_least: bool,
    /// NEW less OLD, in seconds, with its 95 % interval.
    pub difference: Reading<(f64, Interval)>,
}

/// The difference of two commands, explained.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainPairReport {
    /// What was measured.
    pub record: ExplainPairRecord,
    /// How many pairs they rest on.
    pub pairs: usize,
    /// The lines: wall, CPU and what is beneath it, waiting, blocked.
    pub lines: Vec<Difference>,
    /// What could not be priced or counted, with the reason.
    pub missing: Vec<(String, String)>,
    /// What a reader must know; sentences.
    pub notes: Vec<String>,
}

impl Prices {
    /// The price of something; absent where it was not or cannot be measured.
    pub fn of(&self, priced: Priced) -> Reading<Price> {
        let found = self.prices.iter().find(|(of, _)| *of == priced);
        found.map_or_else(|| Err(crate::Absent::because("it was not measured")), |(_, price)| price.clone())
    }
}

impl Priced {
    /// The probes that its price is made of.
    pub fn probes(self) -> Vec<Probe> {
        match self {
            Priced::MinorFault => vec![Probe::PageFault],
            Priced::MinorFaultMany => vec![Probe::PageFaultMany],
            Priced::MinorFaultCold => vec![Probe::PageFaultCold],
            Priced::Switch => vec![Probe::ProcessSwitch],
            Priced::Fork => vec![Probe::ForkExit, Probe::PageFault, Probe::ProcessSwitch],
            Priced::Vfork => vec![Probe::VforkExit, Probe::PageFault, Probe::ProcessSwitch],
            Priced::Thread => vec![Probe::ThreadStart, Probe::PageFault, Probe::ProcessSwitch],
            Priced::Exec => vec![Probe::SpawnStatic, Probe::VforkExit, Probe::PageFault, Probe::ProcessSwitch],
            Priced::KernelEntry => vec![Probe::SystemCall],
            Priced::Call(call) => vec![Probe::Call(call)],
        }
    }
}
