//! Which benchmarks share the processes of a pair: starting a process may take longer than the runs in it.

use steady_model::{Nanos, Run};

use super::{Measuring, NoRuns};

/// The time of a pair of processes that several benchmarks share, in seconds. It is short, because both runs of a
/// benchmark should meet the same load. Processes that need most of it to start may take twice as long as their start.
const SHARED_TIME: f64 = 4.0;
/// The most time that a benchmark may have had, relative to another one, if both share processes. Equal times would
/// need smaller groups, and more processes to start.
const SHARED_RATIO: f64 = 4.0;

/// With how many others a benchmark can share a process. If several have no results, one of them may be the reason, so
/// they are divided until it runs alone. If a single one has none, it runs alone at once, which shows why.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sharing {
    /// The most benchmarks in its processes.
    most: usize,
    /// The number of shared processes without a result of it.
    misses: u32,
}

impl Default for Sharing {
    fn default() -> Self {
        Sharing { most: usize::MAX, misses: 0 }
    }
}

impl Sharing {
    /// One that often has no result is not shared with more benchmarks again.
    const MISSES: u32 = 5;

    /// Notes that a process with so many benchmarks had no results of this one, and of `missing` in total.
    pub(super) fn miss(&mut self, benchmarks: usize, missing: usize) {
        self.misses += 1;
        self.most = if missing == 1 { 1 } else { self.most.min(benchmarks / 2) };
    }

    /// Notes that a process with so many benchmarks had results of all of them.
    pub(super) fn succeed(&mut self, benchmarks: usize) {
        if benchmarks > 1 && self.misses < Self::MISSES {
            self.most = usize::MAX;
        }
    }

    pub(super) fn is_alone(self) -> bool {
        self.most <= 1
    }
}

/// The time that processes take beyond the runs of their benchmarks, mostly to start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Starts {
    processes: u32,
    seconds: f64,
}

impl Starts {
    /// Adds processes that took so many seconds, and the runs in them.
    pub(super) fn add(&mut self, processes: u32, took: f64, runs: f64) {
        self.processes += processes;
        self.seconds += (took - runs).max(0.0);
    }

    /// The mean time for a pair of processes, in seconds.
    pub(super) fn of_pair(&self) -> f64 {
        2.0 * self.seconds / f64::from(self.processes.max(1))
    }

    /// The time that the runs of several benchmarks may take in a pair of processes, in seconds.
    pub(super) fn most_runs(&self) -> f64 {
        (SHARED_TIME - self.of_pair()).max(self.of_pair())
    }
}

/// The number of benchmarks without results.
pub(super) fn missing(results: &[Result<Vec<Run>, NoRuns>]) -> usize {
    results.iter().filter(|result| matches!(result, Err(NoRuns::Unknown))).count()
}

impl Measuring<'_> {
    /// The first benchmark of `order`, and others that can share its processes: those that did not have much more time,
    /// as far as they fit into this time. Benchmarks that have not run yet take as long as the others.
    pub(super) fn group(&self, order: &[usize], left: Nanos) -> Vec<usize> {
        let Some(&first) = order.first() else { return vec![] };
        let Some(mean) = self.mean_pair() else { return vec![first] };
        let takes = |one: usize| match self.courses[one].per_pair.seconds() {
            0.0 => mean,
            seconds => seconds,
        };
        let spent = |one: usize| self.courses[one].spent.seconds();
        let start = self.starts.of_pair();
        let fits = left.min(self.choices.timeout).seconds() - start;
        let mut rest = fits.min(self.starts.most_runs()) - takes(first);
        let mut group = vec![first];
        let mut most = self.courses[first].sharing.most;
        for &other in &order[1..] {
            let is_near = spent(other) <= SHARED_RATIO * spent(first) + takes(other) + start;
            let with = most.min(self.courses[other].sharing.most);
            if is_near && group.len() < with && takes(other) <= rest && self.machine.share_a_process(first, other) {
                rest -= takes(other);
                most = with;
                group.push(other);
            }
        }
        group
    }

    /// The mean time of the runs of a pair of those benchmarks of which it is known, in seconds.
    pub(super) fn mean_pair(&self) -> Option<f64> {
        let known = self.courses.iter().map(|one| one.per_pair.seconds()).filter(|&seconds| seconds > 0.0);
        let (sum, count) = known.fold((0.0, 0.0), |(sum, count), seconds| (sum + seconds, count + 1.0));
        (count > 0.0).then(|| sum / count)
    }
}
