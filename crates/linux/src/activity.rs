//! What the machine was doing between two moments.

use steady_model::{Absent, Activity, Nanos, Reading};

use crate::cgroup::{self, Throttling};
use crate::procfs::{self, CpuTicks};
use crate::{Root, clock};

/// The kernel's counters at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    at: Nanos,
    ticks: Reading<CpuTicks>,
    steal: Reading<()>,
    pressure: Reading<Nanos>,
    throttling: Reading<Throttling>,
}

impl Snapshot {
    /// Reads the counters, which takes tenths of a millisecond.
    pub fn take(root: &Root) -> Snapshot {
        let at = clock::monotonic();
        let ticks = procfs::cpu_times(root).map(|times| times.total);
        Snapshot {
            at,
            steal: ticks.as_ref().map_err(Clone::clone).and_then(|ticks| steal_is_told(root, ticks)),
            ticks,
            pressure: procfs::cpu_pressure(root),
            throttling: cgroup::throttled(root),
        }
    }

    /// What happened from this moment until a later one. Absent, with the reason, is what a counter at either end
    /// does not tell, and all that the counters are too coarse for: CPU time is counted in hundredths of a second.
    pub fn until(&self, later: &Snapshot) -> Activity {
        let wall = later.at - self.at;
        let ticks = both(&self.ticks, &later.ticks).map(|(before, after)| after.since(before));
        let of_cpus = |part: fn(&CpuTicks) -> u64| ticks.clone().and_then(|ticks| share(part(&ticks), ticks.total()));
        Activity {
            busy_ratio: of_cpus(CpuTicks::busy),
            // A counter that has moved by the end was working.
            steal_ratio: later.steal.clone().and_then(|()| of_cpus(|ticks| ticks.steal)),
            pressure: both(&self.pressure, &later.pressure)
                .and_then(|(before, after)| share((*after - *before).0, wall.0)),
            throttled_ratio: both(&self.throttling, &later.throttling)
                .and_then(|(before, after)| share(held_back(before, after).0, wall.0)),
        }
    }
}

/// The time that the hypervisor gave to others since a moment.
#[derive(Clone, Debug)]
pub struct StolenTime(Reading<u64>);

impl StolenTime {
    /// From now on.
    pub fn begin(root: &Root) -> Self {
        StolenTime(steal(root))
    }

    /// No more than this was stolen from all CPUs together; nothing where no hypervisor ever stole. The kernel counts in
    /// ticks of its user-visible clock, of which one may have been begun.
    pub fn at_most(&self, root: &Root) -> Nanos {
        match (&self.0, steal(root)) {
            (Ok(_), Ok(0)) => Nanos::ZERO,
            (Ok(before), Ok(now)) => {
                let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
                Nanos(now.saturating_sub(*before).saturating_add(1).saturating_mul(tick))
            }
            _ => Nanos::ZERO,
        }
    }
}

fn steal(root: &Root) -> Reading<u64> {
    procfs::cpu_times(root).map(|times| times.total.steal)
}

/// Whether a count of zero means that nothing was stolen. A hypervisor that has not stolen anything since boot most
/// likely does not tell.
fn steal_is_told(root: &Root, ticks: &CpuTicks) -> Reading<()> {
    match procfs::hypervisor(root) {
        Ok(Some(_)) if ticks.steal == 0 => Err(Absent::because("the hypervisor has told of no stolen time since boot")),
        _ => Ok(()),
    }
}

/// How long a quota can have held the group back, on the clock: the tighter of two upper bounds.
fn held_back(before: &Throttling, after: &Throttling) -> Nanos {
    (after.throttled_time - before.throttled_time).min(after.throttled_span - before.throttled_span)
}

fn both<'a, T>(one: &'a Reading<T>, two: &'a Reading<T>) -> Reading<(&'a T, &'a T)> {
    match (one, two) {
        (Ok(one), Ok(two)) => Ok((one, two)),
        (Err(absent), _) | (_, Err(absent)) => Err(absent.clone()),
    }
}

