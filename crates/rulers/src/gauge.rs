//! Reads one ruler: warms its working set, then times a few repetitions, within a limit on the CPU time of the reading.

use steady_model::{Absent, Bytes, Nanos, Reading, Resource};
use steady_stats::descriptive::quantile;
use steady_workloads::rulers::Kernel;

/// Repetitions of a reading.
const REPETITIONS: usize = 9;
/// With fewer repetitions the reading is absent, because their spread is not known.
const FEWEST: usize = 3;
/// On an undisturbed machine, a repetition takes the limit divided by this. All nine then take a quarter of the limit.
const SHARE_OF_LIMIT: u64 = 36;
/// Warming takes at most two fifths of the limit.
const WARMING_PART: (u64, u64) = (2, 5);

/// Limit on the CPU time of a reading: 5 ms for the shared cache level, whose working set is large, and 1 ms for all
/// others.
pub fn limit(resource: Resource) -> Nanos {
    match resource {
        Resource::Shared => Nanos(5_000_000),
        _ => Nanos(1_000_000),
    }
}

/// Reads the thread's CPU-time clock.
pub(crate) type Clock<'a> = &'a mut dyn FnMut() -> Nanos;

/// A kernel with the amount of work that suits this machine.
pub(crate) struct Gauge {
    pub(crate) resource: Resource,
    kernel: Box<dyn Kernel>,
    /// Units of one repetition.
    units: u64,
    /// Cost of a reading of the clock.
    clock_cost: Nanos,
    /// CPU time of the last reading.
    pub(crate) cost: Nanos,
}

/// A reading before the comparison with the best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    pub(crate) seconds_per_unit: f64,
    pub(crate) spread_ratio: f64,
    pub(crate) cost: Nanos,
}

impl Gauge {
    /// Creates a gauge and finds the amount of work for a repetition.
    pub(crate) fn new(resource: Resource, kernel: Box<dyn Kernel>, clock_cost: Nanos, clock: Clock<'_>) -> Self {
        let mut gauge = Gauge { resource, kernel, units: 1, clock_cost, cost: limit(resource) };
        let aim = gauge.aim();
        gauge.kernel.warm(&mut || true);
        while gauge.units < gauge.kernel.most() {
            let took = gauge.repeat(clock).0.max(1);
            if 2 * took > aim {
                // This time is long enough to compute the amount of work in proportion.
                gauge.units = (gauge.units * aim / took).clamp(1, gauge.kernel.most());
                break;
            }
            gauge.units = (2 * gauge.units).min(gauge.kernel.most());
        }
        gauge
    }

    pub(crate) fn working_set(&self) -> Option<Bytes> {
        self.kernel.working_set().map(|bytes| Bytes(bytes as u64))
    }

    /// Reads the ruler. The reading is absent if the machine is so slow that too few repetitions fit into the limit;
    /// the next reading then uses less work.
    pub(crate) fn read(&mut self, clock: Clock<'_>) -> Reading<Measured> {
        let limit = limit(self.resource);
        let begun = clock();
        let (part, whole) = WARMING_PART;
        self.kernel.warm(&mut || clock() - begun < Nanos(limit.0 * part / whole));
        let mut times = Vec::with_capacity(REPETITIONS);
        let (mut now, mut longest) = (clock(), Nanos::ZERO);
        // Another repetition must fit even if it takes 1.5 times the longest one so far.
        while times.len() < REPETITIONS && now - begun + Nanos(longest.0 * 3 / 2) <= limit {
            times.push(self.repeat(clock).0 as f64);
            let ended = clock();
            longest = longest.max(ended - now);
            now = ended;
        }
        self.cost = now - begun;
        let nanos = self.units as f64 * 1e9;
        let [low, middle, high] = [0.25, 0.5, 0.75].map(|q| quantile(&times, q).unwrap_or(f64::NAN) / nanos);
        self.adapt(times.len(), longest);
        if times.len() < FEWEST {
            return Err(Absent::because(
                "the machine is at present too slow for a reading within the limit on its CPU time",
            ));
        }
        if middle <= 0.0 {
            return Err(Absent::because("the CPU-time clock is too coarse for this ruler"));
        }
        Ok(Measured { seconds_per_unit: middle, spread_ratio: (high - low) / middle, cost: self.cost })
    }

