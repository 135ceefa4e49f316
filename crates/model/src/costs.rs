//! Primitives of the machine and its kernel, whose cost is measured.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Nanos;

/// A primitive whose cost is measured. In JSON it is its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

impl Serialize for Probe {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Probe {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = Probe::all().find(|probe| probe.name() == name);
        found.ok_or_else(|| D::Error::custom(format!("there is no probe '{name}'")))
    }
}

impl JsonSchema for Probe {
    fn schema_name() -> Cow<'static, str> {
        "Probe".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "The name of a primitive whose cost is measured." })
    }
}

/// One timed loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timed {
    /// How often it went round.
    pub loops: u64,
    /// How often the event happened that the cost is divided by, as counted.
    pub events: u64,
    /// From its start to its end.
    #[serde(rename = "wall_seconds")]
    pub wall: Nanos,
    /// CPU time of all who took part.
    #[serde(rename = "cpu_seconds")]
    pub cpu: Nanos,
    /// Page faults of all who took part.
    pub minor_faults: u64,
    /// Times that somebody who took part gave the CPU up to wait.
    pub voluntary_switches: u64,
    /// Times that the CPU was taken from somebody who took part.
    pub involuntary_switches: u64,
}

/// How often one system call was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallCount {
    /// Its name in the kernel's table; `number N` for those that we do not know.
    pub name: String,
    /// How often.
    pub count: u64,
}
