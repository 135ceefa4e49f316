//! Two models of how the speed of processes falls with their number, and how well each describes the points.
//!
//! **Threads**: C cores with two threads each. Up to C processes, each has a core, and their speed may fall slightly
//! and linearly (because of clock rate and shared caches). From C to 2C processes, N - C cores are shared: of N
//! processes, 2C - N run alone and the others at the speed of a thread. From 2C on, all run at the speed of a thread.
//! Occasionally a scheduler puts two processes on one core while others are idle. A point may therefore be lower, down
//! to half of the processes that should run alone, for a penalty.
//!
//! **Cores**: L cores with one thread each. The speed falls smoothly by contention and coherency, like the Universal
//! Scalability Law, and is constant beyond L.

use super::ScalingPoint;
use super::least::{solve, solve_nonnegative, sum_at};

/// A hypothetical machine with equal cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// The number of cores.
    pub(super) cores: u32,
    /// Whether each core has two threads.
    pub(super) threads: bool,
}

/// How well a shape describes the points.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fit {
    /// The shape that was fitted.
    pub(super) shape: Shape,
    /// The sum of squared residuals in standard errors, plus the penalty for misplaced points.
    pub(super) loss: f64,
    /// The sum of squared relative residuals, without the penalty.
    pub(super) squares: f64,
}

impl Shape {
    /// Returns the number of logical CPUs.
    pub(super) fn logical(self) -> u32 {
        if self.threads { self.cores.saturating_mul(2) } else { self.cores }
    }

    /// Returns the best fit to points with the relative standard error `sigma`; `None` if no fit is within the bounds.
    pub(super) fn fit(self, points: &[ScalingPoint], sigma: f64) -> Option<Fit> {
        let squares = if self.threads { return fit(self, points, sigma) } else { self.fit_cores(points)? };
        Some(Fit { shape: self, loss: squares / (sigma * sigma), squares })
    }

    /// Fits cores without threads. The time per unit of work is linear in the three parameters.
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

/// Fits a shared resource, such as memory bandwidth, that is saturated from some number of processes on and then
/// divided among them. The machine has this number of cores with one thread each. Returns the sum of squared relative
/// residuals and the number of processes.
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

/// The maximum relative fall of speed while each process has a core.
const DECLINE: f64 = 0.3;
/// The speed of a thread whose core is shared, relative to a thread that is alone. A faster thread is indistinguishable
/// from a core.
const THREAD: [f64; 2] = [0.4, 0.9];
/// The share of the processes that could run alone and that a scheduler may put on shared cores.
const TOGETHER: f64 = 0.5;
/// The penalty of a misplaced point, equal to a residual of two standard errors.
const MISPLACED: f64 = 4.0;

/// Returns the best fit. It starts with all points placed correctly. Then it repeatedly marks the point as misplaced
/// that reduces the loss most, as long as the loss falls. The number of misplaced points is limited.
fn fit(shape: Shape, points: &[ScalingPoint], sigma: f64) -> Option<Fit> {
    let mut misplaced = vec![false; points.len()];
    let mut best = shape.fit_placed(points, &misplaced, sigma)?;
    for _ in 0..1 + points.len() / 8 {
        let tried = shape.suspects(points, &misplaced, &best).into_iter().filter_map(|at| {
            let mut more = misplaced.clone();
            more[at] = true;
            Some((at, shape.fit_placed(points, &more, sigma)?))
        });
        match tried.min_by(|(_, one), (_, two)| one.fit.loss.total_cmp(&two.fit.loss)) {
            Some((at, found)) if found.fit.loss < best.fit.loss => {
                misplaced[at] = true;
                best = found;
            }
            _ => break,
        }
    }
    Some(best.fit)
}

impl Shape {
    /// Returns the points that may be misplaced: those with the largest residuals below the fit, if two of their
    /// processes can share a core. With few points, more candidates are tried, because a low point influences the fit.
    fn suspects(self, points: &[ScalingPoint], misplaced: &[bool], fit: &Placed) -> Vec<usize> {
        let most = if points.len() > 8 { 2 } else { 6 };
        let can_share = |at: &usize| (2..self.logical()).contains(&points[*at].procs);
        let mut suspects: Vec<usize> = (0..points.len()).filter(|at| !misplaced[*at] && can_share(at)).collect();
        suspects.sort_by(|one, two| fit.errors[*two].total_cmp(&fit.errors[*one]));
        suspects.truncate(most);
        suspects
    }

    /// Returns the share of processes that have a core alone.
    fn alone(self, procs: u32) -> f64 {
        let (procs, logical) = (f64::from(procs), f64::from(self.logical()));
        ((logical - procs) / procs).clamp(0.0, 1.0)
    }

