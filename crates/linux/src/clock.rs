//! Clocks: the only code that reads them, and how precise they are on this machine.

use rustix::time::{ClockId, clock_getres, clock_gettime};
use steady_model::{Absent, Nanos, Reading, Timestamp};

/// Time on the monotonic clock: nanoseconds since an arbitrary start, which is the same for all processes.
///
/// The clock does not jump, and it stops while the machine is suspended. Source: `CLOCK_MONOTONIC` of clock_gettime(2).
pub fn monotonic() -> Nanos {
    let now = clock_gettime(ClockId::Monotonic);
    nanos(now.tv_sec, now.tv_nsec)
}

/// CPU time of all threads of this process so far: `CLOCK_PROCESS_CPUTIME_ID` of clock_gettime(2).
pub fn process_cpu() -> Nanos {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    nanos(now.tv_sec, now.tv_nsec)
}

/// CPU time of the calling thread so far, in nanoseconds: `CLOCK_THREAD_CPUTIME_ID` of clock_gettime(2).
///
/// Unlike the monotonic clock it needs a system call, which takes some tenths of a microsecond.
pub fn thread_cpu() -> Nanos {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    nanos(now.tv_sec, now.tv_nsec)
}

/// A kernel clock that programs can read: clock_gettime(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// `CLOCK_REALTIME`: the time of day.
    Realtime,
    /// `CLOCK_MONOTONIC`, the clock of [`monotonic`].
    Monotonic,
    /// `CLOCK_PROCESS_CPUTIME_ID`, the clock of [`process_cpu`].
    ProcessCpu,
    /// `CLOCK_THREAD_CPUTIME_ID`, the clock of [`thread_cpu`].
    ThreadCpu,
}

/// Minimum number of readings to find the step of a clock.
const STEP_READINGS: u32 = 2_000;
/// Time limit for readings. A clock that moves with the tick must be read for several ticks.
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

    /// Resolution of the clock as the kernel states it: clock_getres(2).
    pub fn stated_resolution(self) -> Nanos {
        let step = clock_getres(self.id());
        nanos(step.tv_sec, step.tv_nsec)
    }

    /// Smallest nonzero difference of two consecutive readings. It includes the cost of a reading. An error means that
    /// the clock did not move within 30 ms.
    pub fn smallest_step(self) -> Reading<Nanos> {
        let begin = monotonic();
        let mut before = self.read();
        let (mut smallest, mut readings) = (None::<Nanos>, 0);
        while readings < STEP_READINGS || (smallest.is_none() && monotonic() - begin < STEP_LIMIT) {
            let now = self.read();
            // If the clock was set back, the difference is not a step.
            if now > before {
                smallest = Some(smallest.map_or(now - before, |least| least.min(now - before)));
            }
            (before, readings) = (now, readings + 1);
        }
        smallest.ok_or_else(|| Absent::because("the clock did not move in 30 ms of readings"))
    }
}

/// Length of the kernel's tick: the resolution of its coarse clocks (clock_getres(2)).
pub fn tick() -> Nanos {
    let step = clock_getres(ClockId::MonotonicCoarse);
    nanos(step.tv_sec, step.tv_nsec)
}

/// Time of day in nanoseconds since 1970, for comparison with file times. This clock jumps when it is set.
pub fn real_time() -> Nanos {
    Clock::Realtime.read()
}

/// Time of day in seconds since 1970. Use it only for labels, because this clock jumps when it is set.
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
    fn the_monotonic_clock_does_not_go_back() {
        let mut before = monotonic();
        for _ in 0..1_000 {
            let now = monotonic();
            assert!(now >= before);
            before = now;
        }
    }

    #[test]
    fn a_thread_clock_runs_only_while_the_thread_works() {
        let (cpu, wall) = (thread_cpu(), monotonic());
        std::thread::sleep(std::time::Duration::from_millis(50));
        let slept = thread_cpu() - cpu;
        assert!(slept < Nanos(25_000_000) && monotonic() - wall >= Nanos(50_000_000), "{slept:?}");
        let cpu = thread_cpu();
        while thread_cpu() - cpu < Nanos(1_000_000) {}
    }

    #[test]
    fn a_process_uses_at_least_the_time_of_its_thread() {
        let (process, thread) = (process_cpu(), thread_cpu());
        while thread_cpu() - thread < Nanos(1_000_000) {}
        let used = thread_cpu() - thread;
        assert!(process_cpu() - process >= used, "{used:?}");
    }

    #[test]
    fn every_clock_has_a_step_and_a_resolution() {
        for clock in [Clock::Realtime, Clock::Monotonic, Clock::ProcessCpu, Clock::ThreadCpu] {
            let (step, stated) = (clock.smallest_step().unwrap(), clock.stated_resolution());
            assert!(step > Nanos::ZERO && step < Nanos(100_000_000), "{clock:?}: {step:?}");
            assert!(stated > Nanos::ZERO && stated <= Nanos(10_000_000), "{clock:?}: {stated:?}");
        }
    }
}
