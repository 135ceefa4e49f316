//! From the readings of the instruments to a command's account: which of them is believed, and what remains unknown.

mod counts;
mod processes;
mod tasks;
#[cfg(test)]
pub(super) mod tests;
mod times;

use steady_linux::exits::TaskExit;
use steady_linux::procfs::Schedstat;
use steady_model::{Nanos, Outcome, Reading};

use super::ExplainRun;
use super::counted::Counted;
use super::usage::Usage;
use crate::record::ProcessUse;
use counts::{counting_cost, counts};
use processes::processes;
use tasks::{Tasks, lived, sum};
use times::times;

/// Exit records that tell so much more CPU time than wait4(2) hold processes that nobody waited for.
const MORE_RATIO: f64 = 0.01;
const MORE_GRAIN: Nanos = Nanos(1_000_000);

/// What was seen of a command that has ended, and of its tree.
pub(super) struct Seen {
    pub(super) command: i32,
    pub(super) outcome: Outcome,
    pub(super) left_behind: u32,
    /// Without the stops, as are the lifetimes of threads once theirs are taken off.
    pub(super) wall: Nanos,
    pub(super) stopped: Nanos,
    pub(super) threads_stopped: Nanos,
    /// From when it was made to its exec, and what it had used and waited by then.
    pub(super) to_exec: Nanos,
    pub(super) before: Usage,
    pub(super) delayed_before: Reading<Schedstat>,
    /// What the tree used, by wait4(2), without what was before.
    pub(super) usage: Usage,
    /// Statistics of the first thread at its end.
    pub(super) main: Reading<Schedstat>,
    /// Whether no look saw another thread.
    pub(super) alone: bool,
    /// Records of all of its tasks.
    pub(super) tasks: Reading<Vec<TaskExit>>,
    pub(super) counted: Counted,
    pub(super) traced: bool,
    /// Processes as looks saw them.
    pub(super) seen: Reading<Vec<ProcessUse>>,
}

/// The account of what was seen.
pub(super) fn account(seen: Seen) -> ExplainRun {
    // The guardian takes off what it waited for a CPU itself before it saw the end. Where it began to wait before that, as on a
    // crowded machine, this is too much.
    let seen = Seen { wall: lived(&seen).map_or(seen.wall, |lived| seen.wall.max(lived)), ..seen };
    let tasks = seen.tasks.as_ref().map(|tasks| sum(tasks, &seen)).map_err(Clone::clone);
    let mut sources = Vec::new();
    let usage = usage(&seen, &tasks, &mut sources);
    let (thread_time, waiting) = times(&seen, &tasks, usage, &mut sources);
    let counts = counts(&seen, &tasks, usage, &mut sources);
    let counting_cost = counting_cost(&seen.counted, &counts);
    let processes = match &seen.tasks {
        Ok(tasks) => processes(tasks, &seen).or_else(|why| seen.seen.clone().map_err(|_| why)),
        Err(why) => seen.seen.clone().map_err(|_| why.clone()),
    };
    if seen.tasks.is_err() && processes.is_ok() {
        sources.push("processes: looks at /proc, which miss those that end between two of them".to_owned());
    }
    ExplainRun {
        ended: seen.outcome,
        wall: seen.wall,
        user: usage.user,
        system: usage.system,
        thread_time,
        waiting,
        stopped: seen.stopped,
        counts,
        sources,
        counting_cost,
        processes,
        progress: Vec::new(),
        left_behind: seen.left_behind,
        traced: seen.traced,
    }
}

/// What the tree used. wait4(2) knows the CPU time to the last, but not of children that nobody waited for.
fn usage(seen: &Seen, tasks: &Reading<Tasks>, sources: &mut Vec<String>) -> Usage {
    let waited = seen.usage;
    match tasks {
        Ok(tasks) if is_more(tasks.cpu, waited.cpu()) => {
            sources.push("CPU time, page faults, switches: exit records of its tasks (taskstats)".to_owned());
            tasks.usage
        }
        _ => {
            sources.push("CPU time, page faults, switches: wait4(2)".to_owned());
            waited
        }
    }
}

fn is_more(one: Nanos, other: Nanos) -> bool {
    let more = one - other;
    more > MORE_GRAIN && more.seconds() > MORE_RATIO * other.seconds()
}
