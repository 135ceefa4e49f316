//! Sums of the CPU time, faults and switches of processes.

use std::ops::AddAssign;

use steady_linux::process::ChildUsage;
use steady_model::Nanos;

/// CPU time, page faults and context switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) user: Nanos,
    pub(super) system: Nanos,
    pub(super) minor_faults: u64,
    pub(super) major_faults: u64,
    pub(super) voluntary_switches: u64,
    pub(super) involuntary_switches: u64,
}

impl Usage {
    pub(super) fn cpu(&self) -> Nanos {
        self.user + self.system
    }

    /// Subtracts an earlier reading of the same process. The kernel estimates the split into user and system time at
    /// each reading, so only their sum is reliable. An excess in one is subtracted from the other.
    pub(super) fn without(self, before: Usage) -> Usage {
        let cpu = self.cpu() - before.cpu();
        let user = (self.user - before.user).min(cpu);
        Usage {
            user,
            system: cpu - user,
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            voluntary_switches: self.voluntary_switches.saturating_sub(before.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(before.involuntary_switches),
        }
    }

    /// Scales user and system time to the sum `cpu`. If both are zero, all of it is user time.
    pub(super) fn scaled_to(self, cpu: Nanos) -> Usage {
        let share = if self.cpu() == Nanos::ZERO { 0.0 } else { self.system.seconds() / self.cpu().seconds() };
        let system = Nanos::from_seconds(cpu.seconds() * share).min(cpu);
        Usage { user: cpu - system, system, ..self }
    }
}

impl From<ChildUsage> for Usage {
    fn from(usage: ChildUsage) -> Self {
        Usage {
            user: usage.user,
            system: usage.system,
            minor_faults: usage.minor_faults,
            major_faults: usage.major_faults,
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.user += other.user;
        self.system += other.system;
        self.minor_faults += other.minor_faults;
        self.major_faults += other.major_faults;
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(user: u64, system: u64) -> Usage {
        Usage { user: Nanos(user), system: Nanos(system), minor_faults: 9, ..Usage::default() }
    }

    #[test]
    fn earlier_use_is_subtracted_from_the_sum() {
        assert_eq!(usage(10, 5).without(usage(2, 1)), Usage { minor_faults: 0, ..usage(8, 4) });
        assert_eq!(usage(10, 0).without(usage(0, 3)).cpu(), Nanos(7));
        assert_eq!(usage(1, 9).without(usage(4, 0)), Usage { minor_faults: 0, ..usage(0, 6) });
        assert_eq!(usage(1, 1).without(usage(4, 4)).cpu(), Nanos::ZERO);
    }

    #[test]
    fn scaling_keeps_the_ratio_of_user_and_system_time() {
        assert_eq!(usage(6, 2).scaled_to(Nanos(16)), usage(12, 4));
        assert_eq!(usage(0, 0).scaled_to(Nanos(5)), usage(5, 0));
    }
}
