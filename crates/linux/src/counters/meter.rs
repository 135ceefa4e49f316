//! Converts counter readings into the event counts of a run.

use std::io;

use steady_model::{CounterScope, Counters, Nanos};

use super::EVENTS;

/// A reading of a counter: totals since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawCount {
    /// Number of events counted.
    pub value: u64,
    /// Time in which the counter was enabled, in nanoseconds of CPU time.
    pub enabled: u64,
    /// Time in which the counter counted, in nanoseconds. It is less than `enabled` if more events than CPU registers
    /// shared the registers in turns.
    pub running: u64,
}

/// A counter: a kernel counter, or recorded readings in tests.
pub trait Counter {
    /// Returns the totals since the counter was opened.
    ///
    /// # Errors
    /// The error of read(2).
    fn read(&mut self) -> io::Result<RawCount>;
}

impl RawCount {
    /// Adds a counter of the same event on another kind of core. Only one of the two runs at a time.
    pub(super) fn plus(self, other: RawCount) -> RawCount {
        RawCount {
            value: self.value.saturating_add(other.value),
            enabled: self.enabled.max(other.enabled),
            running: self.running.saturating_add(other.running),
        }
    }

    /// Returns the counts since `earlier`, or `None` if a total has decreased.
    pub(super) fn since(self, earlier: RawCount) -> Option<RawCount> {
        Some(RawCount {
            value: self.value.checked_sub(earlier.value)?,
            enabled: self.enabled.checked_sub(earlier.enabled)?,
            running: self.running.checked_sub(earlier.running)?,
        })
    }

    /// Extrapolates the count from the time in which the counter ran to the time in which it was enabled. Returns
    /// `None` if the counter never ran.
    fn scaled(self) -> Option<u64> {
        if self.running >= self.enabled {
            return (self.running > 0).then_some(self.value);
        }
        let whole = u128::from(self.value) * u128::from(self.enabled) + u128::from(self.running) / 2;
        whole.checked_div(u128::from(self.running)).and_then(|whole| u64::try_from(whole).ok())
    }
}

/// Counters for runs that follow each other.
pub struct Meter {
    scope: CounterScope,
    counters: [Option<Box<dyn Counter>>; EVENTS],
    before: [Option<RawCount>; EVENTS],
}

/// Maximum ratio of a run's CPU time to the time in which its events were enabled. Above it, part of the run was not
/// counted: at an exec, the kernel stops the events of programs that change their user or that this user may not read.
/// No run is counted before its exec, which is the larger part of the shortest runs.
pub(super) const UNCOUNTED_RATIO: u64 = 4;

impl Meter {
    /// Makes a meter of instructions, cycles, branch misses and cache misses, in this order. An event without a counter
    /// is `None`.
    pub fn new(scope: CounterScope, counters: [Option<Box<dyn Counter>>; EVENTS]) -> Self {
        Meter { scope, counters, before: [None; EVENTS] }
    }

    /// Scope of the counted events: user mode only, or user and kernel mode.
    pub fn scope(&self) -> CounterScope {
        self.scope
    }

    /// Reads the counters. Call this before a run starts.
    pub fn begin(&mut self) {
        self.before = self.read();
    }

    /// Returns the events of a run that used `cpu_time`. Call this when all descendants of the run have been reaped.
    pub fn end(&mut self, cpu_time: Nanos) -> Counters {
        let [instructions, cycles, branch_misses, cache_misses] = self.end_each(cpu_time);
        // Every program executes instructions and uses cycles: a counter that reports 0 of them does not work.
        Counters {
            instructions: instructions.filter(|count| *count > 0),
            cycles: cycles.filter(|count| *count > 0),
            branch_misses,
            cache_misses,
        }
    }

    /// As [`Meter::end`], for a meter of other events: returns their counts in the order of the counters.
    pub fn end_each(&mut self, cpu_time: Nanos) -> [Option<u64>; EVENTS] {
        let (now, before) = (self.read(), self.before);
        std::array::from_fn(|event| count(now[event]?, before[event]?, cpu_time))
    }

    fn read(&mut self) -> [Option<RawCount>; EVENTS] {
        self.counters.each_mut().map(|counter| counter.as_mut()?.read().ok())
    }
}

