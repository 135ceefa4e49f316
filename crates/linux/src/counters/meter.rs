//! From readings of counters to what a run did.

use std::io;

use steady_model::{CounterScope, Counters, Nanos};

use super::EVENTS;

/// A counter's reading: sums over all that it has counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawCount {
    /// The events that were counted.
    pub value: u64,
    /// For how long they were to be counted, in nanoseconds of CPU time.
    pub enabled: u64,
    /// For how long they were counted: less, where more events than the CPU has registers took turns.
    pub running: u64,
}

/// A counter that can be read: the kernel's, or recorded readings.
pub trait Counter {
    /// What has been counted since it was opened.
    ///
    /// # Errors
    /// What read(2) says.
    fn read(&mut self) -> io::Result<RawCount>;
}

impl RawCount {
    /// This counter and another that counts the same event on the other kind of cores: at any time one of them runs.
    pub(super) fn beside(self, other: RawCount) -> RawCount {
        RawCount {
            value: self.value.saturating_add(other.value),
            enabled: self.enabled.max(other.enabled),
            running: self.running.saturating_add(other.running),
        }
    }

    /// What was counted since `earlier`; `None` where the counter has gone backwards.
    pub(super) fn since(self, earlier: RawCount) -> Option<RawCount> {
        Some(RawCount {
            value: self.value.checked_sub(earlier.value)?,
            enabled: self.enabled.checked_sub(earlier.enabled)?,
            running: self.running.checked_sub(earlier.running)?,
        })
    }

    /// The events of the whole time from those of the time in which they were counted; `None` where that was none.
    fn scaled(self) -> Option<u64> {
        if self.running >= self.enabled {
            return (self.running > 0).then_some(self.value);
        }
        let whole = u128::from(self.value) * u128::from(self.enabled) + u128::from(self.running) / 2;
        whole.checked_div(u128::from(self.running)).and_then(|whole| u64::try_from(whole).ok())
    }
}

/// The counters of runs that are made one after the other.
pub struct Meter {
    scope: CounterScope,
    counters: [Option<Box<dyn Counter>>; EVENTS],
    before: [Option<RawCount>; EVENTS],
}

/// Where a run used more than this many times the CPU time in which its events were enabled, part of it was not
/// counted: the kernel ends the events of programs that change their user, or that this user may not read, at their
/// exec. Before its exec no run is counted, which is the most of what the shortest runs need.
pub(super) const UNCOUNTED_RATIO: u64 = 4;

impl Meter {
    /// A meter of instructions, cycles, branch misses and cache misses, in this order, as far as they can be counted.
    pub fn new(scope: CounterScope, counters: [Option<Box<dyn Counter>>; EVENTS]) -> Self {
        Meter { scope, counters, before: [None; EVENTS] }
    }

    /// Whose events are counted.
    pub fn scope(&self) -> CounterScope {
        self.scope
    }

    /// To be called before a run is started.
    pub fn begin(&mut self) {
        self.before = self.read();
    }

    /// What a run counted that has used `cpu_time`, once all that descends from it has been reaped.
    pub fn end(&mut self, cpu_time: Nanos) -> Counters {
        let [instructions, cycles, branch_misses, cache_misses] = self.end_each(cpu_time);
        // No program ends without an instruction or a cycle: a counter that says so does not work.
        Counters {
            instructions: instructions.filter(|count| *count > 0),
            cycles: cycles.filter(|count| *count > 0),
            branch_misses,
            cache_misses,
        }
    }

    /// The same of a meter of other events than the usual: what each of them was counted to be, in their order.
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

    /// Plays readings: (count, enabled, running) each.
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

    /// What a run of 10 us of CPU time counts, by readings of the first counter before and after it.
    fn instructions(before: (u64, u64, u64), after: (u64, u64, u64)) -> Option<u64> {
        let mut meter = Meter::new(CounterScope::User, [recorded([before, after]), None, None, None]);
        meter.begin();
        meter.end(Nanos(10_000)).instructions
    }

    #[test]
    fn a_run_counts_the_difference_of_two_readings() {
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
        assert_eq!(run(), counted(None, None), "nothing is to be read any more");
    }

    #[test]
    fn counters_that_took_turns_are_scaled_by_their_share() {
        assert_eq!(instructions((100, 1_000, 500), (1_100, 11_000, 3_000)), Some(4_000));
        assert_eq!(instructions((0, 0, 0), (2, 10_000, 6_667)), Some(3), "rounded to the nearest");
        assert_eq!(instructions((0, 0, 0), (10, 10_000, 10_001)), Some(10), "clocks that disagree by a hair");
        assert_eq!(instructions((0, 0, 0), (u64::MAX, u64::MAX, 1)), None, "more than can be told");
    }

    #[test]
    fn what_never_ran_is_absent() {
        assert_eq!(instructions((5, 1_000, 1_000), (5, 11_000, 1_000)), None);
        assert_eq!(instructions((5, 1_000, 1_000), (5, 1_000, 1_000)), None, "no exec, no count");
        assert_eq!(instructions((5, 1_000, 1_000), (5, 11_000, 11_000)), None, "no run is without instructions");
    }

    #[test]
    fn a_counter_that_goes_backwards_tells_nothing() {
        assert_eq!(instructions((5_000, 1_000, 1_000), (100, 11_000, 11_000)), None);
        assert_eq!(instructions((5_000, 1_000, 1_000), (6_000, 900, 900)), None);
    }

    #[test]
    fn a_run_that_was_counted_in_part_is_absent() {
        assert_eq!(instructions((0, 0, 0), (900, 2_499, 2_499)), None);
        assert_eq!(instructions((0, 0, 0), (900, 2_500, 2_500)), Some(900));
    }

    #[test]
    fn two_kinds_of_cores_add_up() {
        let fast = RawCount { value: 600, enabled: 1_000, running: 300 };
        let slow = RawCount { value: 400, enabled: 1_000, running: 700 };
        assert_eq!(fast.beside(slow).scaled(), Some(1_000), "half here, half there: nothing to scale");
        let waited = RawCount { running: 200, ..slow };
        assert_eq!(fast.beside(waited).scaled(), Some(2_000));
    }
}
