//! What primitives of the machine and its kernel cost.

use serde::{Deserialize, Serialize};

use crate::{Ending, Host, Interval, Machine, Nanos, Reading, Seed, Timestamp};

/// A primitive whose cost is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// Reading `CLOCK_REALTIME`.
    ClockRealtime,
    /// Reading `CLOCK_MONOTONIC`.
    ClockMonotonic,
    /// Reading `CLOCK_PROCESS_CPUTIME_ID`.
    ClockProcessCpu,
    /// Reading `CLOCK_THREAD_CPUTIME_ID`.
    ClockThreadCpu,
    /// Calling a function that does next to nothing.
    FunctionCall,
    /// The cheapest system call, made by number.
    SystemCall,
    /// Passing the CPU from one process to another by two pipes, without the calls that ask for it.
    ProcessSwitch,
    /// Passing the CPU between threads by mutex and condition variable.
    ThreadSwitchCondvar,
    /// Passing the CPU between threads by futex.
    ThreadSwitchFutex,
    /// Taking and giving back a lock that nobody else wants.
    LockUncontended,
    /// Handing a lock over to a thread on another CPU that waits for it.
    LockContended,
    /// An atomic addition to memory that nobody else uses.
    AtomicAlone,
    /// An atomic addition to memory that a thread on another CPU adds to as well.
    AtomicContended,
    /// The first touch of a page of anonymous memory, and giving the page back: of few pages that come back again and
    /// again, and so are still in a cache.
    PageFault,
    /// The same with many pages, more than a core's own caches hold.
    PageFaultMany,
    /// The same with pages that no cache holds, as those that a program gets are which has just been started.
    PageFaultCold,
    /// A process by fork(2) that ends at once and is waited for.
    ForkExit,
    /// The same by vfork(2).
    VforkExit,
    /// A thread that ends at once and is joined.
    ThreadStart,
    /// Starting a static program that ends at once, and waiting for it.
    SpawnStatic,
    /// Starting a dynamically linked program that ends at once, and waiting for it.
    SpawnDynamic,
    /// A signal sent to itself, and its handler.
    Signal,
    /// A byte through a pipe, in pieces of 64 KiB.
    PipeByte,
    /// A dependent load from the first level of data cache.
    LoadL1,
    /// A dependent load from the last level that no other core shares.
    LoadL2,
    /// A dependent load from the first level of cache that is shared between cores.
    LoadShared,
    /// A dependent load from beyond all caches.
    LoadMemory,
    /// One of the system calls that programs make most, as cheap as it can be.
    Call(KernelCall),
}

/// System calls that have a price of their own: at their cheapest, such as the reading of one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is the system call of that name")]
pub enum KernelCall {
    Read,
    Write,
    Pread64,
    /// openat(2) of a file that is in the cache, and the close(2) of it.
    OpenatClose,
    Newfstatat,
    Fstat,
    Lseek,
    /// mmap(2) of anonymous memory that is never touched, and its munmap(2).
    MmapMunmap,
    Mprotect,
    Brk,
    RtSigaction,
    RtSigprocmask,
    /// futex(2) to wake nobody.
    Futex,
    Poll,
    Getpid,
}

impl KernelCall {
    /// All of them.
    pub const ALL: [KernelCall; 15] = [
        KernelCall::Read,
        KernelCall::Write,
        KernelCall::Pread64,
        KernelCall::OpenatClose,
        KernelCall::Newfstatat,
        KernelCall::Fstat,
        KernelCall::Lseek,
        KernelCall::MmapMunmap,
        KernelCall::Mprotect,
        KernelCall::Brk,
        KernelCall::RtSigaction,
        KernelCall::RtSigprocmask,
        KernelCall::Futex,
        KernelCall::Poll,
        KernelCall::Getpid,
    ];