    /// Target time of a repetition, in nanoseconds.
    fn aim(&self) -> u64 {
        limit(self.resource).0 / SHARE_OF_LIMIT
    }

    /// Reduces the work of the next reading if too few repetitions fit, and increases it again once the machine is
    /// faster.
    fn adapt(&mut self, repetitions: usize, longest: Nanos) {
        if repetitions < FEWEST {
            self.units = (self.units / 2).max(1);
        } else if repetitions == REPETITIONS && 2 * longest.0 < self.aim() {
            self.units = (2 * self.units).min(self.kernel.most());
        }
    }

    /// Times one repetition of the kernel.
    fn repeat(&mut self, clock: Clock<'_>) -> Nanos {
        self.kernel.ready();
        let begun = clock();
        self.kernel.run(self.units);
        (clock() - begun) - self.clock_cost
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;

    /// A kernel that advances a fake clock by `nanos_per_unit` per unit, and by 1 ms in 100 steps to warm.
    struct Fake {
        now: Arc<AtomicU64>,
        nanos_per_unit: Arc<AtomicU64>,
        most: u64,
    }

    impl Kernel for Fake {
        fn working_set(&self) -> Option<usize> {
            Some(1 << 20)
        }

        fn warm(&mut self, more: &mut dyn FnMut() -> bool) {
            for _ in 0..100 {
                self.now.fetch_add(10_000, Relaxed);
                if !more() {
                    return;
                }
            }
        }

        fn most(&self) -> u64 {
            self.most
        }

        fn run(&mut self, units: u64) -> u64 {
            self.now.fetch_add(units * self.nanos_per_unit.load(Relaxed), Relaxed);
            0
        }
    }

    /// A gauge with a fake kernel, the time of its unit, and its clock, which costs 100 ns per reading.
    fn fake(resource: Resource, nanos_per_unit: u64, most: u64) -> (Gauge, Arc<AtomicU64>, impl FnMut() -> Nanos) {
        let (now, per_unit) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(nanos_per_unit)));
        let kernel = Fake { now: Arc::clone(&now), nanos_per_unit: Arc::clone(&per_unit), most };
        let mut clock = move || Nanos(now.fetch_add(100, Relaxed) + 100);
        let gauge = Gauge::new(resource, Box::new(kernel), Nanos(100), &mut clock);
        (gauge, per_unit, clock)
    }

    #[test]
    fn a_reading_is_the_time_per_unit() {
        let (mut gauge, _, mut clock) = fake(Resource::L2, 7, u64::MAX);
        let read = gauge.read(&mut clock).unwrap();
        assert!((read.seconds_per_unit - 7e-9).abs() < 1e-15, "{read:?}");
        assert_eq!(read.spread_ratio, 0.0);
        assert!(read.cost > Nanos(550_000) && read.cost <= limit(Resource::L2), "warming counts too: {read:?}");
    }

    #[test]
    fn the_cost_stays_within_the_limit_however_slow_it_gets() {
        for resource in [Resource::Shared, Resource::Memory] {
            let (mut gauge, per_unit, mut clock) = fake(resource, 5, u64::MAX);
            for slower in [5, 20, 100, 1_000, 10_000] {
                per_unit.store(slower, Relaxed);
                let last = (0..30).map(|_| gauge.read(&mut clock)).last().unwrap();
                // Readings may exceed the limit until the amount of work has been reduced.
                assert!(gauge.cost <= limit(resource), "{slower} ns: {:?}", gauge.cost);
                assert!((last.unwrap().seconds_per_unit * 1e9 - slower as f64).abs() < 1e-6 * slower as f64);
            }
        }
    }

    #[test]
    fn the_work_stays_within_the_kernels_maximum() {
        let (mut gauge, _, mut clock) = fake(Resource::Memory, 100, 32);
        assert_eq!(gauge.units, 32);
        assert!(gauge.read(&mut clock).is_ok());
    }

    #[test]
    fn a_clock_that_stands_still_is_too_coarse() {
        let now = Rc::new(Cell::new(0));
        let kernel = Fake { now: Arc::default(), nanos_per_unit: Arc::default(), most: 1 << 10 };
        let still = Rc::clone(&now);
        let mut clock = move || Nanos(still.get());
        let mut gauge = Gauge::new(Resource::Alu, Box::new(kernel), Nanos::ZERO, &mut clock);
        assert!(gauge.read(&mut clock).unwrap_err().0.contains("coarse"));
    }
}
