//! How many CPUs the processes had between them: what they used per second on the wall, all together.

use steady_model::{Absent, Reading};

use super::ScalingPoint;

/// How much of its CPU a process may lose to passers-by and still count as having it to itself.
const LOST: f64 = 0.1;
/// By how much a row may be off: its processes do not end at quite the same time, and the last have more CPUs than there
/// are for all.
const GRAIN: f64 = 0.05;

/// The numbers of logical CPUs that leave each process as much as it had.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Capacity {
    /// The fewest.
    pub(super) low: u32,
    /// The most; `None` where the processes were never more than the CPUs.
    pub(super) high: Option<u32>,
    /// How far that which the processes used, where there were more of them than CPUs, lies apart, relative to the most.
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
/// nobody else had the rest. What is known to be taken is added; by how much the rows differ even so, twice that may be
/// missing from all of them.
pub(super) fn capacity(points: &[ScalingPoint]) -> Capacity {
    let most = points.iter().map(used).fold(0.0, f64::max);
    let low = (most * (1.0 + GRAIN)).floor().min((most * (1.0 - GRAIN)).ceil());
    let (least_used, most_used) = ends(waiting(points).map(used));
    let (least, there) = ends(waiting(points).map(|point| used(point) + point.taken_cpus.unwrap_or(0.0)));
    let there = there.max(most);
    let unused = LOST.max(2.0 * (1.0 - least / there)).min(0.9);
    let high = (there * (1.0 - GRAIN)).ceil().max((there / (1.0 - unused)).floor());
    let (waited, whole) = (least.is_finite(), |cpus: f64| (cpus as u32).max(1));
    Capacity {
        low: whole(low),
        high: waited.then_some(whole(high)),
        variation: if waited { 1.0 - least_used / most_used } else { 0.0 },
    }
}

/// The least and the most; the wrong way round where there is nothing.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)))
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
        // One row beside a busy neighbour, who is seen.
        let mut row = points(&[(1, 1.0), (2, 1.96), (3, 2.07), (4, 1.99), (6, 1.15)]);
        row[4].taken_cpus = Some(0.87);
        assert_eq!((capacity(&row).low, capacity(&row).high), (2, Some(2)));
        row[4].taken_cpus = None;
        assert!(capacity(&row).high > Some(4), "who else is there is not known");
    }
}
