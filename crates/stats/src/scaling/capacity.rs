//! How many CPUs the processes had between them: what they used per second on the wall, all together.

use steady_model::{Absent, Reading};

use super::ScalingPoint;

/// How much of its CPU a process may lose to passers-by and still count as having it to itself.
const LOST: f64 = 0.1;
/// By how much the clocks of a row may be off: ends of processes that are not quite one.
const GRAIN: f64 = 0.02;

/// The numbers of logical CPUs that leave each process as much as it had.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Capacity {
    /// The fewest.
    pub(super) low: u32,
    /// The most; `None` where the processes were never more than the CPUs.
    pub(super) high: Option<u32>,
    /// How far the capacities of the rows with more processes than CPUs lie apart, relative to the most.
    pub(super) variation: f64,
}

/// What one row's processes used together, in CPUs.
pub(super) fn used(point: &ScalingPoint) -> f64 {
    f64::from(point.procs) * share(point)
}

/// How much of a CPU each had.
fn share(point: &ScalingPoint) -> f64 {
    point.work_per_wall_second / point.work_per_cpu_second
}

/// What the points, ascending, leave of the number of logical CPUs.
///
/// What was used was there. What was not used is bounded only where processes had to wait, and there only as far as
/// nobody else had the rest: by what is known to be taken, or, as the published tables do not tell that, by twice what
/// the rows differ by.
pub(super) fn capacity(points: &[ScalingPoint]) -> Capacity {
    let most = points.iter().map(used).fold(0.0, f64::max);
    let least = waiting(points).map(used).fold(f64::INFINITY, f64::min);
    let taken = waiting(points).map(|point| used(point) + point.taken_cpus.unwrap_or(0.0)).fold(0.0, f64::max);
    let waited = least.is_finite();
    let variation = if waited { (1.0 - least / most).max(0.0) } else { 0.0 };
    let unused = LOST.max(2.0 * variation).min(0.9);
    let about = ((most * (1.0 + GRAIN)).floor(), (most * (1.0 - GRAIN)).ceil());
    let high = about.1.max((most / (1.0 - unused)).floor()).max((taken * (1.0 + GRAIN)).floor());
    let whole = |cpus: f64| (cpus as u32).max(1);
    Capacity { low: whole(about.0.min(about.1)), high: waited.then_some(whole(high)), variation }
}

/// The points with more processes than CPUs: their processes waited, and not because of passers-by, for more processes did
/// not get more done.
fn waiting(points: &[ScalingPoint]) -> impl Iterator<Item = &ScalingPoint> {
    let full = |point: &ScalingPoint| {
        points.iter().filter(|other| other.procs > point.procs).all(|other| used(other) < 1.25 * used(point))
    };
    points.iter().filter(move |point| share(point) < 1.0 - LOST && full(point))
}

impl Capacity {
    /// Whether so many logical CPUs agree with it.
    pub(super) fn allows(&self, cpus: u32) -> bool {
        self.low <= cpus && self.high.is_none_or(|high| cpus <= high)
    }

    /// The most, or why it cannot be told.
    pub(super) fn known_high(&self) -> Reading<u32> {
        let more = "no number of processes was more than the CPUs could serve at once: larger ones would tell";
        self.high.ok_or_else(|| Absent::because(more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points at which the processes used so many CPUs together.
    fn points(used: &[(u32, f64)]) -> Vec<ScalingPoint> {
        used.iter().map(|&(procs, used)| ScalingPoint::new(procs, 1.0, used / f64::from(procs))).collect()
    }

    fn range(used: &[(u32, f64)]) -> (u32, Option<u32>) {
        let capacity = capacity(&points(used));
        (capacity.low, capacity.high)
    }

    #[test]
    fn what_was_used_was_there() {
        assert_eq!(range(&[(1, 1.0), (2, 2.0), (4, 2.0), (8, 2.0)]), (2, Some(2)));
        assert_eq!(range(&[(1, 1.0), (4, 3.97), (8, 3.98), (16, 3.81)]), (4, Some(4)));
        assert_eq!(range(&[(1, 1.0), (2, 1.99), (4, 3.95)]), (4, None), "none had to wait");
        assert_eq!(range(&[(1, 0.99), (2, 1.49), (4, 1.5)]), (1, Some(2)), "a quota of 1.5 CPUs");
    }

    #[test]
    fn many_cpus_are_not_made_more_by_rounding() {
        let (low, high) = range(&[(1, 1.0), (64, 64.0), (128, 64.0)]);
        assert!(low <= 64 && high >= Some(64), "{low} {high:?}");
        assert_eq!(range(&[(1, 1.0), (128, 128.0)]).1, None);
        assert!(range(&[(1, 1.0), (128, 128.0)]).0 <= 128);
    }

    #[test]
    fn what_others_took_widens_the_range() {
        let (low, high) = range(&[(4, 3.9), (8, 4.8), (16, 5.7)]);
        assert!(low <= 5 && high >= Some(8), "{low} {high:?}");
        let mut known = points(&[(1, 1.0), (4, 4.0), (8, 5.0), (16, 5.0)]);
        known.iter_mut().for_each(|point| point.taken_cpus = Some(2.9));
        let known = capacity(&known);
        assert!(known.allows(8) && !known.allows(9) && !known.allows(4));
    }
}
