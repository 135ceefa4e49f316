//! The limits: looking at CPU time, wall time and waiting, and asking the tree to end.

use steady_linux::clock;
use steady_model::{LimitOutcome, Nanos};

use super::Guardian;
use crate::limit::tree::ask_to_end;

/// How often the waiting is looked at where nothing else asks for it: the shorter, the less is missed of threads that end
/// in between.
pub(super) const LOOK_AT_WAITING: Nanos = Nanos(100_000_000);
/// When to look again at a tree that has reached the wall limit but seems to wait.
const LOOK_AGAIN: Nanos = Nanos(20_000_000);
/// Looking at it may cost this share of the time.
const WAITING_SHARE: u64 = 500;
/// A time that does not come.
const NEVER: Nanos = Nanos(u64::MAX);

impl Guardian<'_> {
    /// Looks at the limits, and has the tree end where one is reached: CPU time first, for a command that has reached
    /// both has worked.
    pub(super) fn look(&mut self, now: Nanos) {
        let before = clock::process_cpu();
        let used = self.started.meter.read(self.setup.plan.cpu);
        let reached = if used >= self.setup.plan.cpu {
            Some(LimitOutcome::CpuLimit)
        } else if !self.course.is_stopped() && self.wall_is_reached(now) {
            // What it has waited since the last look may still be taken out.
            let runnable = self.look_at_waiting(now);
            if runnable && self.wall_is_reached(now) {
                // It waits for a CPU, for a time that is not told yet; or it works, which is the other limit's matter.
                self.look_at = self.pace.later(now, LOOK_AGAIN);
                return;
            }
            self.wall_is_reached(now).then_some(LimitOutcome::WallLimit)
        } else {
            None
        };
        match reached {
            Some(outcome) => {
                self.judged = Some((outcome, now + self.setup.plan.kill_after));
                ask_to_end(self.started.meter.group());
            }
            None => self.plan_next_look(now, used, clock::process_cpu() - before),
        }
    }

    /// Plans the next look after one that saw `used` CPU time and took `cost` itself.
    pub(super) fn plan_next_look(&mut self, now: Nanos, used: Nanos, cost: Nanos) {
        let cpu = self.setup.plan.cpu - used;
        let wall = self.wall_limit() - self.course.counted(now);
        let spent = clock::process_cpu() - self.own_start;
        self.look_at = self.no_hurry(self.pace.next(now, cpu, wall, spent, cost), now);
    }

    /// Looks how long the tree's threads have waited for a CPU; whether one of them runs or waits now.
    pub(super) fn look_at_waiting(&mut self, now: Nanos) -> bool {
        let Ok(watch) = &mut self.watch else {
            self.waiting_due = NEVER;
            return false;
        };
        let before = clock::process_cpu();
        let seen = watch.look(&self.started.meter.threads(), now);
        let used = self.started.meter.roughly();
        self.course.look(now, seen, used - self.waiting_cpu);
        self.waiting_cpu = used;
        let cost = clock::process_cpu() - before;
        self.waiting_due = now + LOOK_AT_WAITING.max(Nanos(cost.0.saturating_mul(WAITING_SHARE)));
        seen.runnable
    }

    /// Whether the time that counts has reached the wall limit.
    pub(super) fn wall_is_reached(&self, now: Nanos) -> bool {
        self.course.counted(now) >= self.wall_limit()
    }

    fn wall_limit(&self) -> Nanos {
        Nanos::from_seconds(self.setup.plan.wall_factor * self.setup.plan.cpu.seconds())
    }
}
