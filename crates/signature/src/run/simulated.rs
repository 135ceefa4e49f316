//! A machine that makes no signatures: known costs, so that the experiment and its report can be held to them.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use steady_model::{Absent, Nanos, SignatureAllocator, SignatureCondition, SignatureLock, SignatureRun};

use super::runner::{BenchError, SignatureRunner};

/// What signatures cost.
#[derive(Clone, Debug)]
pub struct SimulatedCrew {
    /// How many CPUs there are.
    pub cpus: u32,
    /// Nanoseconds a byte, with a pool and a single worker.
    pub pool: f64,
    /// How many times that a free list takes.
    pub list: f64,
    /// How many times that a free list behind a lock takes as soon as several workers want it: it lets one work at a time.
    pub lock: f64,
    /// How many times a pool's time one takes whose nodes lie far apart, or that is larger than a cache.
    pub far: f64,
    /// The size of that cache.
    pub cache: u64,
    /// What a worker's start takes, in nanoseconds.
    pub start: f64,
    /// How much a run is dearer or cheaper than others, as a share.
    pub noise: f64,
    /// After how many runs the user asks to stop.
    pub interrupted_after: Option<u64>,
    coins: ChaCha12Rng,
    now: f64,
    runs: u64,
}

impl SimulatedCrew {
    /// One with costs as they are usual.
    #[must_use]
    pub fn new(seed: u64) -> Self {
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

    /// CPU time of a signature, and how much of it can be had at once.
    fn work(&self, condition: &SignatureCondition) -> (f64, f64) {
        let far = condition.pool.is_some_and(|pool| pool.0 > self.cache);
        let factor = match condition.allocator {
            SignatureAllocator::None => 0.15,
            SignatureAllocator::Pool => 1.0,
            SignatureAllocator::System => 1.3,
            SignatureAllocator::OwnList => self.list,
            SignatureAllocator::Global if condition.workers > 1 => self.list * self.lock,
            SignatureAllocator::Global => self.list * 1.1,
            SignatureAllocator::Scattered => self.far,
            SignatureAllocator::WalkedPool => {
                if far {
                    self.far
                } else {
                    1.0
                }
            }
        };
        let parallel = match condition.allocator {
            SignatureAllocator::Global => 1.0,
            _ => f64::from(condition.workers.min(self.cpus)),
        };
        (self.pool * factor * condition.bytes as f64, parallel)
    }
}

impl SignatureRunner for SimulatedCrew {
    fn run(&mut self, at: usize, condition: &SignatureCondition, times: u32) -> Result<SignatureRun, BenchError> {
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
        // Of a lock that works waited for, what the kernel does about it is system time.
        let system =
            if condition.allocator == SignatureAllocator::Global && condition.workers > 1 { 0.4 } else { 0.01 };
        let waiting = f64::from(condition.workers.saturating_sub(1)) * wall * 0.8;
        let acquisitions = condition.bytes.div_ceil(1_024) * 1_004 * u64::from(times);
        let lock = match condition.allocator {
            SignatureAllocator::System => Err(Absent::because("the C library does not tell of its locks")),
            SignatureAllocator::Global => Ok(SignatureLock {
                acquisitions,
                contended: if condition.workers > 1 { acquisitions / 10 } else { 0 },
                waited: Nanos(waiting as u64),
            }),
            _ => Ok(SignatureLock::default()),
        };
        Ok(SignatureRun {
            condition: at,
            times,
            wall: Nanos(wall as u64),
            user: Nanos((cpu * (1.0 - system)) as u64),
            system: Nanos((cpu * system) as u64),
            lock,
        })
    }

    fn now(&self) -> Nanos {
        Nanos(self.now as u64)
    }
}
