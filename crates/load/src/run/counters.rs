//! The kernel's counters at both ends of a row, and their differences.

use steady_linux::Root;
use steady_linux::activity::KernelCounters;
use steady_linux::procfs::{self, CpuTimes};
use steady_model::{Absent, Activity, Nanos, Reading};

/// Minimum length of a row for shares of time. The kernel counts CPU time in ticks of 10 ms, too coarse for shorter
/// rows.
const MIN_LENGTH: Nanos = Nanos(200_000_000);

/// The counters at one end of a row.
pub(super) struct Counters {
    activity: KernelCounters,
    times: Reading<CpuTimes>,
}

/// Differences of the counters over a row.
pub(super) struct Differences {
    ticks: Reading<CpuTimes>,
    /// Activity of the machine.
    pub(super) activity: Activity,
}

impl Counters {
    /// Reads the counters, which takes tenths of a millisecond.
    pub(super) fn read(root: &Root) -> Self {
        Counters { activity: KernelCounters::read(root), times: procfs::cpu_times(root) }
    }

    /// Returns the differences until a later reading, for a row that took `elapsed`.
    pub(super) fn until(&self, later: &Counters, elapsed: Nanos) -> Differences {
        let long_enough = if elapsed < MIN_LENGTH { Err(too_short()) } else { Ok(()) };
        let activity = self.activity.until(&later.activity);
        Differences {
            ticks: long_enough.clone().and_then(|()| added(&self.times, &later.times)),
            activity: Activity {
                busy_ratio: long_enough.clone().and(activity.busy_ratio),
                steal_ratio: long_enough.and(activity.steal_ratio),
                ..activity
            },
        }
    }
}

impl Differences {
    /// Returns the CPU time of all processes on the machine.
    pub(super) fn busy(&self) -> Reading<Nanos> {
        self.ticks.as_ref().map(|ticks| in_time(ticks.total.busy())).map_err(Clone::clone)
    }

    /// Returns the share of time in which a CPU was in use.
    pub(super) fn busy_ratio(&self, cpu: usize) -> Reading<f64> {
        busy_ratio(self.ticks.as_ref().map_err(Clone::clone)?, cpu)
    }
}

fn too_short() -> Absent {
    Absent::because("the row was shorter than 0.2 s, and the kernel counts CPU time in hundredths of a second")
}

/// Returns the ticks between two readings, in total and for each CPU.
fn added(before: &Reading<CpuTimes>, after: &Reading<CpuTimes>) -> Reading<CpuTimes> {
    let (before, after) = (before.as_ref().map_err(Clone::clone)?, after.as_ref().map_err(Clone::clone)?);
    let earlier = |cpu: usize| before.each.iter().find(|(other, _)| *other == cpu).map(|(_, ticks)| ticks);
    let each = after.each.iter().filter_map(|(cpu, ticks)| Some((*cpu, ticks.since(earlier(*cpu)?))));
    Ok(CpuTimes { total: after.total.since(&before.total), each: each.collect() })
}

fn busy_ratio(ticks: &CpuTimes, cpu: usize) -> Reading<f64> {
    let ticks = ticks.each.iter().find(|(other, _)| *other == cpu).map(|(_, ticks)| ticks);
    let ticks = ticks.ok_or_else(|| Absent::because(format!("CPU {cpu} was not online during the whole row")))?;
    match ticks.total() {
        0 => Err(Absent::because("the kernel counted no time for this CPU")),
        total => Ok(ticks.busy() as f64 / total as f64),
    }
}

fn in_time(ticks: u64) -> Nanos {
    Nanos(ticks.saturating_mul(1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)))
}

#[cfg(test)]
mod tests {
    use steady_linux::procfs::CpuTicks;

    use super::*;

    fn ticks(user: u64, idle: u64) -> CpuTicks {
        CpuTicks { user, idle, ..CpuTicks::default() }
    }

    #[test]
    fn each_cpu_has_its_own_share() {
        let before = CpuTimes { total: ticks(5, 5), each: vec![(0, ticks(1, 1)), (2, ticks(4, 4))] };
        let after =
            CpuTimes { total: ticks(65, 45), each: vec![(0, ticks(31, 11)), (1, ticks(0, 0)), (2, ticks(34, 34))] };
        let added = added(&Ok(before), &Ok(after)).unwrap();
        assert_eq!((busy_ratio(&added, 0), busy_ratio(&added, 2)), (Ok(0.75), Ok(0.5)));
        assert!(busy_ratio(&added, 1).unwrap_err().0.contains("online"), "CPU 1 came online during the row");
    }
}
