//! Checks of the two limits: CPU time, and wall time without waiting.

use steady_linux::clock;
use steady_model::Nanos;
use steady_process::attended::Moment;

use super::limiter::Limiter;
use crate::record::LimitOutcome;

/// Mean interval at which the run delays of threads are read if no check of the limits is earlier. A shorter interval
/// misses less of the threads that end between two readings.
const RUN_DELAY_INTERVAL: Nanos = Nanos(100_000_000);
/// The interval is shorter at first: the time since the start divided by `FIRST_READINGS`, but not below [`RECHECK`].
const FIRST_READINGS: u64 = 8;
/// The golden ratio. Its multiples, without their integer parts, are spread evenly and have no period. A command that
/// works at regular intervals is therefore seen at all phases of its work.
const GOLDEN_RATIO: f64 = 1.618_033_988_749_895;
/// Time to the next check of a tree that reached the wall limit but has runnable threads.
const RECHECK: Nanos = Nanos(20_000_000);
/// Reading the run delays may cost 1 part in `WAITING_SHARE` of the time.
const WAITING_SHARE: u64 = 500;
/// A time that is never reached.
const NEVER: Nanos = Nanos(u64::MAX);

impl Limiter {
    /// Checks the limits and returns the one that is reached. The CPU limit comes first: a command that reached both
    /// has done work.
    pub(super) fn check_limits(&mut self, moment: Moment) -> Option<LimitOutcome> {
        let before = clock::process_cpu();
        let used = self.meter.read(self.plan.cpu);
        if used >= self.plan.cpu {
            return Some(LimitOutcome::CpuLimit);
        }
        if !moment.is_stopped && self.wall_is_reached(moment) {
            // Read the latest run delays first: waiting since the previous reading does not count either.
            let runnable = self.read_run_delays(moment);
            if runnable && self.wall_is_reached(moment) {
                // A thread is still runnable. Either it waits for a CPU, which the kernel has not reported yet, or it
                // runs, which the CPU limit covers. Check again soon.
                self.check_at = self.schedule.later(moment.now, RECHECK);
                return None;
            }
            if self.wall_is_reached(moment) {
                return Some(LimitOutcome::WallLimit);
            }
        }
        self.schedule_check(moment, used, clock::process_cpu() - before);
        None
    }

    /// Schedules the next check after one that found `used` CPU time and itself cost `cost` CPU time.
    pub(super) fn schedule_check(&mut self, moment: Moment, used: Nanos, cost: Nanos) {
        let cpu = self.plan.cpu - used;
        let wall = self.wall_limit() - self.wall_clock.counted(moment);
        let spent = clock::process_cpu() - self.own_start;
        let next = self.schedule.next(moment.now, cpu, wall, spent, cost);
        // A stopped command uses no time that counts, so checks can be rare.
        self.check_at = if moment.is_stopped { next.max(moment.now + RUN_DELAY_INTERVAL) } else { next };
    }

    /// Reads how long the threads of the tree waited for a CPU. Returns whether one of them runs or waits now.
    ///
    /// A control group does not list a process that has ended, but the command can be read until it is reaped. Without
    /// it, most of the waiting of a short command would be missing.
    pub(super) fn read_run_delays(&mut self, moment: Moment) -> bool {
        let mut threads = self.meter.threads();
        threads.extend(self.command.filter(|command| !threads.contains(command)));
        // Children before their parents: if a child ends during the reading, its parent is seen running or waiting.
        threads.sort_unstable_by(|one, other| other.cmp(one));
        let Ok(watch) = &mut self.watch else {
            self.waiting_due = NEVER;
            return false;
        };
        let before = clock::process_cpu();
        let seen = watch.look(&threads, moment.now);
        let used = self.meter.estimate();
        self.wall_clock.add(moment, seen, used - self.waiting_cpu);
        self.waiting_cpu = used;
        let cost = clock::process_cpu() - before;
        self.waiting_readings += 1;
        let mean = Nanos((moment.now - self.started).0 / FIRST_READINGS).clamp(RECHECK, RUN_DELAY_INTERVAL);
        let mean = mean.max(Nanos(cost.0.saturating_mul(WAITING_SHARE)));
        let spread = 0.5 + (f64::from(self.waiting_readings) * GOLDEN_RATIO).fract();
        self.waiting_due = moment.now + Nanos((mean.0 as f64 * spread) as u64);
        seen.runnable > 0
    }

    /// Returns whether the time that counts has reached the wall limit.
    pub(super) fn wall_is_reached(&self, moment: Moment) -> bool {
        self.wall_clock.counted(moment) >= self.wall_limit()
    }

    fn wall_limit(&self) -> Nanos {
        Nanos::from_seconds(self.plan.wall_factor * self.plan.cpu.seconds())
    }
}
