//! Two ways in which the speed of processes may fall with their number, and how well each describes the points.
//!
//! **Threads**: C cores of two threads. Up to C processes each has a core, and their speed may fall a little and evenly (the
//! clock, shared caches). From C to 2C, N - C cores are shared, so that of N processes 2C - N run alone and the others at
//! the speed of a thread. From 2C on all run at that speed. Here and there a scheduler puts two on one core though others
//! are idle: a point may be lower than that, down to half of those that should run alone, at a price.
//!
//! **Cores**: L cores of one thread. The speed falls smoothly, as contention and coherency have it (the law's own shape),
//! and not at all beyond L.

use super::ScalingPoint;
use super::least::{solve, solve_nonnegative, sum_at};

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
        let squares = if self.threads { return fit(self, points, sigma) } else { self.fit_cores(points)? };
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

/// How much the speed may fall while each process has a core, of its most.
const DECLINE: f64 = 0.3;
/// The speed of a thread beside another, over that of one alone. Above, it is as good as a core of its own.
const THREAD: [f64; 2] = [0.4, 0.9];
/// How many of the processes that could run alone a scheduler may put together.
const TOGETHER: f64 = 0.5;
/// What it costs to take a point for a misplaced one: as much as being two standard errors off.
const MISPLACED: f64 = 4.0;

/// The best fit: first with every point where the scheduler should have put it, then with that one misplaced that helps
/// most, and so on while it helps. Misplaced are few.
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
    /// The points of which two processes can have been on one core though they need not: those that are lowest, held against
    /// the fit. Several, for among few points one that is low has drawn the fit to it.
    fn suspects(self, points: &[ScalingPoint], misplaced: &[bool], fit: &Placed) -> Vec<usize> {
        let most = if points.len() > 8 { 2 } else { 6 };
        let can_share = |at: &usize| (2..self.logical()).contains(&points[*at].procs);
        let mut suspects: Vec<usize> = (0..points.len()).filter(|at| !misplaced[*at] && can_share(at)).collect();
        suspects.sort_by(|one, two| fit.errors[*two].total_cmp(&fit.errors[*one]));
        suspects.truncate(most);
        suspects
    }

    /// Of so many processes the share that has a core alone.
    fn alone(self, procs: u32) -> f64 {
        let (procs, logical) = (f64::from(procs), f64::from(self.logical()));
        ((logical - procs) / procs).clamp(0.0, 1.0)
    }

    /// The fit with these points misplaced: as far as brings them closest.
    fn fit_placed(self, points: &[ScalingPoint], misplaced: &[bool], sigma: f64) -> Option<Placed> {
        let most: Vec<f64> = points.iter().map(|point| self.alone(point.procs)).collect();
        let mut alone = most.clone();
        let mut level = self.level(points, &alone)?;
        if misplaced.contains(&true) {
            // The others say what a misplaced point should be; where it cannot be that, it has its say at the nearest.
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

    /// The speeds that come closest, where the share `alone` of each point's processes runs alone.
    ///
    /// Three figures, linear in the speed: that of one process, its slope up to C, and a thread's. Where the closest are
    /// out of bounds, they lie on one of them.
    fn level(self, points: &[ScalingPoint], alone: &[f64]) -> Option<Level> {
        let last = f64::from(self.cores) - 1.0;
        let [slow, fast] = THREAD;
        let steepest = if last > 0.0 { -DECLINE / last } else { 0.0 };
        // Each way names, for each figure that is left free, what it adds to (speed, slope, thread).
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
            // Nothing on the bounds comes closer than what is free and within them.
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

/// A fit with some points misplaced, and by how much it is above each point.
struct Placed {
    fit: Fit,
    errors: Vec<f64>,
}

/// The speeds of a machine whose cores have two threads.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Of one process.
    speed: f64,
    /// What each further process takes from that, up to one per core.
    slope: f64,
    /// Of a thread beside another.
    thread: f64,
}

impl Level {
    /// The mean speed of so many processes, of which the share `alone` runs alone.
    fn speed(&self, procs: u32, cores: u32, alone: f64) -> f64 {
        self.alone(procs, cores) * alone + self.thread * (1.0 - alone)
    }

    /// By how much it is above each point, relative to that.
    fn errors(&self, points: &[ScalingPoint], cores: u32, alone: &[f64]) -> Vec<f64> {
        let error = |(point, alone): (&ScalingPoint, &f64)| {
            self.speed(point.procs, cores, *alone) / point.work_per_cpu_second - 1.0
        };
        points.iter().zip(alone).map(error).collect()
    }

    fn alone(&self, procs: u32, cores: u32) -> f64 {
        self.speed + self.slope * (f64::from(procs.min(cores)) - 1.0)
    }

    /// The share that would have to run alone for the point's speed.
    fn share_alone(&self, point: &ScalingPoint, cores: u32) -> f64 {
        let both = self.alone(point.procs, cores) - self.thread;
        if both > 0.0 { (point.work_per_cpu_second - self.thread) / both } else { 1.0 }
    }

    /// With a little room: bounds that bind are met but for rounding.
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
