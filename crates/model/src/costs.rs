//! Primitives of the machine and its kernel whose cost `steady costs` measures.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Nanos;

/// A primitive whose cost is measured. Its JSON form is its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Probe {
    /// Reading the real-time clock: `CLOCK_REALTIME` with clock_gettime(2).
    ClockRealtime,
    /// Reading the monotonic clock: `CLOCK_MONOTONIC` with clock_gettime(2).
    ClockMonotonic,
    /// Reading the process's CPU clock: `CLOCK_PROCESS_CPUTIME_ID` with clock_gettime(2).
    ClockProcessCpu,
    /// Reading the thread's CPU clock: `CLOCK_THREAD_CPUTIME_ID` with clock_gettime(2).
    ClockThreadCpu,
    /// Calling a function with almost no work in it.
    FunctionCall,
    /// The cheapest system call, made by number.
    SystemCall,
    /// Passing the CPU from one process to another through two pipes. The cost of the read and write calls is
    /// subtracted.
    ProcessSwitch,
    /// Passing the CPU between threads with a mutex and a condition variable.
    ThreadSwitchCondvar,
    /// Passing the CPU between threads with futex(2).
    ThreadSwitchFutex,
    /// Acquiring and releasing a lock that no other thread wants.
    LockUncontended,
    /// Passing a lock to a thread that waits for it on another CPU.
    LockContended,
    /// An atomic addition to memory that no other thread uses.
    AtomicAlone,
    /// An atomic addition to memory to which a thread on another CPU adds as well.
    AtomicContended,
    /// Touching a page of anonymous memory for the first time, and releasing it. The same few pages are reused, and are
    /// therefore in a cache.
    PageFault,
    /// The same with more pages than a core's own caches hold.
    PageFaultMany,
    /// The same with pages that are in no cache, like the pages of a program that just started.
    PageFaultCold,
    /// A process created by fork(2) that exits immediately, and the wait for it.
    ForkExit,
    /// A process created by vfork(2) that exits immediately, and the wait for it.
    VforkExit,
    /// A thread that exits immediately, and the join.
    ThreadStart,
    /// Starting a program of one system call, which ends it, and the wait for it.
    SpawnStatic,
    /// Starting a dynamically linked program that exits immediately, and the wait for it.
    SpawnDynamic,
    /// A signal that a process sends to itself, and its handler.
    Signal,
    /// One byte through a pipe, transferred in pieces of 64 KiB.
    PipeByte,
    /// A dependent load from the first-level data cache.
    LoadL1,
    /// A dependent load from the largest cache that belongs to one core.
    LoadL2,
    /// A dependent load from the smallest cache that several cores share.
    LoadShared,
    /// A dependent load from memory, beyond all caches.
    LoadMemory,
    /// Calling an empty function. Publications measure function calls like this, but such calls overlap.
    PublishedFunctionCall,
    /// A function that is named after a system call, and that the C library answers without the kernel.
    PublishedSystemCall,
    /// As [`Probe::ProcessSwitch`], but the cost includes that of the read and write calls.
    PublishedProcessSwitch,
    /// One of the most frequent system calls of programs, in its cheapest form.
    Call(KernelCall),
}

/// System calls with a price of their own, in their cheapest form, such as reading one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each variant is the system call of that name")]
pub enum KernelCall {
    Read,
    Write,
    Pread64,
    /// openat(2) of a cached file, and its close(2).
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
    /// futex(2) with `FUTEX_WAKE` when no thread waits.
    Futex,
    Poll,
    Getpid,
}

impl KernelCall {
    /// All system calls with a price, in the order of tables.
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

    /// Returns the name of the probe: `call_` and the name of the system call. Two names are joined by `_`.
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

    /// Returns the names of the system calls that one repetition makes, as in the kernel's table.
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
    /// The probes that `steady costs` measures by default, in the order of tables.
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

