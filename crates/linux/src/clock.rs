//! Clocks: the one place that reads them, and what reading costs here.

use rustix::time::{ClockId, clock_getres, clock_gettime};
use steady_model::{Absent, Nanos, Reading, Timestamp};

/// The time on the monotonic clock: nanoseconds since an arbitrary moment, the same for all processes.
///
/// It does not jump, and it stands still while the machine is suspended. Source: `CLOCK_MONOTONIC` of
/// clock_gettime(2).
pub fn monotonic() -> Nanos {
    let now = clock_gettime(ClockId::Monotonic);
    nanos(now.tv_sec, now.tv_nsec)
}

/// CPU time that this process has used so far, all its threads together: `CLOCK_PROCESS_CPUTIME_ID` of clock_gettime(2).
pub fn process_cpu() -> Nanos {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    nanos(now.tv_sec, now.tv_nsec)
}

/// CPU time that the calling thread has used so far, to the nanosecond: `CLOCK_THREAD_CPUTIME_ID` of clock_gettime(2).
///
/// Unlike the monotonic clock it has to ask the kernel, which takes some tenths of a microsecond.
pub fn thread_cpu() -> Nanos {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    nanos(now.tv_sec, now.tv_nsec)
}

/// A clock of the kernel that programs read: clock_gettime(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// `CLOCK_REALTIME`: the time of day.
    Realtime,
    /// `CLOCK_MONOTONIC`: see [`monotonic`].
    Monotonic,
    /// `CLOCK_PROCESS_CPUTIME_ID`: see [`process_cpu`].
    ProcessCpu,
    /// `CLOCK_THREAD_CPUTIME_ID`: see [`thread_cpu`].
    ThreadCpu,
}

/// Readings in a row in search of a clock's step: a clock that moves with the tick is read for some ticks.
const STEP_READINGS: u32 = 2_000;
const STEP_LIMIT: Nanos = Nanos(30_000_000);

impl Clock {
    fn id(self) -> ClockId {
        match self {
            Clock::Realtime => ClockId::Realtime,
            Clock::Monotonic => ClockId::Monotonic,
            Clock::ProcessCpu => ClockId::ProcessCPUTime,
            Clock::ThreadCpu => ClockId::ThreadCPUTime,
        }
    }

    fn read(self) -> Nanos {
        let now = clock_gettime(self.id());
        nanos(now.tv_sec, now.tv_nsec)
    }

    /// Its step as the kernel states it: clock_getres(2).
    pub fn stated_resolution(self) -> Nanos {
        let step = clock_getres(self.id());
        nanos(step.tv_sec, step.tv_nsec)
    }

    /// The smallest difference that two readings in a row show, reading cost included; absent where it does not move
    /// within 30 ms.
    pub fn smallest_step(self) -> Reading<Nanos> {
        let begin = monotonic();
        let mut before = self.read();
        let (mut smallest, mut readings) = (None::<Nanos>, 0);
        while readings < STEP_READINGS || (smallest.is_none() && monotonic() - begin < STEP_LIMIT) {
            let now = self.read();
            // One that is set back meanwhile tells no step.
            if now > before {
                smallest = Some(smallest.map_or(now - before, |least| least.min(now - before)));
            }
            (before, readings) = (now, readings + 1);
        }
        smallest.ok_or_else(|| Absent::because("it did not move while it was read for 30 ms"))
    }
}

/// The length of the kernel's tick: the step of its coarse clocks (clock_getres(2)).
pub fn tick() -> Nanos {
    let step = clock_getres(ClockId::MonotonicCoarse);
    nanos(step.tv_sec, step.tv_nsec)
}

/// The time of day in nanoseconds since 1970, to be held against the times of files. This clock jumps when it is set.
pub fn real_time() -> Nanos {
    Clock::Realtime.read()
}

/// The time of day. For labels only: this clock jumps when it is set.
pub fn time_of_day() -> Timestamp {
    Timestamp(u64::try_from(clock_gettime(ClockId::Realtime).tv_sec).unwrap_or(0))
}

fn nanos(seconds: i64, nanoseconds: i64) -> Nanos {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    Nanos(seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(nanoseconds).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_does_not_go_back() {
        let mut before = monotonic();
        for _ in 0..1_000 {
            let now = monotonic();
            assert!(now >= before);
            before = now;
        }
    }

    #[test]
    fn a_thread_s_clock_runs_while_it_works_and_not_while_it_sleeps() {
        let (cpu, wall) = (thread_cpu(), monotonic());
        std::thread::sleep(std::time::Duration::from_millis(50));
        let slept = thread_cpu() - cpu;
        assert!(slept < Nanos(25_000_000) && monotonic() - wall >= Nanos(50_000_000), "{slept:?}");
        let cpu = thread_cpu();
        while thread_cpu() - cpu < Nanos(1_000_000) {}
    }

    #[test]
    fn a_thread_uses_no_more_than_its_process() {
        let (process, thread) = (process_cpu(), thread_cpu());
        while thread_cpu() - thread < Nanos(1_000_000) {}
        let used = thread_cpu() - thread;
        assert!(process_cpu() - process >= used, "{used:?}");
    }

    #[test]
    fn every_clock_moves_by_steps_of_its_own() {
        for clock in [Clock::Realtime, Clock::Monotonic, Clock::ProcessCpu, Clock::ThreadCpu] {
            let (step, stated) = (clock.smallest_step().unwrap(), clock.stated_resolution());
            assert!(step > Nanos::ZERO && step < Nanos(100_000_000), "{clock:?}: {step:?}");
            assert!(stated > Nanos::ZERO && stated <= Nanos(10_000_000), "{clock:?}: {stated:?}");
        }
    }
}