    /// The name of the probe: `call_` and that of the system call; of two, joined by `_`.
    pub fn probe_name(self) -> &'static str {
        match self {
            KernelCall::Read => "call_read",
            KernelCall::Write => "call_write",
            KernelCall::Pread64 => "call_pread64",
            KernelCall::OpenatClose => "call_openat_close",
            KernelCall::Newfstatat => "call_newfstatat",
            KernelCall::Fstat => "call_fstat",
            KernelCall::Lseek => "call_lseek",
            KernelCall::MmapMunmap => "call_mmap_munmap",
            KernelCall::Mprotect => "call_mprotect",
            KernelCall::Brk => "call_brk",
            KernelCall::RtSigaction => "call_rt_sigaction",
            KernelCall::RtSigprocmask => "call_rt_sigprocmask",
            KernelCall::Futex => "call_futex",
            KernelCall::Poll => "call_poll",
            KernelCall::Getpid => "call_getpid",
        }
    }

    /// The system calls that one of it makes, by their names in the kernel's table.
    pub fn calls(self) -> &'static [&'static str] {
        match self {
            KernelCall::Read => &["read"],
            KernelCall::Write => &["write"],
            KernelCall::Pread64 => &["pread64"],
            KernelCall::OpenatClose => &["openat", "close"],
            KernelCall::Newfstatat => &["newfstatat"],
            KernelCall::Fstat => &["fstat"],
            KernelCall::Lseek => &["lseek"],
            KernelCall::MmapMunmap => &["mmap", "munmap"],
            KernelCall::Mprotect => &["mprotect"],
            KernelCall::Brk => &["brk"],
            KernelCall::RtSigaction => &["rt_sigaction"],
            KernelCall::RtSigprocmask => &["rt_sigprocmask"],
            KernelCall::Futex => &["futex"],
            KernelCall::Poll => &["poll"],
            KernelCall::Getpid => &["getpid"],
        }
    }
}

impl Probe {
    /// Those that `steady costs` measures when none are named, in the order in which they are shown.
    pub const USUAL: [Probe; 26] = [
        Probe::ClockRealtime,
        Probe::ClockMonotonic,
        Probe::ClockProcessCpu,
        Probe::ClockThreadCpu,
        Probe::FunctionCall,
        Probe::SystemCall,
        Probe::ProcessSwitch,
        Probe::ThreadSwitchCondvar,
        Probe::ThreadSwitchFutex,
        Probe::LockUncontended,
        Probe::LockContended,
        Probe::AtomicAlone,
        Probe::AtomicContended,
        Probe::PageFault,
        Probe::PageFaultCold,
        Probe::ForkExit,
        Probe::VforkExit,
        Probe::ThreadStart,
        Probe::SpawnStatic,
        Probe::SpawnDynamic,
        Probe::Signal,
        Probe::PipeByte,
        Probe::LoadL1,
        Probe::LoadL2,
        Probe::LoadShared,
        Probe::LoadMemory,
    ];

    /// All of them: the usual ones, page faults of many pages, and the system calls by name.
    pub fn all() -> impl Iterator<Item = Probe> {
        Probe::USUAL.into_iter().chain([Probe::PageFaultMany]).chain(KernelCall::ALL.into_iter().map(Probe::Call))
    }