fn count(now: RawCount, before: RawCount, cpu_time: Nanos) -> Option<u64> {
    let counted = now.since(before)?;
    let all = counted.enabled.saturating_mul(UNCOUNTED_RATIO) >= cpu_time.0;
    counted.scaled().filter(|_| all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A counter that returns recorded readings: (count, enabled, running) each.
    struct Recorded(std::vec::IntoIter<(u64, u64, u64)>);

    impl Counter for Recorded {
        fn read(&mut self) -> io::Result<RawCount> {
            let next = self.0.next().map(|(value, enabled, running)| RawCount { value, enabled, running });
            next.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
        }
    }

    fn recorded<const N: usize>(readings: [(u64, u64, u64); N]) -> Option<Box<dyn Counter>> {
        Some(Box::new(Recorded(Vec::from(readings).into_iter())))
    }

    /// Returns the instructions of a run with 10 us of CPU time, from readings of the first counter before and after
    /// the run.
    fn instructions(before: (u64, u64, u64), after: (u64, u64, u64)) -> Option<u64> {
        let mut meter = Meter::new(CounterScope::User, [recorded([before, after]), None, None, None]);
        meter.begin();
        meter.end(Nanos(10_000)).instructions
    }

    #[test]
    fn a_count_is_the_difference_of_two_readings() {
        let first = [(0, 0, 0), (5_000, 10_000, 10_000), (5_000, 10_000, 10_000), (12_000, 21_000, 21_000)];
        let misses = [(7, 0, 0), (7, 10_000, 10_000), (7, 10_000, 10_000), (9, 21_000, 21_000)];
        let mut meter = Meter::new(CounterScope::UserAndKernel, [recorded(first), None, recorded(misses), None]);
        let mut run = || {
            meter.begin();
            meter.end(Nanos(10_000))
        };
        let counted = |instructions, misses| Counters { instructions, branch_misses: misses, ..Counters::default() };
        assert_eq!(run(), counted(Some(5_000), Some(0)));
        assert_eq!(run(), counted(Some(7_000), Some(2)));
        assert_eq!(run(), counted(None, None), "no readings are left");
    }

    #[test]
    fn multiplexed_counters_are_scaled() {
        assert_eq!(instructions((100, 1_000, 500), (1_100, 11_000, 3_000)), Some(4_000));
        assert_eq!(instructions((0, 0, 0), (2, 10_000, 6_667)), Some(3), "rounded to the nearest");
        assert_eq!(instructions((0, 0, 0), (10, 10_000, 10_001)), Some(10), "clocks that differ slightly");
        assert_eq!(instructions((0, 0, 0), (u64::MAX, u64::MAX, 1)), None, "overflow");
    }

    #[test]
    fn a_counter_that_never_ran_has_no_count() {
        assert_eq!(instructions((5, 1_000, 1_000), (5, 11_000, 1_000)), None);
        assert_eq!(instructions((5, 1_000, 1_000), (5, 1_000, 1_000)), None, "without an exec there is no count");
        assert_eq!(instructions((5, 1_000, 1_000), (5, 11_000, 11_000)), None, "every run has instructions");
    }

    #[test]
    fn a_counter_that_decreased_has_no_count() {
        assert_eq!(instructions((5_000, 1_000, 1_000), (100, 11_000, 11_000)), None);
        assert_eq!(instructions((5_000, 1_000, 1_000), (6_000, 900, 900)), None);
    }

    #[test]
    fn a_partly_counted_run_has_no_count() {
        assert_eq!(instructions((0, 0, 0), (900, 2_499, 2_499)), None);
        assert_eq!(instructions((0, 0, 0), (900, 2_500, 2_500)), Some(900));
    }

    #[test]
    fn two_kinds_of_cores_add_up() {
        let fast = RawCount { value: 600, enabled: 1_000, running: 300 };
        let slow = RawCount { value: 400, enabled: 1_000, running: 700 };
        assert_eq!(fast.plus(slow).scaled(), Some(1_000), "one of the two always ran: no scaling");
        let waited = RawCount { running: 200, ..slow };
        assert_eq!(fast.plus(waited).scaled(), Some(2_000));
    }
}
