//! The number of CPUs that the processes had together: their CPU time per second of wall time.

use steady_model::{Absent, Reading};

use super::ScalingPoint;

/// The share of its CPU that a process may lose to other programs and still count as having the CPU to itself.
const LOST: f64 = 0.1;
/// The relative error of a row. Its processes do not end at exactly the same time, and the last ones have more CPU time
/// than the others.
const GRAIN: f64 = 0.05;

/// The numbers of logical CPUs that are compatible with the CPU time of the processes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Capacity {
    /// The smallest possible number of CPUs.
    pub(super) low: u32,
    /// The largest possible number of CPUs; `None` if there were never more processes than CPUs.
    pub(super) high: Option<u32>,
    /// The spread of the CPU use of rows with more processes than CPUs, relative to the largest.
    pub(super) variation: f64,
}

/// Returns the CPU use of all processes of a row together, in CPUs.
pub(super) fn used(point: &ScalingPoint) -> f64 {
    f64::from(point.procs) * share(point)
}

/// Returns the CPU use of each process, in CPUs.
fn share(point: &ScalingPoint) -> f64 {
    point.work_per_wall_second / point.work_per_cpu_second
}

/// Returns the possible numbers of logical CPUs. The points are in ascending order.
///
/// CPUs that were used exist. An upper bound exists only if processes had to wait, and other programs may have used the
/// rest. Known use by others is added. Unknown use by others is assumed to be at most twice the spread of the rows.
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

/// Returns the minimum and the maximum; without values, infinity and minus infinity.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)))
}

/// Returns the points with more processes than CPUs. Their processes waited for each other and not for other programs,
/// because more processes did not use more CPU time.
fn waiting(points: &[ScalingPoint]) -> impl Iterator<Item = &ScalingPoint> {
    let full = |point: &ScalingPoint| {
        points.iter().filter(|other| other.procs > point.procs).all(|other| used(other) < 1.25 * used(point))
    };
    points.iter().filter(move |point| share(point) < 1.0 - LOST && full(point))
}

impl Capacity {
    /// Returns whether this number of logical CPUs is possible.
    pub(super) fn allows(&self, cpus: u32) -> bool {
        self.low <= cpus && self.high.is_none_or(|high| cpus <= high)
    }

    /// Returns the largest possible number, or the reason why it is not known.
    pub(super) fn known_high(&self) -> Reading<u32> {
        let reason = "there were never more processes than CPUs; try more processes";
        self.high.ok_or_else(|| Absent::because(reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns points at which the processes together used the given numbers of CPUs.
    fn points(used: &[(u32, f64)]) -> Vec<ScalingPoint> {
        used.iter().map(|&(procs, used)| ScalingPoint::new(procs, 1.0, used / f64::from(procs))).collect()
    }

    fn range(used: &[(u32, f64)]) -> (u32, Option<u32>) {
        let capacity = capacity(&points(used));
        (capacity.low, capacity.high)
    }

    #[test]
    fn the_range_includes_the_cpus_that_were_used() {
        assert_eq!(range(&[(1, 1.0), (2, 2.0), (4, 2.0), (8, 2.0)]), (2, Some(2)));
        assert_eq!(range(&[(1, 1.0), (4, 3.97), (8, 3.98), (16, 3.81)]), (4, Some(4)));
        assert_eq!(range(&[(1, 1.0), (2, 1.99), (4, 3.95)]), (4, None), "no process had to wait");
        assert_eq!(range(&[(1, 0.99), (2, 1.49), (4, 1.5)]), (1, Some(2)), "a quota of 1.5 CPUs");
    }

    #[test]
    fn rounding_does_not_exclude_the_number_of_many_cpus() {
        let (low, high) = range(&[(1, 1.0), (64, 64.0), (128, 64.0)]);
        assert!(low <= 64 && high >= Some(64), "{low} {high:?}");
        assert_eq!(range(&[(1, 1.0), (128, 128.0)]).1, None);
        assert!(range(&[(1, 1.0), (128, 128.0)]).0 <= 128);
    }

    #[test]
    fn use_by_other_programs_widens_the_range() {
        let (low, high) = range(&[(4, 3.9), (8, 4.8), (16, 5.7)]);
        assert!(low <= 5 && high >= Some(8), "{low} {high:?}");
        let mut known = points(&[(1, 1.0), (4, 4.0), (8, 5.0), (16, 5.0)]);
        known.iter_mut().for_each(|point| point.taken_cpus = Some(2.9));
        let known = capacity(&known);
        assert!(known.allows(8) && !known.allows(9) && !known.allows(4));
        // In one row, a busy neighbour runs whose CPU use is known.
        let mut row = points(&[(1, 1.0), (2, 1.96), (3, 2.07), (4, 1.99), (6, 1.15)]);
        row[4].taken_cpus = Some(0.87);
        assert_eq!((capacity(&row).low, capacity(&row).high), (2, Some(2)));
        row[4].taken_cpus = None;
        assert!(capacity(&row).high > Some(4), "the use by others is not known");
    }
}
