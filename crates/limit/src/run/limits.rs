//! The limits: looking at CPU time, wall time and waiting, and when to look again.

use steady_linux::clock;
use steady_model::Nanos;
use steady_process::attended::Moment;

use super::limiter::Limiter;
use crate::record::LimitOutcome;

/// How often the waiting is looked at where nothing else asks for it: the shorter, the less is missed of threads that end
/// in between.
const LOOK_AT_WAITING: Nanos = Nanos(100_000_000);
/// When to look again at a tree that has reached the wall limit but seems to wait.
const LOOK_AGAIN: Nanos = Nanos(20_000_000);
/// Looking at it may cost this share of the time.
const WAITING_SHARE: u64 = 500;
/// A time that does not come.
const NEVER: Nanos = Nanos(u64::MAX);

impl Limiter {
    /// Looks at the limits, and says which is reached: CPU time first, for a command that has reached both has worked.
    pub(super) fn look_at_limits(&mut self, moment: Moment) -> Option<LimitOutcome> {
        let before = clock::process_cpu();
        let used = self.meter.read(self.plan.cpu);
        if used >= self.plan.cpu {
            return Some(LimitOutcome::CpuLimit);
        }
        if !moment.is_stopped && self.wall_is_reached(moment) {
            // What it has waited since the last look may still be taken out.
            let runnable = self.look_at_waiting(moment);
            if runnable && self.wall_is_reached(moment) {
                // It waits for a CPU, for a time that is not told yet; or it works, which is the other limit's matter.
                self.look_at = self.pace.later(moment.now, LOOK_AGAIN);
                return None;
            }
            if self.wall_is_reached(moment) {
                return Some(LimitOutcome::WallLimit);
            }
        }
        self.plan_next_look(moment, used, clock::process_cpu() - before);
        None
    }

    /// Plans the next look after one that saw `used` CPU time and took `cost` itself.
    pub(super) fn plan_next_look(&mut self, moment: Moment, used: Nanos, cost: Nanos) {
        let cpu = self.plan.cpu - used;
        let wall = self.wall_limit() - self.course.counted(moment);
        let spent = clock::process_cpu() - self.own_start;
        let next = self.pace.next(moment.now, cpu, wall, spent, cost);
        // While it is stopped there is no hurry: its time stands still.
        self.look_at = if moment.is_stopped { next.max(moment.now + LOOK_AT_WAITING) } else { next };
    }

    /// Looks how long the tree's threads have waited for a CPU; whether one of them runs or waits now.
    pub(super) fn look_at_waiting(&mut self, moment: Moment) -> bool {
        let Ok(watch) = &mut self.watch else {
            self.waiting_due = NEVER;
            return false;
        };
        let before = clock::process_cpu();
        let seen = watch.look(&self.meter.threads(), moment.now);
        let used = self.meter.roughly();
        self.course.look(moment, seen, used - self.waiting_cpu);
        self.waiting_cpu = used;
        let cost = clock::process_cpu() - before;
        self.waiting_due = moment.now + LOOK_AT_WAITING.max(Nanos(cost.0.saturating_mul(WAITING_SHARE)));
        seen.runnable
    }

    /// Whether the time that counts has reached the wall limit.
    pub(super) fn wall_is_reached(&self, moment: Moment) -> bool {
        self.course.counted(moment) >= self.wall_limit()
    }

    fn wall_limit(&self) -> Nanos {
        Nanos::from_seconds(self.plan.wall_factor * self.plan.cpu.seconds())
    }
}

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
