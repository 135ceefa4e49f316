//! What makes a host noisy, what of it can be set, and what was set and put back.

use serde::{Deserialize, Serialize};

use crate::{Host, Nanos, Outcome, Reading, Resource, Timestamp};

/// Something of the host that can be set so that it is steadier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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

impl KnobState {
    /// Whether setting it would change anything.
    #[must_use]
    pub fn would_help(&self) -> bool {
        !self.is_quiet && self.settable.is_ok()
    }
}

/// Something that matters and that nobody sets by writing to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionState {
    /// Which.
    pub condition: Condition,
    /// What there is to say of it.
    pub value: Reading<String>,
    /// Whether it disturbs.
    pub disturbs: bool,
}

/// How far the readings of one ruler lay apart.
#[derive(Clone, Debug, PartialEq)]
pub struct RulerSpread {
    /// The ruler.
    pub resource: Resource,
    /// How many readings there were.
    pub readings: usize,
    /// Their interquartile range over their median.
    pub spread_ratio: f64,
    /// Their range over their median.
    pub range_ratio: f64,
}

/// What was done about one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeedOutcome {
    /// It was set.
    Set,
    /// It had that value already.
    Same,
    /// It could not be set or put back: why.
    Refused(String),
    /// What was there before is there again.
    Restored,
    /// It had been put back already.
    WasBack,
    /// Somebody else has changed it, so it was left: what it is now.
    Foreign(String),
    /// Somebody else had changed it, and it was put back all the same: what it was.
    Forced(String),
    /// It is not there any more: why.
    Gone(String),
}

impl DeedOutcome {
    /// Its name in reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            DeedOutcome::Set => "set",
            DeedOutcome::Same => "same",
            DeedOutcome::Refused(_) => "refused",
            DeedOutcome::Restored => "restored",
            DeedOutcome::WasBack => "was_back",
            DeedOutcome::Foreign(_) => "foreign",
            DeedOutcome::Forced(_) => "forced",
            DeedOutcome::Gone(_) => "gone",
        }
    }

    /// What there is to say of it.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            DeedOutcome::Refused(text)
            | DeedOutcome::Foreign(text)
            | DeedOutcome::Forced(text)
            | DeedOutcome::Gone(text) => Some(text),
            DeedOutcome::Set | DeedOutcome::Same | DeedOutcome::Restored | DeedOutcome::WasBack => None,
        }
    }
}

/// What was done about one file of a knob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deed {
    /// The knob.
    pub knob: Knob,
    /// The file.
    pub file: String,
    /// What was in it before.
    pub from: String,
    /// What it was to become.
    pub to: String,
    /// What came of it.
    pub outcome: DeedOutcome,
}

/// What a journal says, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalFacts {
    /// Its file.
    pub file: String,
    /// When this host was first made quiet.
    pub since: Timestamp,
    /// The knobs whose originals it holds.
    pub knobs: Vec<Knob>,
    /// How many commands run on it now.
    pub running: usize,
    /// Whether it is to stay quiet until somebody restores it.
    pub stays: bool,
}

/// What was asked of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostQuestion {
    /// How it is.
    Status,
    /// That it be quiet.
    Quiet,
    /// That it be as it was.
    Restore,
}

impl HostQuestion {
    /// Its name in reports: `status`, `quiet`, `restore`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            HostQuestion::Status => "status",
            HostQuestion::Quiet => "quiet",
            HostQuestion::Restore => "restore",
        }
    }
}

/// A command that ran on a quiet host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuietRun {
    /// The command as typed.
    pub command: String,
    /// How it ended.
    pub ended: Outcome,
    /// From its start to its end.
    pub wall: Nanos,
    /// Whether its addresses were not drawn; nothing where that was not asked for.
    pub fixed_addresses: Option<Reading<()>>,
    /// Processes that it left behind, and that were ended.
    pub left_behind: u32,
}

/// What is told of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostReport {
    /// What was asked.
    pub question: HostQuestion,
    /// When.
    pub started: Timestamp,
    /// Where.
    pub host: Host,
    /// Whether this user is root.
    pub is_root: bool,
    /// The words that would do as root what this user may not do.
    pub as_root: String,
    /// The knobs: as they are, or after a deed as they were before it.
    pub knobs: Vec<KnobState>,
    /// What else matters; of a status only.
    pub conditions: Vec<ConditionState>,
    /// How far apart rulers read over a second.
    pub spreads: Reading<Vec<RulerSpread>>,
    /// What was set.
    pub set: Vec<Deed>,
    /// Knobs that were wanted and left as they are, and why.
    pub left: Vec<(Knob, String)>,
    /// What was put back.
    pub restored: Vec<Deed>,
    /// The command that ran meanwhile.
    pub run: Option<QuietRun>,
    /// What the journal holds now; nothing where there is none.
    pub journal: Reading<Option<JournalFacts>>,
    /// What else there is to know: a journal that is void, a command that was killed.
    pub notes: Vec<String>,
}

impl HostReport {
    /// Whether all that was asked for was done.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let failed = |deed: &Deed| {
            let one_of_many = deed.knob == Knob::IrqAffinity && matches!(deed.outcome, DeedOutcome::Refused(_));
            // Most machines have interrupts that cannot be moved.
            !one_of_many
                && matches!(deed.outcome, DeedOutcome::Refused(_) | DeedOutcome::Foreign(_) | DeedOutcome::Gone(_))
        };
        self.left.is_empty() && !self.set.iter().chain(&self.restored).any(failed)
    }
}