    /// Its name on the command line, in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Probe::ClockRealtime => "clock_realtime",
            Probe::ClockMonotonic => "clock_monotonic",
            Probe::ClockProcessCpu => "clock_process_cpu",
            Probe::ClockThreadCpu => "clock_thread_cpu",
            Probe::FunctionCall => "function_call",
            Probe::SystemCall => "system_call",
            Probe::ProcessSwitch => "process_switch",
            Probe::ThreadSwitchCondvar => "thread_switch_condvar",
            Probe::ThreadSwitchFutex => "thread_switch_futex",
            Probe::LockUncontended => "lock_uncontended",
            Probe::LockContended => "lock_contended",
            Probe::AtomicAlone => "atomic_alone",
            Probe::AtomicContended => "atomic_contended",
            Probe::PageFault => "page_fault",
            Probe::PageFaultMany => "page_fault_many",
            Probe::PageFaultCold => "page_fault_cold",
            Probe::ForkExit => "fork_exit",
            Probe::VforkExit => "vfork_exit",
            Probe::ThreadStart => "thread_start",
            Probe::SpawnStatic => "spawn_static",
            Probe::SpawnDynamic => "spawn_dynamic",
            Probe::Signal => "signal",
            Probe::PipeByte => "pipe_byte",
            Probe::LoadL1 => "load_l1",
            Probe::LoadL2 => "load_l2",
            Probe::LoadShared => "load_shared",
            Probe::LoadMemory => "load_memory",
            Probe::Call(call) => call.probe_name(),
        }
    }

    /// What its cost is the cost of, in words: "a switch, without the calls around it".
    pub fn unit(self) -> &'static str {
        match self {
            Probe::ClockRealtime | Probe::ClockMonotonic | Probe::ClockProcessCpu | Probe::ClockThreadCpu => {
                "a reading"
            }
            Probe::FunctionCall => "a call",
            Probe::SystemCall => "a system call",
            Probe::ProcessSwitch => "a switch, without the read and write around it",
            Probe::ThreadSwitchCondvar | Probe::ThreadSwitchFutex => "a switch, with the calls that it takes",
            Probe::LockUncontended => "a lock and unlock",
            Probe::LockContended => "a handover to the other CPU",
            Probe::AtomicAlone | Probe::AtomicContended => "an addition",
            Probe::PageFault => "a page touched and given back, one that a cache holds",
            Probe::PageFaultMany => "a page touched and given back, one of many",
            Probe::PageFaultCold => "a page touched and given back, one that no cache holds",
            Probe::ForkExit | Probe::VforkExit => "a process, its end and the wait for it",
            Probe::ThreadStart => "a thread, its end and the join",
            Probe::SpawnStatic | Probe::SpawnDynamic => "a program, from its start to the wait for its end",
            Probe::Signal => "a signal sent and handled",
            Probe::PipeByte => "a byte written and read",
            Probe::LoadL1 | Probe::LoadL2 | Probe::LoadShared | Probe::LoadMemory => "a load",
            Probe::Call(_) => "the call",
        }
    }

    /// Whether it takes a second CPU.
    pub fn needs_two_cpus(self) -> bool {
        matches!(self, Probe::LockContended | Probe::AtomicContended)
    }

    /// Whether its cost is CPU time of all who take part; of what needs two CPUs it is wall time, for there the waiting is
    /// what is measured.
    pub fn costs_cpu_time(self) -> bool {
        !self.needs_two_cpus()
    }
}

/// What is to be measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostsPlan {
    /// The probes, without doubles.
    pub probes: Vec<Probe>,
    /// How often each is repeated.
    pub repetitions: u32,
    /// The time that all of it may take: where it is short, there are fewer repetitions.
    pub budget: Nanos,
    /// The CPU that all is pinned to, and the one of those that need another; absent where there is none.
    pub cpus: (usize, Reading<usize>),
    /// Whether the lengths of the loop are gone through, from 10 to 10^7, instead of one of a fit length.
    pub sweep: bool,
    /// The seed of the order.
    pub seed: Seed,
}

/// One timed loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// How often it went round.
    pub loops: u64,
    /// How often the event happened that the cost is divided by, as counted.
    pub events: u64,
    /// From its start to its end.
    pub wall: Nanos,
    /// CPU time of all who took part.
    pub cpu: Nanos,
    /// Page faults of all who took part.
    pub minor_faults: u64,
    /// Times that somebody who took part gave the CPU up to wait.
    pub voluntary_switches: u64,
    /// Times that the CPU was taken from somebody who took part.
    pub involuntary_switches: u64,
}

/// The probe and what is subtracted from it, in an order drawn by coin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repetition {
    /// When it was begun, on the experiment's clock.
    pub started: Nanos,
    /// The loop with the event in it.
    pub probe: Timed,
    /// As many rounds of the same loop without it.
    pub empty: Timed,
    /// Whether the empty loop came first.
    pub empty_first: bool,
}

/// A probe's repetitions at one length of its loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The probe.
    pub probe: Probe,
    /// Rounds of its loop.
    pub loops: u64,
    /// How often its event should happen in a round, by construction.
    pub events_per_loop: f64,
    /// What the empty loop still does, in words; of most nothing.
    pub subtracted: String,
    /// How many system calls a round makes, as a tracer counted them outside the timed loops, beside what it should make.
    pub calls_per_loop: Reading<(f64, f64)>,
    /// CPU time of a unit of arithmetic beside it (a ruler), in seconds: how fast the clock was.
    pub alu_seconds: Reading<f64>,
    /// The repetitions, in the order of time.
    pub repetitions: Vec<Repetition>,
}

