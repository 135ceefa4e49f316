//! What makes a host noisy, and what of it can be set.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Reading;

/// Something of the host that can be set so that it is steadier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Knob {
    /// Clock rates above the nominal one, as long as it stays cool.
    Turbo,
    /// Who chooses the clock's rate.
    Governor,
    /// What a CPU that chooses its own rate leans to (energy performance preference).
    Epp,
    /// The lowest clock rate that may be chosen.
    MinFrequency,
    /// Two threads on one core.
    Smt,
    /// Addresses drawn afresh for each process.
    Aslr,
    /// An interrupt from a counter, which watches for CPUs that hang.
    NmiWatchdog,
    /// How often perf events may interrupt to sample.
    PerfSampleRate,
    /// Which CPUs serve interrupts of devices.
    IrqAffinity,
    /// Memory in huge pages that the kernel makes by itself.
    Thp,
    /// How readily memory is put on disk.
    Swap,
    /// Files and their names that are still in memory.
    Caches,
}

impl Knob {
    /// All of them, in the order of reports.
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

    /// Its name on the command line and in reports.
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

    /// The knob of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Knob> {
        Knob::ALL.into_iter().find(|knob| knob.name() == name)
    }

    /// Whether it is left as it is unless it is named: randomised addresses are part of the statistics.
    #[must_use]
    pub fn only_if_named(self) -> bool {
        self == Knob::Aslr
    }

    /// Whether setting it alone is worth a hint: it moves every program's speed.
    #[must_use]
    pub fn is_worth_a_hint(self) -> bool {
        match self {
            Knob::Turbo | Knob::Governor | Knob::Epp | Knob::MinFrequency | Knob::Smt | Knob::NmiWatchdog => true,
            Knob::Aslr | Knob::PerfSampleRate | Knob::IrqAffinity | Knob::Thp | Knob::Swap | Knob::Caches => false,
        }
    }
}

/// A knob as it is found. A knob may stand for many files, such as one for each CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnobState {
    /// Which.
    pub knob: Knob,
    /// Its value now, in short; of several files that differ, all that there are.
    pub value: Reading<String>,
    /// The value that steadies.
    pub quiet_value: Reading<String>,
    /// Whether it has that value.
    pub is_quiet: bool,
    /// Whether it can be set here, or why not.
    pub settable: Reading<()>,
    /// The files that it stands for.
    pub files: Vec<String>,
}

/// Something that matters and that nobody sets by writing to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// Mains or battery.
    Power,
    /// How often a CPU was slowed down for its heat.
    Throttling,
    /// CPUs that the scheduler leaves alone.
    IsolatedCpus,
    /// CPU time that the hypervisor gave to others.
    Steal,
    /// Timers and services that are known to wake.
    Wakers,
    /// A limit on CPU time of this process's control group.
    CpuQuota,
    /// What the machine runs under.
    Hypervisor,
}

impl Condition {
    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Condition::Power => "power",
            Condition::Throttling => "throttling",
            Condition::IsolatedCpus => "isolated-cpus",
            Condition::Steal => "steal",
            Condition::Wakers => "wakers",
            Condition::CpuQuota => "cpu-quota",
            Condition::Hypervisor => "hypervisor",
        }
    }
}

/// A condition as it is found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConditionState {
    /// Which.
    pub name: Condition,
    /// What there is to say of it.
    pub value: Reading<String>,
    /// Whether it disturbs.
    pub disturbs: bool,
}
