//! The kernel's counters at both ends of a row, and what they tell of the time between.

use steady_linux::Root;
use steady_linux::activity::Snapshot;
use steady_linux::procfs::{self, CpuTimes};
use steady_model::{Absent, Activity, Nanos, Reading};

/// The kernel counts in ticks of 10 ms: of shorter rows their shares of time cannot be told.
const SHORTEST: Nanos = Nanos(200_000_000);

/// The counters at one end of a row.
pub(super) struct Counters {
    activity: Snapshot,
    times: Reading<CpuTimes>,
}

/// What the counters tell of a row.
pub(super) struct Passed {
    ticks: Reading<CpuTimes>,
    /// What the machine was doing.
    pub(super) activity: Activity,
}

impl Counters {
    /// Reads them, which takes tenths of a millisecond.
    pub(super) fn read(root: &Root) -> Self {
        Counters { activity: Snapshot::take(root), times: procfs::cpu_times(root) }
    }

    /// What happened until a later reading, where the row took `elapsed` of it.
    pub(super) fn until(&self, later: &Counters, elapsed: Nanos) -> Passed {
        let long_enough = if elapsed < SHORTEST { Err(too_short()) } else { Ok(()) };
        let activity = self.activity.until(&later.activity);
        Passed {
            ticks: long_enough.clone().and_then(|()| added(&self.times, &later.times)),
            activity: Activity {
                busy_ratio: long_enough.clone().and(activity.busy_ratio),
                steal_ratio: long_enough.and(activity.steal_ratio),
                ..activity
            },
        }
    }
}

impl Passed {
    /// CPU time that the machine's CPUs were in use, by anybody.
    pub(super) fn busy(&self) -> Reading<Nanos> {
        self.ticks.as_ref().map(|ticks| in_time(ticks.total.busy())).map_err(Clone::clone)
    }

    /// The share of its time that one CPU was in use.
    pub(super) fn busy_ratio(&self, cpu: usize) -> Reading<f64> {
        busy_ratio(self.ticks.as_ref().map_err(Clone::clone)?, cpu)
    }
}

fn too_short() -> Absent {
    Absent::because("the row was shorter than 0.2 s, and the kernel counts CPU time in hundredths of a second")
}

/// The time that was added between two readings, in all and by CPU.
fn added(before: &Reading<CpuTimes>, after: &Reading<CpuTimes>) -> Reading<CpuTimes> {
    let (before, after) = (before.as_ref().map_err(Clone::clone)?, after.as_ref().map_err(Clone::clone)?);
    let earlier = |cpu: usize| before.each.iter().find(|(other, _)| *other == cpu).map(|(_, ticks)| ticks);
    let each = after.each.iter().filter_map(|(cpu, ticks)| Some((*cpu, ticks.since(earlier(*cpu)?))));
    Ok(CpuTimes { total: after.total.since(&before.total), each: each.collect() })
}

fn busy_ratio(ticks: &CpuTimes, cpu: usize) -> Reading<f64> {
    let ticks = ticks.each.iter().find(|(other, _)| *other == cpu).map(|(_, ticks)| ticks);
    let ticks = ticks.ok_or_else(|| Absent::because(format!("CPU {cpu} was not online all the time")))?;
    match ticks.total() {
        0 => Err(Absent::because("the kernel counted no time of it")),
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
    fn each_cpu_has_its_share() {
        let before = CpuTimes { total: ticks(5, 5), each: vec![(0, ticks(1, 1)), (2, ticks(4, 4))] };
        let after =
            CpuTimes { total: ticks(65, 45), each: vec![(0, ticks(31, 11)), (1, ticks(0, 0)), (2, ticks(34, 34))] };
        let added = added(&Ok(before), &Ok(after)).unwrap();
        assert_eq!((busy_ratio(&added, 0), busy_ratio(&added, 2)), (Ok(0.75), Ok(0.5)));
        assert!(busy_ratio(&added, 1).unwrap_err().0.contains("online"), "it came online meanwhile");
    }
}