    /// Returns all probes: the default ones, page faults of many pages, those that repeat the mistakes of publications, and
    /// the system calls by name.
    pub fn all() -> impl Iterator<Item = Probe> {
        let more = [
            Probe::PageFaultMany,
            Probe::PublishedFunctionCall,
            Probe::PublishedSystemCall,
            Probe::PublishedProcessSwitch,
        ];
        Probe::USUAL.into_iter().chain(more).chain(KernelCall::ALL.into_iter().map(Probe::Call))
    }

    /// Returns the name on the command line, in tables and in JSON.
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
            Probe::PublishedFunctionCall => "published_function_call",
            Probe::PublishedSystemCall => "published_system_call",
            Probe::PublishedProcessSwitch => "published_switch",
            Probe::Call(call) => call.probe_name(),
        }
    }

    /// Returns the event that the cost is for: "a switch, without its read and write calls".
    pub fn unit(self) -> &'static str {
        match self {
            Probe::ClockRealtime | Probe::ClockMonotonic | Probe::ClockProcessCpu | Probe::ClockThreadCpu => {
                "a reading"
            }
            Probe::FunctionCall => "a call",
            Probe::SystemCall => "a system call",
            Probe::ProcessSwitch => "a switch, without its read and write calls",
            Probe::ThreadSwitchCondvar | Probe::ThreadSwitchFutex => "a switch, with its system calls",
            Probe::LockUncontended => "a lock and unlock",
            Probe::LockContended => "a handover to the other CPU",
            Probe::AtomicAlone | Probe::AtomicContended => "an addition",
            Probe::PageFault => "touching and releasing a page that is in a CPU cache",
            Probe::PageFaultMany => "touching and releasing one of many pages",
            Probe::PageFaultCold => "touching and releasing a page that is in no CPU cache",
            Probe::ForkExit => "a process, its end and the wait for it",
            Probe::VforkExit => "a process by vfork, its end and the wait for it",
            Probe::ThreadStart => "a thread, its end and the join",
            Probe::SpawnStatic => "a program without C library, from start to its end",
            Probe::SpawnDynamic => "a program with the C library, from start to its end",
            Probe::Signal => "a signal sent and handled",
            Probe::PipeByte => "a byte written and read, 64 KiB at a time",
            Probe::LoadL1 => "a load from the first cache",
            Probe::LoadL2 => "a load from the second cache",
            Probe::LoadShared => "a load from the last cache",
            Probe::LoadMemory => "a load from memory",
            Probe::PublishedFunctionCall => "a call of an empty function",
            Probe::PublishedSystemCall => "a call that the C library answers",
            Probe::PublishedProcessSwitch => "a switch, with its calls",
            Probe::Call(_) => "the call",
        }
    }

    /// Returns whether the probe needs a second CPU.
    pub fn needs_two_cpus(self) -> bool {
        matches!(self, Probe::LockContended | Probe::AtomicContended)
    }

    /// Returns whether the cost is the CPU time of all threads and processes involved. The cost of probes that need two
    /// CPUs is wall time, because their waiting is what is measured.
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

/// The measurements of one timed loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timed {
    /// The number of repetitions.
    pub loops: u64,
    /// The counted number of events, by which the cost is divided.
    pub events: u64,
    /// Wall time of the loop.
    #[serde(rename = "wall_seconds")]
    pub wall: Nanos,
    /// CPU time of all threads and processes involved.
    #[serde(rename = "cpu_seconds")]
    pub cpu: Nanos,
    /// Page faults of all threads and processes involved.
    pub minor_faults: u64,
    /// Voluntary context switches of all threads and processes involved.
    pub voluntary_switches: u64,
    /// Involuntary context switches of all threads and processes involved.
    pub involuntary_switches: u64,
}

/// The number of calls of one system call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallCount {
    /// The name in the kernel's table, or `number N` for an unknown system call.
    pub name: String,
    /// The number of calls.
    pub count: u64,
}