/// A share of 0 to 1: counters are not read at one instant, so that a part may seem to be more than its whole.
fn share(part: u64, whole: u64) -> Reading<f64> {
    if whole == 0 {
        return Err(Absent::because("too short a time for the kernel's counters"));
    }
    Ok((part as f64 / whole as f64).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::{UNSOUND, tree};

    const SECOND: u64 = 1_000_000_000;

    fn later(earlier: &Snapshot, change: impl FnOnce(&mut Snapshot)) -> Snapshot {
        let mut later = Snapshot { at: earlier.at + Nanos(10 * SECOND), ..earlier.clone() };
        change(&mut later);
        later
    }

    #[test]
    fn shares_are_of_what_was_added() {
        let before = Snapshot::take(&tree("vm"));
        let after = later(&before, |after| {
            let ticks = after.ticks.as_mut().unwrap();
            ticks.user += 400;
            ticks.system += 100;
            ticks.idle += 1_300;
            ticks.steal += 200;
            after.pressure.as_mut().unwrap().0 += SECOND;
        });
        let activity = before.until(&after);
        assert_eq!((activity.busy_ratio, activity.steal_ratio), (Ok(0.25), Ok(0.1)));
        assert_eq!((activity.pressure, activity.throttled_ratio), (Ok(0.1), Ok(0.0)));
    }

    #[test]
    fn throttling_is_no_longer_than_its_periods() {
        let before = Snapshot::take(&tree("container-v2"));
        let after = later(&before, |after| {
            let throttling = after.throttling.as_mut().unwrap();
            throttling.throttled_time.0 += 62 * SECOND;
            throttling.throttled_span.0 += SECOND;
        });
        assert_eq!(before.until(&after).throttled_ratio, Ok(0.1));
    }

    #[test]
    fn what_is_not_counted_is_absent() {
        let no_psi = Snapshot::take(&tree("no-psi"));
        let activity = no_psi.until(&later(&no_psi, |_| ()));
        assert!(activity.pressure.unwrap_err().0.contains("CONFIG_PSI"));
        assert!(activity.busy_ratio.unwrap_err().0.contains("too short"), "no tick has passed");
        for unsound in UNSOUND {
            let broken = Snapshot::take(&tree(unsound));
            let activity = broken.until(&later(&broken, |_| ()));
            let readings = [activity.busy_ratio, activity.steal_ratio, activity.pressure, activity.throttled_ratio];
            assert!(readings.iter().all(Result::is_err), "{unsound}: {readings:?}");
        }
    }

    #[test]
    fn a_silent_hypervisor_does_not_tell_that_nothing_was_stolen() {
        let silent = Snapshot::take(&tree("cgroup-v1"));
        let after = later(&silent, |after| after.ticks.as_mut().unwrap().idle += 100);
        let activity = silent.until(&after);
        assert_eq!(activity.busy_ratio, Ok(0.0));
        assert!(activity.steal_ratio.unwrap_err().0.contains("hypervisor"));
        let bare = Snapshot::take(&tree("laptop-smt"));
        let after = later(&bare, |after| after.ticks.as_mut().unwrap().idle += 100);
        assert_eq!(bare.until(&after).steal_ratio, Ok(0.0));
    }

    #[test]
    fn stolen_time_is_rounded_up_where_any_was_ever_stolen() {
        let (thief, honest) = (tree("vm"), tree("laptop-smt"));
        assert_eq!(StolenTime::begin(&thief).at_most(&thief), Nanos(SECOND / 100));
        assert_eq!(StolenTime(Ok(0)).at_most(&honest), Nanos::ZERO);
        let before = procfs::cpu_times(&thief).unwrap().total.steal - 7;
        assert_eq!(StolenTime(Ok(before)).at_most(&thief), Nanos(8 * SECOND / 100));
        assert_eq!(StolenTime::begin(&tree("missing")).at_most(&tree("missing")), Nanos::ZERO);
    }

    #[test]
    fn this_machine_is_busy_with_this() {
        let before = Snapshot::take(&Root::default());
        let started = clock::monotonic();
        while clock::monotonic() - started < Nanos(SECOND / 20) {}
        let activity = before.until(&Snapshot::take(&Root::default()));
        assert!(activity.busy_ratio.unwrap() > 0.0);
    }
}
