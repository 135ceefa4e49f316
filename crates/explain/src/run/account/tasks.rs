//! Sums of the exit records of a process tree, without the use before the exec of the command; and its list of
//! processes.

use std::collections::BTreeMap;

use steady_linux::exits::TaskExit;
use steady_model::{Absent, Nanos, Reading};

use super::Seen;
use crate::record::{MOST_PROCESSES, ProcessUse};
use crate::run::usage::Usage;

/// Totals of all tasks of a tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks {
    pub(super) number: usize,
    pub(super) lived: Nanos,
    pub(super) cpu: Nanos,
    pub(super) waiting: Nanos,
    /// Why the waiting time is not known.
    pub(super) waiting_absent: Option<Absent>,
    pub(super) usage: Usage,
    /// Number of processes; `None` if the records do not say which process a thread belongs to.
    pub(super) processes: Option<u64>,
    /// Number of processes that executed a program after they were created.
    pub(super) executed: u64,
}

/// Adds up all records.
pub(super) fn sum(ends: &[TaskExit], seen: &Seen) -> Tasks {
    let mut tasks = Tasks { number: ends.len(), processes: Some(0), ..Tasks::default() };
    for end in ends {
        let before = Before::of(end, seen);
        tasks.lived += end.wall - before.lived;
        tasks.cpu += end.cpu - before.cpu;
        match &end.run_delay {
            Ok(delay) => tasks.waiting += *delay - before.waiting,
            Err(why) => tasks.waiting_absent = Some(why.clone()),
        }
        tasks.usage += used(end);
        tasks.processes = tasks.processes.and_then(|sum| Some(sum + u64::from(end.pid == end.tgid?)));
        tasks.executed += u64::from(end.tgid == Some(end.pid) && !end.never_executed);
    }
    tasks.lived = tasks.lived - seen.threads_stopped;
    tasks.usage = tasks.usage.without(seen.before).scaled_to(tasks.cpu);
    tasks
}

/// Lifetime of the command's first thread according to its exit record, without stops. The kernel writes the record
/// before the process releases its memory.
pub(super) fn lived(seen: &Seen) -> Option<Nanos> {
    let ends = seen.tasks.as_ref().ok()?;
    let first = ends.iter().find(|end| end.pid == seen.command)?;
    Some(first.wall - Before::of(first, seen).lived - seen.stopped)
}

/// The part of a task's record from before the command's exec; zero for all tasks but the command's first thread.
#[derive(Default)]
pub(super) struct Before {
    pub(super) lived: Nanos,
    pub(super) waiting: Nanos,
    pub(super) cpu: Nanos,
    pub(super) faults: u64,
    pub(super) switches: u64,
}

impl Before {
    pub(super) fn of(end: &TaskExit, seen: &Seen) -> Self {
        if end.pid != seen.command {
            return Before::default();
        }
        let before = &seen.before;
        let waiting = seen.delayed_before.as_ref().map_or(Nanos::ZERO, |schedstat| schedstat.run_delay);
        Before {
            lived: seen.to_exec,
            waiting,
            cpu: before.cpu(),
            faults: before.minor_faults + before.major_faults,
            switches: before.voluntary_switches + before.involuntary_switches,
        }
    }
}

/// The fields of a record that wait4(2) reports too.
pub(super) fn used(end: &TaskExit) -> Usage {
    Usage {
        user: end.user,
        system: end.system,
        minor_faults: end.minor_faults,
        major_faults: end.major_faults,
        voluntary_switches: end.voluntary_switches,
        involuntary_switches: end.involuntary_switches,
    }
}

/// Adds a reading to a sum, which is absent if one of its parts is.
fn add(sum: &mut Reading<Nanos>, part: Reading<Nanos>) {
    match (sum.as_mut(), part) {
        (Ok(sum), Ok(part)) => *sum += part,
        (Ok(_), Err(why)) => *sum = Err(why),
        (Err(_), _) => {}
    }
}

/// Groups tasks into processes, sorted by falling CPU time.
pub(super) fn processes(ends: &[TaskExit], seen: &Seen) -> Reading<Vec<ProcessUse>> {
    let mut processes: BTreeMap<i32, ProcessUse> = BTreeMap::new();
    for end in ends {
        let unknown = || Absent::because("before Linux 5.17 exit records do not name the process of a thread");
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
            blocked_seconds: Ok(Nanos::ZERO),
            faults: 0,
            switches: 0,
        });
        if end.pid == pid {
            process.name.clone_from(&end.name);
        }
        process.threads += 1;
        process.wall_seconds = process.wall_seconds.max(end.wall - before.lived);
        process.cpu_seconds += end.cpu - before.cpu;
        let waiting = end.run_delay.clone().map(|delay| delay - before.waiting);
        let blocked = match &waiting {
            Ok(_) if seen.threads_stopped > Nanos::ZERO => {
                Err(Absent::because("the lifetimes in exit records contain the time in which threads were stopped"))
            }
            Ok(waiting) => Ok((end.wall - before.lived) - (end.cpu - before.cpu) - *waiting),
            Err(why) => Err(why.clone()),
        };
        add(&mut process.waiting_seconds, waiting);
        add(&mut process.blocked_seconds, blocked);
        process.faults += (end.minor_faults + end.major_faults).saturating_sub(before.faults);
        process.switches += (end.voluntary_switches + end.involuntary_switches).saturating_sub(before.switches);
    }
    let mut processes: Vec<ProcessUse> = processes.into_values().collect();
    processes.sort_by_key(|process| std::cmp::Reverse(process.cpu_seconds));
    processes.truncate(MOST_PROCESSES);
    Ok(processes)
}
