//! What each request adds to the sums of its row.

use std::collections::HashMap;

use steady_model::RequestSums;

/// The first requests of a process do not count: they cost a fifth more than later ones.
pub const WARMING_REQUESTS: u64 = 150;

/// What one request tells the sums. The route, the version and the process are the caller's own small numbers for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Told {
    /// Its route.
    pub route: u32,
    /// Its version.
    pub version: u32,
    /// Its process.
    pub process: u64,
    /// Which request of its process it was, from 1 on.
    pub number: u64,
    /// Whether it failed.
    pub failed: bool,
    /// CPU time in nanoseconds; of 0, a nanosecond is taken.
    pub cpu: u64,
    /// Wall time in nanoseconds; as CPU time.
    pub wall: u64,
    /// How long it waited for a CPU, in nanoseconds, where that is known.
    pub delay: Option<u64>,
}

/// What must be remembered of the requests of one service to add the next one. It grows with routes, versions and processes;
/// who holds it bounds these.
#[derive(Debug, Default)]
pub struct Fold {
    /// What the last request of each process was beside what is usual.
    before: HashMap<u64, f64>,
}

impl Fold {
    /// Nothing was told yet.
    pub fn new() -> Fold {
        Fold::default()
    }

    /// Adds a request to the sums of its row. Requests have to come in the order in which their process answered them.
    pub fn add(&mut self, told: &Told, sums: &mut RequestSums) {
        if told.number <= WARMING_REQUESTS {
            sums.warming += 1;
            return;
        }
        let (cpu, wall) = (told.cpu.max(1) as f64, told.wall.max(1) as f64);
        let (log, wall_log) = (cpu.ln(), wall.ln());
        sums.requests += 1;
        sums.failed += u64::from(told.failed);
        sums.cpu += cpu;
        sums.cpu_squared += cpu * cpu;
        sums.log += log;
        sums.log_squared += log * log;
        sums.wall += wall;
        sums.wall_log += wall_log;
        sums.wall_log_squared += wall_log * wall_log;
        if let Some(delay) = told.delay {
            sums.watched += 1;
            sums.watched_cpu += cpu;
            sums.watched_wall += wall;
            sums.watched_delay += delay as f64;
        }
    }

    /// A process has ended, or is to be forgotten.
    pub fn forget(&mut self, process: u64) {
        self.before.remove(&process);
    }
}
