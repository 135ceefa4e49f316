//! What the exit records of a tree's tasks add up to, without what was before the command was itself.

use steady_linux::exits::TaskExit;
use steady_model::{Absent, Nanos};

use super::Seen;
use crate::run::usage::Usage;

/// What all tasks of a tree lived, waited and used.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks {
    pub(super) number: usize,
    pub(super) lived: Nanos,
    pub(super) cpu: Nanos,
    pub(super) waiting: Nanos,
    pub(super) untold: Option<Absent>,
    pub(super) usage: Usage,
    /// Processes and threads beside the first of each; absent where records do not tell whose thread each is.
    pub(super) processes: Option<u64>,
    /// Processes that executed a program since they were made.
    pub(super) executed: u64,
}

/// The sum of all records.
pub(super) fn sum(ends: &[TaskExit], seen: &Seen) -> Tasks {
    let mut tasks = Tasks { number: ends.len(), processes: Some(0), ..Tasks::default() };
    for end in ends {
        let before = Before::of(end, seen);
        tasks.lived += end.wall - before.lived;
        tasks.cpu += end.cpu - before.cpu;
        match &end.run_delay {
            Ok(delay) => tasks.waiting += *delay - before.waiting,
            Err(why) => tasks.untold = Some(why.clone()),
        }
        tasks.usage += used(end);
        tasks.processes = tasks.processes.and_then(|sum| Some(sum + u64::from(end.pid == end.tgid?)));
        tasks.executed += u64::from(end.tgid == Some(end.pid) && !end.never_executed);
    }
    tasks.lived = tasks.lived - seen.threads_stopped;
    tasks.usage = tasks.usage.without(seen.before).scaled_to(tasks.cpu);
    tasks
}

/// How long the command's first thread lived by its record, which is written before its memory is given back; stops left out.
pub(super) fn lived(seen: &Seen) -> Option<Nanos> {
    let ends = seen.tasks.as_ref().ok()?;
    let first = ends.iter().find(|end| end.pid == seen.command)?;
    Some(first.wall - Before::of(first, seen).lived - seen.stopped)
}

/// What of a task's record was before its exec; of all but the command's first thread, nothing.
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

/// What a record has that wait4(2) reports too.
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