    /// Fits with some points misplaced, each by the amount that brings it closest to the fit.
    fn fit_placed(self, points: &[ScalingPoint], misplaced: &[bool], sigma: f64) -> Option<Placed> {
        let most: Vec<f64> = points.iter().map(|point| self.alone(point.procs)).collect();
        let mut alone = most.clone();
        let mut level = self.level(points, &alone)?;
        if misplaced.contains(&true) {
            // The other points determine where a misplaced point should be; it is moved as close to that as its bounds
            // allow.
            let placed = (0..points.len()).filter(|&at| !misplaced[at]);
            let (others, their): (Vec<_>, Vec<_>) = placed.map(|at| (points[at], alone[at])).unzip();
            level = self.level(&others, &their)?;
            for at in (0..points.len()).filter(|&at| misplaced[at]) {
                let wanted = level.share_alone(&points[at], self.cores);
                alone[at] = wanted.clamp(most[at] * (1.0 - TOGETHER), most[at]);
            }
            level = self.level(points, &alone)?;
        }
        let errors = level.errors(points, self.cores, &alone);
        let squares = errors.iter().map(|error| error * error).sum::<f64>();
        let price = MISPLACED * misplaced.iter().filter(|one| **one).count() as f64;
        Some(Placed { fit: Fit { shape: self, loss: squares / (sigma * sigma) + price, squares }, errors })
    }

    /// Fits the speeds, given the share `alone` of each point's processes that run alone.
    ///
    /// The speed is linear in three parameters: the speed of one process, its slope up to C processes, and the speed of
    /// a thread. If the unbounded solution is outside the bounds, the solution is on one of the bounds.
    fn level(self, points: &[ScalingPoint], alone: &[f64]) -> Option<Level> {
        let last = f64::from(self.cores) - 1.0;
        let [slow, fast] = THREAD;
        let steepest = if last > 0.0 { -DECLINE / last } else { 0.0 };
        // Each way lists, for each free parameter, its contribution to (speed, slope, thread).
        let free = vec![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let flat = vec![[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        let steep = vec![[1.0, steepest, 0.0], [0.0, 0.0, 1.0]];
        let mut ways = vec![free, flat, steep];
        for thread in [slow, fast] {
            ways.push(vec![[1.0, 0.0, thread], [0.0, 1.0, thread * last]]);
            ways.push(vec![[1.0, 0.0, thread]]);
            ways.push(vec![[1.0, steepest, thread * (1.0 + steepest * last)]]);
        }
        let mut best: Option<(f64, Level)> = None;
        for way in &ways {
            let Some(level) = self.closest(points, alone, way).filter(|level| level.within_bounds(last)) else {
                continue;
            };
            let left: f64 = level.errors(points, self.cores, alone).iter().map(|error| error * error).sum();
            if best.as_ref().is_none_or(|(least, _)| left < *least) {
                best = Some((left, level));
            }
            // A solution on the bounds cannot be closer than the unbounded one, if that is within the bounds.
            if way.len() == 3 {
                break;
            }
        }
        best.map(|(_, level)| level)
    }

    fn closest(self, points: &[ScalingPoint], alone: &[f64], way: &[[f64; 3]]) -> Option<Level> {
        let column = |[speed, slope, thread]: &[f64; 3]| -> Vec<f64> {
            let value = |(point, alone): (&ScalingPoint, &f64)| {
                let steps = f64::from(point.procs.min(self.cores)) - 1.0;
                ((speed + slope * steps) * alone + thread * (1.0 - alone)) / point.work_per_cpu_second
            };
            points.iter().zip(alone).map(value).collect()
        };
        let found = solve(&way.iter().map(column).collect::<Vec<_>>(), &vec![1.0; points.len()])?;
        let figure = |at: usize| way.iter().zip(&found).map(|(adds, value)| adds[at] * value).sum::<f64>();
        Some(Level { speed: figure(0), slope: figure(1), thread: figure(2) })
    }
}

/// A fit with some points misplaced, and its distance above each point.
struct Placed {
    fit: Fit,
    errors: Vec<f64>,
}

/// The speeds of a machine whose cores have two threads each, in work per CPU second.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// The speed of one process alone.
    speed: f64,
    /// The change of that speed for each further process, up to one per core.
    slope: f64,
    /// The speed of a thread whose core is shared.
    thread: f64,
}

impl Level {
    /// Returns the mean speed of processes of which the share `alone` runs alone.
    fn speed(&self, procs: u32, cores: u32, alone: f64) -> f64 {
        self.alone(procs, cores) * alone + self.thread * (1.0 - alone)
    }

    /// Returns the distance of the fit above each point, relative to the point.
    fn errors(&self, points: &[ScalingPoint], cores: u32, alone: &[f64]) -> Vec<f64> {
        let error = |(point, alone): (&ScalingPoint, &f64)| {
            self.speed(point.procs, cores, *alone) / point.work_per_cpu_second - 1.0
        };
        points.iter().zip(alone).map(error).collect()
    }

    fn alone(&self, procs: u32, cores: u32) -> f64 {
        self.speed + self.slope * (f64::from(procs.min(cores)) - 1.0)
    }

    /// Returns the share of processes that would have to run alone for the speed of the point.
    fn share_alone(&self, point: &ScalingPoint, cores: u32) -> f64 {
        let both = self.alone(point.procs, cores) - self.thread;
        if both > 0.0 { (point.work_per_cpu_second - self.thread) / both } else { 1.0 }
    }

    /// Returns whether the speeds are within the bounds, with a tolerance for rounding.
    fn within_bounds(&self, last: f64) -> bool {
        const ROOM: f64 = 1e-9;
        let full = self.speed + self.slope * last;
        let thread = self.thread / full;
        self.speed > 0.0
            && self.slope <= ROOM * self.speed
            && full >= self.speed * (1.0 - DECLINE - ROOM)
            && (THREAD[0] - ROOM..=THREAD[1] + ROOM).contains(&thread)
    }
}
