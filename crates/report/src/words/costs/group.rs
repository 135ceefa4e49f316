//! What probes are about.

use steady_model::Probe;

/// Probes that are shown together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Reading a clock.
    Clocks,
    /// Calls of functions and of the system.
    Calls,
    /// System calls by name.
    Named,
    /// From one process or thread to another.
    Switches,
    /// What threads share.
    Locks,
    /// Faults and loads.
    Memory,
    /// Processes, threads and programs.
    Processes,
    /// All else.
    Rest,
}

impl Group {
    /// All of them, in the order in which they are shown.
    pub(crate) const ALL: [Group; 8] = [
        Group::Clocks,
        Group::Calls,
        Group::Named,
        Group::Switches,
        Group::Locks,
        Group::Memory,
        Group::Processes,
        Group::Rest,
    ];

    /// Its heading.
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Group::Clocks => "Clocks",
            Group::Calls => "Calls",
            Group::Named => "System calls by name, at their cheapest",
            Group::Switches => "Switches",
            Group::Locks => "Locks and atomics",
            Group::Memory => "Memory",
            Group::Processes => "Processes",
            Group::Rest => "The rest",
        }
    }

    /// The group of a probe.
    pub(crate) fn of(probe: Probe) -> Group {
        match probe {
            Probe::ClockRealtime | Probe::ClockMonotonic | Probe::ClockProcessCpu | Probe::ClockThreadCpu => {
                Group::Clocks
            }
            Probe::FunctionCall | Probe::SystemCall => Group::Calls,
            Probe::Call(_) => Group::Named,
            Probe::ProcessSwitch | Probe::ThreadSwitchCondvar | Probe::ThreadSwitchFutex => Group::Switches,
            Probe::LockUncontended | Probe::LockContended | Probe::AtomicAlone | Probe::AtomicContended => Group::Locks,
            Probe::PageFault
            | Probe::PageFaultMany
            | Probe::PageFaultCold
            | Probe::LoadL1
            | Probe::LoadL2
            | Probe::LoadShared
            | Probe::LoadMemory => Group::Memory,
            Probe::ForkExit | Probe::VforkExit | Probe::ThreadStart | Probe::SpawnStatic | Probe::SpawnDynamic => {
                Group::Processes
            }
            Probe::Signal | Probe::PipeByte => Group::Rest,
        }
    }
}
