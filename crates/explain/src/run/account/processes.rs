//! The processes of a tree, from the exit records of their threads.

use std::collections::BTreeMap;

use steady_linux::exits::TaskExit;
use steady_model::{Absent, Nanos, Reading};

use super::Seen;
use super::tasks::Before;
use crate::record::ProcessUse;

/// At most so many processes are listed: those that used most CPU time.
const MOST_PROCESSES: usize = 10_000;

/// The processes that the tasks were the threads of, those that used most CPU time first.
pub(super) fn processes(ends: &[TaskExit], seen: &Seen) -> Reading<Vec<ProcessUse>> {
    let mut processes: BTreeMap<i32, ProcessUse> = BTreeMap::new();
    for end in ends {
        let unknown = || Absent::because("before Linux 5.17 exit records do not tell the process of a thread");
        let pid = end.tgid.ok_or_else(unknown)?;
        let before = Before::of(end, seen);
        let process = processes.entry(pid).or_insert_with(|| ProcessUse {
            pid,
            parent: end.parent,
            name: end.name.clone(),
            threads: 0,
            wall_seconds: Nanos::ZERO,
            cpu_seconds: Nanos::ZERO,
            waiting_seconds: Ok(Nanos::ZERO),
            faults: 0,
            switches: 0,
        });
        if end.pid == pid {
            process.name.clone_from(&end.name);
        }
        process.threads += 1;
        process.wall_seconds = process.wall_seconds.max(end.wall - before.lived);
        process.cpu_seconds += end.cpu - before.cpu;
        process.waiting_seconds = match (&process.waiting_seconds, &end.run_delay) {
            (Ok(sum), Ok(delay)) => Ok(*sum + (*delay - before.waiting)),
            (Err(why), _) | (_, Err(why)) => Err(why.clone()),
        };
        process.faults += (end.minor_faults + end.major_faults).saturating_sub(before.faults);
        process.switches += (end.voluntary_switches + end.involuntary_switches).saturating_sub(before.switches);
    }
    let mut processes: Vec<ProcessUse> = processes.into_values().collect();
    processes.sort_by_key(|process| std::cmp::Reverse(process.cpu_seconds));
    processes.truncate(MOST_PROCESSES);
    Ok(processes)
}
