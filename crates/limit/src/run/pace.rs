//! When to look again: at the soonest moment at which a limit could be reached, and within what looking may cost.

use steady_model::Nanos;

/// The least time between two looks: shorter sleeps are mostly the cost of waking.
const FINEST: Nanos = Nanos(500_000);
/// Looks may cost this share of the time that has passed, and this much at once for the start.
const SHARE: u64 = 300;
const START: Nanos = Nanos(2_000_000);

/// Chooses the moments.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    started: Nanos,
    /// At most so many CPUs' worth of time can be used at once.
    cpus: u64,
    poll: Option<Nanos>,
}

impl Pace {
    pub(super) fn new(started: Nanos, cpus: usize, poll: Option<Nanos>) -> Self {
        Pace { started, cpus: cpus.max(1) as u64, poll }
    }

    /// The next look after one at `now` that saw `cpu` of the CPU limit and `wall` of the wall limit left. So far the
    /// looks have `spent` CPU time, the last of them `cost`.
    pub(super) fn next(&self, now: Nanos, cpu: Nanos, wall: Nanos, spent: Nanos, cost: Nanos) -> Nanos {
        let soonest = Nanos(cpu.0 / self.cpus).min(wall);
        self.later(now, soonest.max(self.least(now, spent, cost)))
    }

    /// The first moment of the poll after `now`; without one, `span` later.
    pub(super) fn later(&self, now: Nanos, span: Nanos) -> Nanos {
        let Some(poll) = self.poll else { return now + span };
        let passed = (now - self.started).0 / poll.0.max(1);
        self.started + Nanos(poll.0.saturating_mul(passed + 1))
    }

    /// The least time to the next look. Who has looked too dearly waits until looks as dear as the last have their share.
    fn least(&self, now: Nanos, spent: Nanos, cost: Nanos) -> Nanos {
        let allowed = Nanos((now - self.started).0 / SHARE) + START;
        if spent <= allowed { FINEST } else { FINEST.max(Nanos(cost.0.saturating_mul(SHARE))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn it_looks_when_all_cpus_could_have_used_what_is_left() {
        let pace = Pace::new(Nanos(0), 4, None);
        let next = |cpu, wall| pace.next(Nanos(1_000 * MS), Nanos(cpu), Nanos(wall), Nanos(0), Nanos(20_000));
        assert_eq!(next(400 * MS, 9_000 * MS), Nanos(1_100 * MS));
        assert_eq!(next(400 * MS, 50 * MS), Nanos(1_050 * MS), "the wall limit is nearer");
        assert_eq!(next(MS, 9_000 * MS), Nanos(1_000 * MS + FINEST.0), "never busy");
    }

    #[test]
    fn dear_looks_become_rare() {
        let pace = Pace::new(Nanos(0), 1, None);
        let next = |spent| pace.next(Nanos(1_000 * MS), Nanos(MS), Nanos(9_000 * MS), Nanos(spent), Nanos(MS));
        assert_eq!(next(5 * MS), Nanos(1_001 * MS));
        assert_eq!(next(6 * MS), Nanos(1_300 * MS));
    }

    #[test]
    fn a_poll_looks_at_its_own_moments_only() {
        let pace = Pace::new(Nanos(500 * MS), 2, Some(Nanos(1_000 * MS)));
        let next = |now| pace.next(Nanos(now), Nanos(1), Nanos(1), Nanos(0), Nanos(0));
        assert_eq!(next(500 * MS), Nanos(1_500 * MS));
        assert_eq!(next(1_501 * MS), Nanos(2_500 * MS), "late looks do not move the others");
        assert_eq!(next(4_700 * MS), Nanos(5_500 * MS));
    }
}