/// Everything that `steady costs` measured. The report is a pure function of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostsRecord {
    /// What was to be done.
    pub plan: CostsPlan,
    /// When it was begun: a label.
    pub started: Timestamp,
    /// Where.
    pub host: Host,
    /// Its CPUs.
    pub machine: Machine,
    /// The git revision of the directory that it was done in.
    pub revision: Reading<String>,
    /// The four clocks.
    pub clocks: Vec<ClockFacts>,
    /// What was measured; in a sweep a probe has several, by length of the loop. Absent where a probe cannot be had here.
    pub measured: Vec<(Probe, Reading<Measured>)>,
    /// From the start to the end.
    pub elapsed: Nanos,
    /// Why it ended.
    pub ending: Ending,
}

/// A clock of the kernel, as an instrument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockFacts {
    /// The probe that reads it.
    pub probe: Probe,
    /// Its name in clock_gettime(2).
    pub name: String,
    /// Its step as the kernel states it.
    pub stated_resolution: Nanos,
    /// The smallest difference that two readings in a row have shown.
    pub smallest_step: Reading<Nanos>,
}

/// A histogram: `counts[i]` repetitions lie from `low + i * width` to the next edge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// The lowest edge, in seconds per event.
    pub low: f64,
    /// The width of a bin, in seconds per event.
    pub width: f64,
    /// How many repetitions lie in each.
    pub counts: Vec<u32>,
    /// How many lie below all bins and above them.
    pub outside: (u32, u32),
}

/// One of the groups that repetitions fall into.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mode {
    /// Its median, in seconds per event.
    pub median: f64,
    /// How many of the repetitions are in it.
    pub share: f64,
}

/// What an event costs, net of the empty loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The probe.
    pub probe: Probe,
    /// Rounds of its loop.
    pub loops: u64,
    /// The median over the repetitions, in seconds per event; below zero where the empty loop was the dearer.
    pub median: f64,
    /// Its 95 % interval.
    pub interval: Interval,
    /// Interquartile range of the repetitions, in seconds per event.
    pub spread: f64,
    /// What cannot be told from nothing here, in seconds per event.
    pub resolution: f64,
    /// Whether `median` is closer to nothing than that.
    pub below_resolution: bool,
    /// Two where the repetitions fall into two groups; else empty.
    pub modes: Vec<Mode>,
    /// How many repetitions it rests on.
    pub repetitions: usize,
    /// How many were set apart, since somebody else had the CPU meanwhile.
    pub set_apart: usize,
    /// Whether all were disturbed, so that none could be set apart: it rests on disturbed ones.
    pub all_disturbed: bool,
    /// How many events were to happen in all of them.
    pub expected_events: f64,
    /// How many were counted.
    pub counted_events: u64,
    /// The distribution of the repetitions that it rests on.
    pub histogram: Histogram,
    /// What a reader must know: counts that differ by more than 1 %, few repetitions, and the like; sentences.
    pub notes: Vec<String>,
}

/// Why the cost at one length of the loop differs from that at the longest, or at the longest that others left the CPU to in
/// most of its repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LengthReason {
    /// It does not differ.
    Agrees,
    /// What it takes to start and end the timing is spread over few rounds.
    StartUp,
    /// A step of the clock is no small part of it.
    TimerGrain,
    /// The CPU's clock ran at another rate.
    Frequency,
    /// The loop lasted so long that somebody else had the CPU in most of the repetitions.
    Preemption,
    /// It differs, and none of these is the reason.
    Unexplained,
}

/// `steady costs` as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostsReport {
    /// What was measured.
    pub record: CostsRecord,
    /// What each costs, in the record's order; absent where it could not be measured.
    pub costs: Vec<(Probe, Reading<Cost>)>,
    /// In a sweep, the reason for each, in the same order; else empty.
    pub reasons: Vec<LengthReason>,
}
