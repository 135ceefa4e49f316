//! Two ways in which the speed of processes may fall with their number, and how well each describes the points.
//!
//! **Threads**: C cores of two threads. Up to C processes each has a core, and their speed may fall a little and evenly (the
//! clock, shared caches). From C to 2C, N - C cores are shared, so that of N processes 2C - N run alone and the others at
//! the speed of a thread. From 2C on all run at that speed. Here and there a scheduler puts two on one core though others
//! are idle: a point may be lower than that, down to half of those that should run alone, at a price.
//!
//! **Cores**: L cores of one thread. The speed falls smoothly, as contention and coherency have it (the law's own shape),
//! and not at all beyond L.

mod threads;

use super::ScalingPoint;
use super::least::{solve_nonnegative, sum_at};

/// A machine that the points may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// How many cores.
    pub(super) cores: u32,
    /// Whether each has two threads.
    pub(super) threads: bool,
}

/// How well a shape describes the points.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fit {
    /// The shape.
    pub(super) shape: Shape,
    /// What it leaves: squares of standard errors, and the price of misplaced points.
    pub(super) loss: f64,
    /// The same in squares of relative errors, without that price.
    pub(super) squares: f64,
}

impl Shape {
    /// How many logical CPUs it has.
    pub(super) fn logical(self) -> u32 {
        if self.threads { self.cores.saturating_mul(2) } else { self.cores }
    }

    /// The best fit to the points, whose relative standard error is `sigma`; `None` where there is none at all.
    pub(super) fn fit(self, points: &[ScalingPoint], sigma: f64) -> Option<Fit> {
        let squares = if self.threads { return threads::fit(self, points, sigma) } else { self.fit_cores(points)? };
        Some(Fit { shape: self, loss: squares / (sigma * sigma), squares })
    }

    /// The time per unit of work is linear in its three figures.
    fn fit_cores(self, points: &[ScalingPoint]) -> Option<f64> {
        let time = |point: &ScalingPoint| point.work_per_cpu_second.recip();
        let column = |term: fn(f64) -> f64| {
            points.iter().map(|point| term(f64::from(point.procs.min(self.cores))) / time(point)).collect::<Vec<f64>>()
        };
        let columns = [column(|_| 1.0), column(|n| n - 1.0), column(|n| n * (n - 1.0))];
        let found = solve_nonnegative(&columns, &vec![1.0; points.len()])?;
        Some((0..points.len()).map(|row| (sum_at(&columns, &found, row) - 1.0).powi(2)).sum())
    }
}

/// What the points are off, in squares of relative errors, if something that the processes share (the memory's bandwidth, say)
/// is full from some number of processes on and then divided among them, on so many cores of one thread; and that
/// number.
pub(super) fn full(points: &[ScalingPoint], cores: u32) -> (f64, f64) {
    const STEPS: i32 = 100;
    let from = |step: i32| f64::from(cores).powf(f64::from(step) / f64::from(STEPS));
    let squares = |from: f64| {
        let share =
            |point: &ScalingPoint| (from / f64::from(point.procs.min(cores))).min(1.0) / point.work_per_cpu_second;
        let shares: Vec<f64> = points.iter().map(share).collect();
        let speed = shares.iter().sum::<f64>() / shares.iter().map(|share| share * share).sum::<f64>();
        shares.iter().map(|share| (speed * share - 1.0).powi(2)).sum::<f64>()
    };
    let all = (0..STEPS).map(|step| (squares(from(step)), from(step)));
    all.min_by(|(one, _), (two, _)| one.total_cmp(two)).unwrap_or((f64::INFINITY, 1.0))
}
