//! A simulated runner with known costs, for tests of the experiment and its report.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use steady_model::Nanos;
use steady_workloads::signature::{Allocator, Waits};

use super::runner::{BenchError, SignatureRunner};
use crate::record::{BenchCondition, BenchRun, Lock};

/// Runner with simulated costs and a simulated clock.
#[derive(Clone, Debug)]
pub(crate) struct SimulatedCrew {
    /// Number of CPUs.
    pub(crate) cpus: u32,
    /// Nanoseconds per byte with a pool and a single worker.
    pub(crate) pool: f64,
    /// Time of a free list divided by that of a pool.
    pub(crate) list: f64,
    /// Factor on the time of a free list behind a lock if there are several workers. Only one works at a time.
    pub(crate) lock: f64,
    /// Factor on the time of a pool whose nodes are far apart, or that is larger than a cache.
    pub(crate) far: f64,
    /// Size of that cache, in bytes.
    pub(crate) cache: u64,
    /// Time to start a worker, in nanoseconds.
    pub(crate) start: f64,
    /// Range of the random variation of a run's time, as a ratio.
    pub(crate) noise: f64,
    /// Number of runs after which the user interrupts.
    pub(crate) interrupted_after: Option<u64>,
    coins: ChaCha12Rng,
    now: f64,
    runs: u64,
}

impl SimulatedCrew {
    /// Creates a runner with typical costs.
    #[must_use]
    pub(crate) fn new(seed: u64) -> Self {
        SimulatedCrew {
            cpus: 2,
            pool: 12.0,
            list: 2.0,
            lock: 3.0,
            far: 1.25,
            cache: 1 << 20,
            start: 40_000.0,
            noise: 0.05,
            interrupted_after: None,
            coins: ChaCha12Rng::seed_from_u64(seed),
            now: 0.0,
            runs: 0,
        }
    }

    /// Returns the CPU time of a signature in nanoseconds, and the number of CPUs that it uses.
    fn work(&self, condition: &BenchCondition) -> (f64, f64) {
        let far = condition.pool_bytes.is_some_and(|pool| pool.0 > self.cache);
        let factor = match condition.allocator {
            Allocator::None => 0.15,
            Allocator::Pool | Allocator::PoolPerBlock => 1.0,
            Allocator::System => 1.3,
            Allocator::OwnList => self.list,
            Allocator::Global if condition.workers > 1 => self.list * self.lock,
            Allocator::Global => self.list * 1.1,
            Allocator::Scattered => self.far,
            Allocator::WalkedPool if far => self.far,
            Allocator::WalkedPool => 1.0,
        };
        let parallel = match condition.allocator {
            Allocator::Global => 1.0,
            _ => f64::from(condition.workers.min(self.cpus)),
        };
        (self.pool * factor * condition.bytes as f64, parallel)
    }
}

impl SignatureRunner for SimulatedCrew {
    fn run(&mut self, at: usize, condition: &BenchCondition, times: u32) -> Result<BenchRun, BenchError> {
        if self.interrupted_after.is_some_and(|after| self.runs >= after) {
            return Err(BenchError::Interrupted);
        }
        self.runs += 1;
        let (work, parallel) = self.work(condition);
        let starts = if condition.kept { 0.0 } else { self.start * f64::from(condition.workers) };
        let noise = 1.0 + self.noise * (self.coins.random::<f64>() - 0.5);
        let wall = (starts + work / parallel) * f64::from(times) * noise;
        self.now += wall;
        let cpu = (starts + work) * f64::from(times) * noise;
        // Waiting for a lock in the kernel is system time.
        let system = if condition.allocator == Allocator::Global && condition.workers > 1 { 0.4 } else { 0.01 };
        let waiting = f64::from(condition.workers.saturating_sub(1)) * wall * 0.8;
        let acquisitions = condition.bytes.div_ceil(1_024) * 1_004 * u64::from(times);
        let waits = match condition.allocator {
            Allocator::PoolPerBlock => {
                Waits { acquisitions: 2 * condition.bytes.div_ceil(1_024) * u64::from(times), ..Waits::default() }
            }
            Allocator::Global => Waits {
                acquisitions,
                contended: if condition.workers > 1 { acquisitions / 10 } else { 0 },
                waited: Nanos(waiting as u64),
            },
            _ => Waits::default(),
        };
        Ok(BenchRun {
            condition: at,
            times,
            wall_seconds: Nanos(wall as u64),
            user_seconds: Nanos((cpu * (1.0 - system)) as u64),
            system_seconds: Nanos((cpu * system) as u64),
            lock: Lock::of(condition.allocator, waits),
        })
    }

    fn now(&self) -> Nanos {
        Nanos(self.now as u64)
    }
}
