//! The limits: looking at CPU time, wall time and waiting.

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
