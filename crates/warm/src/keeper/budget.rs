//! The CPU time that captures may use: what launches from snapshots have saved, and a small share of the command's
//! time.

use steady_model::Nanos;

use crate::make::Used;

/// What may be used before anything is saved; it is enough for a few programs.
const START: Nanos = Nanos(40_000_000);
/// CPU time that a launch from a snapshot saves at least. It was measured with `true`, one of the smallest programs, on
/// a virtual machine with fast CPUs. Larger programs save up to ten times as much.
const SAVED: Nanos = Nanos(250_000);
/// Captures may also use one part in this many of the time since the command began. Otherwise a long command could stay
/// without snapshots because the first captures were of rarely started programs.
const SHARE: u64 = 32;

/// The CPU time used so far, and the reference for savings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    spent: Nanos,
    /// Number of launches from snapshots before the command.
    launches: u64,
    /// When the command began, on the monotonic clock.
    began: Nanos,
}

impl Budget {
    /// Creates the budget of a command that begins now. `launches` is the number of launches from snapshots so far.
    pub(super) fn new(launches: u64, now: Nanos) -> Self {
        Budget { spent: Nanos::ZERO, launches, began: now }
    }

    /// Returns whether there is budget left, given the number of launches from snapshots so far.
    pub(super) fn allows(&self, launches: u64, now: Nanos) -> bool {
        let saved = SAVED.0.saturating_mul(launches.saturating_sub(self.launches));
        let share = now.0.saturating_sub(self.began.0) / SHARE;
        self.spent.0 < START.0.saturating_add(saved).saturating_add(share)
    }

    /// Charges what was used between two readings. CPU time on an otherwise idle CPU is free: at most the time that
    /// captures waited for a CPU is charged, because only then do other processes want the CPU too.
    pub(super) fn spend(&mut self, before: &Used, after: &Used) {
        let cpu = after.cpu.0.saturating_sub(before.cpu.0);
        let waited = after.waited.as_ref().ok().zip(before.waited.as_ref().ok());
        self.spent.0 = self.spent.0.saturating_add(match waited {
            Some((after, before)) => cpu.min(after.0.saturating_sub(before.0)),
            None => cpu,
        });
    }
}

#[cfg(test)]
mod tests {
    use steady_model::{Absent, Reading};

    use super::*;

    fn used(cpu: u64, waited: Reading<u64>) -> Used {
        Used { cpu: Nanos(cpu * 1_000_000), waited: waited.map(|millis| Nanos(millis * 1_000_000)) }
    }

    #[test]
    fn captures_may_use_what_launches_have_saved() {
        let now = Nanos(5_000_000_000);
        let mut budget = Budget::new(1_000, now);
        assert!(budget.allows(1_000, now) && budget.allows(0, now));
        // The captures waited 1 ms for a CPU, so only 1 ms is charged.
        budget.spend(&used(0, Ok(0)), &used(500, Ok(1)));
        assert!(budget.allows(1_000, now));
        budget.spend(&used(500, Ok(1)), &used(550, Ok(201)));
        assert!(!budget.allows(1_000, now) && !budget.allows(1_010, now), "51 ms are used, 40 ms are allowed");
        assert!(budget.allows(1_050, now));
        let unknown = Err(Absent::because("no statistics"));
        budget.spend(&used(0, unknown.clone()), &used(10, unknown));
        assert!(!budget.allows(1_050, now) && budget.allows(1_090, now));
        // 61 ms are used; allowed are 40 ms and a 32nd of 0.7 s.
        let later = |millis: u64| Nanos(now.0 + millis * 1_000_000);
        assert!(!budget.allows(1_000, later(600)) && budget.allows(1_000, later(700)));
    }
}
