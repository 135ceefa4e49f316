//! What capturing programs may cost: what launches from snapshots have saved, and a small share of the command's time.

use steady_model::Nanos;

use crate::make::Used;

/// What may be spent before anything was saved: a few programs.
const START: Nanos = Nanos(40_000_000);
/// What a launch from a snapshot saves at least, in CPU time: that of `true`, one of the smallest programs, on a virtual machine
/// with fast CPUs. Larger programs save up to ten times as much.
const SAVED: Nanos = Nanos(250_000);
/// One part in this many of the time since the command began may be spent besides, so that a long command does not stay without
/// snapshots because the first ones were of programs that it rarely starts.
const SHARE: u64 = 32;

/// What was spent, and what was saved meanwhile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    spent: Nanos,
    /// How many launches from snapshots there had been before.
    launches: u64,
    /// When the command began.
    began: Nanos,
}

impl Budget {
    /// A budget of a command that begins now, after so many launches from snapshots.
    pub(super) fn new(launches: u64, now: Nanos) -> Self {
        Budget { spent: Nanos::ZERO, launches, began: now }
    }

    /// Whether something is left, now that there have been so many launches from snapshots.
    pub(super) fn allows(&self, launches: u64, now: Nanos) -> bool {
        let saved = SAVED.0.saturating_mul(launches.saturating_sub(self.launches));
        let share = now.0.saturating_sub(self.began.0) / SHARE;
        self.spent.0 < START.0.saturating_add(saved).saturating_add(share)
    }

    /// Takes off what was used between two moments. CPU time that nobody else wanted costs nothing: a process that never waits for a
    /// CPU keeps no other one waiting.
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
    fn what_is_saved_may_be_spent() {
        let now = Nanos(5_000_000_000);
        let mut budget = Budget::new(1_000, now);
        assert!(budget.allows(1_000, now) && budget.allows(0, now));
        // Nobody waited for it.
        budget.spend(&used(0, Ok(0)), &used(500, Ok(1)));
        assert!(budget.allows(1_000, now));
        budget.spend(&used(500, Ok(1)), &used(550, Ok(201)));
        assert!(!budget.allows(1_000, now) && !budget.allows(1_010, now), "51 ms were spent and 40 are there");
        assert!(budget.allows(1_050, now));
        let unknown = Err(Absent::because("no statistics"));
        budget.spend(&used(0, unknown.clone()), &used(10, unknown));
        assert!(!budget.allows(1_050, now) && budget.allows(1_090, now));
        // 61 ms were spent: 40 to begin with, and a 32nd of 0.7 s.
        let later = |millis: u64| Nanos(now.0 + millis * 1_000_000);
        assert!(!budget.allows(1_000, later(600)) && budget.allows(1_000, later(700)));
    }
}
