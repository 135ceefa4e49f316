//! What the machine did between two moments.

use steady_model::{Absent, Activity, Nanos, Reading};

use crate::cgroup::{self, Throttling};
use crate::procfs::{self, CpuTicks};
use crate::{Root, clock};

/// Kernel counters at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCounters {
    at: Nanos,
    ticks: Reading<CpuTicks>,
    steal: Reading<()>,
    pressure: Reading<Nanos>,
    throttling: Reading<Throttling>,
}

impl KernelCounters {
    /// Reads the counters, which takes tenths of a millisecond.
    pub fn read(root: &Root) -> KernelCounters {
        let at = clock::monotonic();
        let ticks = procfs::cpu_times(root).map(|times| times.total);
        KernelCounters {
            at,
            steal: ticks.as_ref().map_err(Clone::clone).and_then(|ticks| steal_is_reported(root, ticks)),
            ticks,
            pressure: procfs::cpu_pressure(root),
            throttling: cgroup::throttled(root),
        }
    }

    /// Returns what happened from this moment until a later one. A value is missing, with the reason, if a counter was
    /// not available at either end. The same applies if the time is too short: the kernel counts CPU time in hundredths
    /// of a second.
    pub fn until(&self, later: &KernelCounters) -> Activity {
        let wall = later.at - self.at;
        let ticks = both(&self.ticks, &later.ticks).map(|(before, after)| after.since(before));
        let of_cpus = |part: fn(&CpuTicks) -> u64| ticks.clone().and_then(|ticks| share(part(&ticks), ticks.total()));
        Activity {
            busy_ratio: of_cpus(CpuTicks::busy),
            // If the counter has moved by the later moment, the hypervisor reports stolen time.
            steal_ratio: later.steal.clone().and_then(|()| of_cpus(|ticks| ticks.steal)),
            pressure: both(&self.pressure, &later.pressure)
                .and_then(|(before, after)| share((*after - *before).0, wall.0)),
            throttled_ratio: both(&self.throttling, &later.throttling)
                .and_then(|(before, after)| share(throttled(before, after).0, wall.0)),
        }
    }
}

/// Stolen time, which the hypervisor gave to other guests, since a moment.
#[derive(Clone, Debug)]
pub struct StolenTime(Reading<u64>);

impl StolenTime {
    /// Starts to count now.
    pub fn begin(root: &Root) -> Self {
        StolenTime(steal(root))
    }

    /// Upper bound of the time stolen from all CPUs together. It is 0 if no time was ever stolen or the kernel does not
    /// report it. The kernel counts in ticks of its user-visible clock, and one tick may have started before.
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

/// Returns an error if the count of stolen ticks is not reliable. If a hypervisor has reported no stolen time since
/// boot, it most likely never reports it.
fn steal_is_reported(root: &Root, ticks: &CpuTicks) -> Reading<()> {
    match procfs::hypervisor(root) {
        Ok(Some(_)) if ticks.steal == 0 => {
            Err(Absent::because("the hypervisor has reported no stolen time since boot"))
        }
        _ => Ok(()),
    }
}

/// Wall time in which a quota can have throttled the group: the smaller of two upper bounds.
fn throttled(before: &Throttling, after: &Throttling) -> Nanos {
    (after.throttled_time - before.throttled_time).min(after.throttled_span - before.throttled_span)
}

fn both<'a, T>(one: &'a Reading<T>, two: &'a Reading<T>) -> Reading<(&'a T, &'a T)> {
    match (one, two) {
        (Ok(one), Ok(two)) => Ok((one, two)),
        (Err(absent), _) | (_, Err(absent)) => Err(absent.clone()),
    }
}

/// Returns a share from 0 to 1. The counters are not read at the same instant, so a part can be larger than the whole.
fn share(part: u64, whole: u64) -> Reading<f64> {
    if whole == 0 {
        return Err(Absent::because("the time is too short for the kernel's counters"));
    }
    Ok((part as f64 / whole as f64).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::{UNSOUND, tree};

    const SECOND: u64 = 1_000_000_000;

    fn later(earlier: &KernelCounters, change: impl FnOnce(&mut KernelCounters)) -> KernelCounters {
        let mut later = KernelCounters { at: earlier.at + Nanos(10 * SECOND), ..earlier.clone() };
        change(&mut later);
        later
    }

    #[test]
    fn shares_are_of_the_differences() {
        let before = KernelCounters::read(&tree("vm"));
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
    fn throttling_is_at_most_its_periods() {
        let before = KernelCounters::read(&tree("container-v2"));
        let after = later(&before, |after| {
            let throttling = after.throttling.as_mut().unwrap();
            throttling.throttled_time.0 += 62 * SECOND;
            throttling.throttled_span.0 += SECOND;
        });
        assert_eq!(before.until(&after).throttled_ratio, Ok(0.1));
    }

    #[test]
    fn missing_counters_have_a_reason() {
        let no_psi = KernelCounters::read(&tree("no-psi"));
        let activity = no_psi.until(&later(&no_psi, |_| ()));
        assert!(activity.pressure.unwrap_err().0.contains("CONFIG_PSI"));
        assert!(activity.busy_ratio.unwrap_err().0.contains("too short"), "no tick has passed");
        for unsound in UNSOUND {
            let broken = KernelCounters::read(&tree(unsound));
            let activity = broken.until(&later(&broken, |_| ()));
            let readings = [activity.busy_ratio, activity.steal_ratio, activity.pressure, activity.throttled_ratio];
            assert!(readings.iter().all(Result::is_err), "{unsound}: {readings:?}");
        }
    }

    #[test]
    fn no_reported_steal_under_a_hypervisor_is_not_zero_steal() {
        let silent = KernelCounters::read(&tree("cgroup-v1"));
        let after = later(&silent, |after| after.ticks.as_mut().unwrap().idle += 100);
        let activity = silent.until(&after);
        assert_eq!(activity.busy_ratio, Ok(0.0));
        assert!(activity.steal_ratio.unwrap_err().0.contains("hypervisor"));
        let bare = KernelCounters::read(&tree("laptop-smt"));
        let after = later(&bare, |after| after.ticks.as_mut().unwrap().idle += 100);
        assert_eq!(bare.until(&after).steal_ratio, Ok(0.0));
    }

    #[test]
    fn stolen_time_is_rounded_up_if_any_was_ever_stolen() {
        let (stealing, bare) = (tree("vm"), tree("laptop-smt"));
        assert_eq!(StolenTime::begin(&stealing).at_most(&stealing), Nanos(SECOND / 100));
        assert_eq!(StolenTime(Ok(0)).at_most(&bare), Nanos::ZERO);
        let before = procfs::cpu_times(&stealing).unwrap().total.steal - 7;
        assert_eq!(StolenTime(Ok(before)).at_most(&stealing), Nanos(8 * SECOND / 100));
        assert_eq!(StolenTime::begin(&tree("missing")).at_most(&tree("missing")), Nanos::ZERO);
    }

    #[test]
    fn this_machine_is_busy_during_the_test() {
        let before = KernelCounters::read(&Root::default());
        let started = clock::monotonic();
        while clock::monotonic() - started < Nanos(SECOND / 20) {}
        let activity = before.until(&KernelCounters::read(&Root::default()));
        assert!(activity.busy_ratio.unwrap() > 0.0);
    }
}
