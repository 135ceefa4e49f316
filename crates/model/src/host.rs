//! Sources of noise on a host, and the settings that reduce it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Reading;

/// A setting of the host that influences noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Knob {
    /// Clock rates above the nominal one while the CPU is cool enough.
    Turbo,
    /// The frequency governor, which chooses the clock rate.
    Governor,
    /// The preference of a CPU that chooses its own clock rate (energy performance preference).
    Epp,
    /// The lowest clock rate that may be chosen.
    MinFrequency,
    /// Two hardware threads on one core (simultaneous multithreading).
    Smt,
    /// Random address-space layout for each process (ASLR).
    Aslr,
    /// A periodic counter interrupt that detects hung CPUs.
    NmiWatchdog,
    /// The maximum rate at which perf events may interrupt a CPU for samples.
    PerfSampleRate,
    /// The CPUs that serve device interrupts.
    IrqAffinity,
    /// Transparent huge pages, which the kernel creates on its own.
    Thp,
    /// The tendency of the kernel to move memory to swap space.
    Swap,
    /// The page cache and the caches of directory entries and inodes.
    Caches,
}

impl Knob {
    /// All knobs, in the order of reports.
    pub const ALL: [Knob; 12] = [
        Knob::Turbo,
        Knob::Governor,
        Knob::Epp,
        Knob::MinFrequency,
        Knob::Smt,
        Knob::Aslr,
        Knob::NmiWatchdog,
        Knob::PerfSampleRate,
        Knob::IrqAffinity,
        Knob::Thp,
        Knob::Swap,
        Knob::Caches,
    ];

    /// Returns the name on the command line and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Knob::Turbo => "turbo",
            Knob::Governor => "governor",
            Knob::Epp => "epp",
            Knob::MinFrequency => "min-frequency",
            Knob::Smt => "smt",
            Knob::Aslr => "aslr",
            Knob::NmiWatchdog => "nmi-watchdog",
            Knob::PerfSampleRate => "perf-sample-rate",
            Knob::IrqAffinity => "irq-affinity",
            Knob::Thp => "thp",
            Knob::Swap => "swap",
            Knob::Caches => "caches",
        }
    }

    /// Returns the knob with a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Knob> {
        Knob::ALL.into_iter().find(|knob| knob.name() == name)
    }

    /// Returns whether the knob is changed only if the user names it. The statistics need randomised addresses.
    #[must_use]
    pub fn only_if_named(self) -> bool {
        self == Knob::Aslr
    }

    /// Returns whether reports hint at this knob alone: it influences the speed of every program.
    #[must_use]
    pub fn is_worth_a_hint(self) -> bool {
        match self {
            Knob::Turbo | Knob::Governor | Knob::Epp | Knob::MinFrequency | Knob::Smt | Knob::NmiWatchdog => true,
            Knob::Aslr | Knob::PerfSampleRate | Knob::IrqAffinity | Knob::Thp | Knob::Swap | Knob::Caches => false,
        }
    }
}

/// The current state of a knob. A knob may stand for many files, such as one for each CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnobState {
    /// The knob that this state belongs to.
    pub knob: Knob,
    /// The current value in short form. If several files differ, all their values.
    pub value: Reading<String>,
    /// The value with the least noise.
    pub quiet_value: Reading<String>,
    /// Whether the current value is the one with the least noise.
    pub is_quiet: bool,
    /// Whether the knob can be set on this host, or why not.
    pub settable: Reading<()>,
    /// Whether root could set it, although this process may not.
    pub needs_root: bool,
    /// The files that the knob stands for.
    pub files: Vec<String>,
}

/// A circumstance that influences noise and cannot be changed by writing to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// Mains or battery power.
    Power,
    /// The number of times that a CPU was slowed down because of heat.
    Throttling,
    /// CPUs that the scheduler does not use (`isolcpus`).
    IsolatedCpus,
    /// CPU time that other processes use.
    BusyCpus,
    /// CPU time that the hypervisor gave to other guests.
    Steal,
    /// Timers and services that are known to wake up periodically.
    Wakers,
    /// A limit on the CPU time of this process's control group.
    CpuQuota,
    /// The hypervisor that the machine runs under.
    Hypervisor,
}

impl Condition {
    /// Returns the name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Condition::Power => "power",
            Condition::Throttling => "throttling",
            Condition::IsolatedCpus => "isolated-cpus",
            Condition::BusyCpus => "busy-cpus",
            Condition::Steal => "steal",
            Condition::Wakers => "wakers",
            Condition::CpuQuota => "cpu-quota",
            Condition::Hypervisor => "hypervisor",
        }
    }
}

/// The current state of a condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConditionState {
    /// The condition that this state belongs to.
    pub name: Condition,
    /// The state in words.
    pub value: Reading<String>,
    /// Whether the state disturbs measurements.
    pub disturbs: bool,
}
