//! From the readings of the instruments to a command's account: which of them is believed, and what remains unknown.

mod tasks;
#[cfg(test)]
pub(super) mod tests;

use steady_linux::exits::TaskExit;
use steady_linux::procfs::Schedstat;
use steady_linux::tracepoints::{self, CountingCost, TreeCounts};
use steady_linux::tracer::CallCounts;
use steady_model::{Absent, CallCount, Nanos, Outcome, Reading};

use super::ExplainRun;
use super::usage::Usage;
use crate::record::{Counts, ProcessUse};
use tasks::{Tasks, lived, processes, sum};

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

/// The counts, each from the best source.
fn counts(seen: &Seen, tasks: &Reading<Tasks>, usage: Usage, sources: &mut Vec<String>) -> Counts {
    let counted = &seen.counted;
    if counted.calls.is_ok() {
        sources.push(format!("system calls: {}", counted.by));
    }
    let recorded = tasks.as_ref().ok().and_then(|tasks| Some((tasks.number as u64, tasks.processes?)));
    let execs = match (recorded, &counted.execs) {
        (Some(_), Err(_)) => {
            sources.push("execs: exit records (taskstats), which tell of one in each process at most".to_owned());
            // The command's own is not counted.
            Ok(tasks.as_ref().map_or(0, |tasks| tasks.executed.saturating_sub(1)))
        }
        (_, Ok(_)) => {
            sources.push(format!("execs: {}", counted.by));
            counted.execs.clone()
        }
        _ => counted.execs.clone(),
    };
    let (forks, threads) = match (recorded, &counted.forks) {
        (Some((number, processes)), _) if processes > 0 => {
            sources.push("forks, threads: exit records of its tasks (taskstats)".to_owned());
            (Ok(processes - 1), Ok(number - processes))
        }
        (_, Ok(_)) => {
            sources.push(format!("forks, threads: {}", counted.by));
            (counted.forks.clone(), counted.threads.clone())
        }
        _ => (counted.forks.clone(), counted.threads.clone()),
    };
    let of_tracer = || Absent::because("each stop of the tracer is a switch");
    let switches = |count: u64| if seen.traced { Err(of_tracer()) } else { Ok(count) };
    Counts {
        minor_faults: usage.minor_faults,
        major_faults: usage.major_faults,
        voluntary_switches: switches(usage.voluntary_switches),
        involuntary_switches: switches(usage.involuntary_switches),
        forks,
        threads,
        execs,
        calls: counted.calls.clone(),
        calls_by_name: counted.by_name.clone(),
    }
}

/// What the counting cost the tree: its calls, the tasks that were made in it, and its switches. What cannot be told from
/// nothing is left away.
fn counting_cost(counted: &Counted, counts: &Counts) -> Reading<Nanos> {
    let cost = counted.cost.clone()?;
    let made = counts.forks.clone()?.saturating_add(counts.threads.clone()?);
    let switches = counts.voluntary_switches.clone()?.saturating_add(counts.involuntary_switches.clone()?);
    let times = |one: Reading<Nanos>, times: u64| Nanos(one.map_or(0, |one| one.0).saturating_mul(times));
    let calls = times(cost.per_call, counts.calls.clone()?);
    Ok(calls + times(cost.per_task, made) + times(cost.per_switch, switches))
}

/// The main thread's CPU time counts as the tree's where they differ by no more than this share, or by two ticks of
/// the microsecond clock that rusage has.
const SAME_CPU_TIME_RATIO: f64 = 0.02;
const SAME_CPU_TIME_GRAIN: Nanos = Nanos(4_000);

/// How long the threads lived and waited.
fn times(
    seen: &Seen,
    tasks: &Reading<Tasks>,
    usage: Usage,
    sources: &mut Vec<String>,
) -> (Reading<Nanos>, Reading<Nanos>) {
    let why = match tasks {
        Ok(Tasks { untold: Some(why), .. }) => why.clone(),
        // A record is written before its task gives its memory back, which takes CPU time and so lasts; what waits to be
        // reaped knows of that too.
        Ok(Tasks { number: 1, waiting, .. }) => {
            let of_main =
                seen.main.clone().and_then(|main| Ok(main.run_delay - seen.delayed_before.clone()?.run_delay));
            sources.push(match of_main {
                Ok(_) => "waiting: its only thread's schedstat".to_owned(),
                Err(_) => "waiting: the exit record of its only thread (taskstats)".to_owned(),
            });
            return (Ok(seen.wall), Ok(of_main.unwrap_or(*waiting)));
        }
        Ok(tasks) => {
            sources.push(format!("waiting: exit records of its {} threads (taskstats)", tasks.number));
            return (Ok(tasks.lived + (usage.cpu() - tasks.cpu)), Ok(tasks.waiting));
        }
        Err(why) => why.clone(),
    };
    match single(seen, usage) {
        Ok(waiting) => {
            sources.push("waiting: its only thread's schedstat".to_owned());
            (Ok(seen.wall), Ok(waiting))
        }
        Err(Absent(other)) => {
            let why = Absent(format!("{other}; {}", why.0));
            (Err(why.clone()), Err(why))
        }
    }
}

/// How long the first thread waited, where it is known to have been the only one.
fn single(seen: &Seen, usage: Usage) -> Reading<Nanos> {
    let main = seen.main.clone()?;
    let before = seen.delayed_before.clone()?;
    let made = [&seen.counted.forks, &seen.counted.threads].map(|count| count.clone().ok());
    let only = match made {
        [Some(forks), Some(threads)] => forks + threads == 0,
        // A second one that used no CPU time may have been there between two looks.
        _ => seen.alone && is_same(main.cpu - seen.before.cpu(), usage.cpu()),
    };
    if only {
        Ok(main.run_delay - before.run_delay)
    } else {
        Err(Absent::because("the kernel tells it of the first thread only, and there were others"))
    }
}

fn is_same(one: Nanos, other: Nanos) -> bool {
    let apart = Nanos(one.0.abs_diff(other.0));
    apart <= SAME_CPU_TIME_GRAIN || apart.seconds() <= SAME_CPU_TIME_RATIO * other.seconds()
}

/// What was counted of a tree, besides what wait4(2) reports.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Counted {
    pub(super) forks: Reading<u64>,
    pub(super) threads: Reading<u64>,
    pub(super) execs: Reading<u64>,
    pub(super) calls: Reading<u64>,
    pub(super) by_name: Reading<Vec<CallCount>>,
    /// What the counting costs here.
    pub(super) cost: Reading<CountingCost>,
    /// Who counted.
    pub(super) by: &'static str,
}

impl Counted {
    /// Nothing, for this reason.
    pub(super) fn nothing(why: &Absent) -> Self {
        Counted {
            forks: Err(why.clone()),
            threads: Err(why.clone()),
            execs: Err(why.clone()),
            calls: Err(why.clone()),
            by_name: Err(why.clone()),
            cost: Err(Absent::because("nothing was counted by it")),
            by: "",
        }
    }

    /// By the tracepoints, of which each task inherited so many counters, at what they cost here.
    pub(super) fn at_points(counts: Reading<TreeCounts>, inherited: u64) -> Self {
        let remedy = |Absent(why)| Absent(format!("{why}; --trace counts them"));
        let counts = match counts.map_err(remedy) {
            Ok(counts) => counts,
            Err(why) => return Counted::nothing(&why),
        };
        let made = counts.made.ok_or_else(|| Absent::because("exit records were to tell it, and there are none"));
        Counted {
            forks: made.clone().map(|made| made.forks),
            threads: made.clone().map(|made| made.threads),
            execs: made.map(|made| made.execs),
            calls: Ok(counts.calls),
            by_name: Err(Absent::because("only --trace tells them by name")),
            cost: tracepoints::cost().map(|cost| CountingCost {
                per_task: cost.per_task.map(|one| Nanos(one.0.saturating_mul(inherited))),
                ..cost
            }),
            by: "tracepoints",
        }
    }

    /// By the tracer.
    pub(super) fn by_tracer(counts: &CallCounts) -> Self {
        Counted {
            forks: Ok(counts.forks),
            threads: Ok(counts.threads),
            execs: Ok(counts.execs),
            calls: Ok(counts.calls()),
            by_name: Ok(counts.by_name()),
            cost: Err(Absent::because("a tracer stops it at each of its calls: its times hold that")),
            by: "a tracer",
        }
    }
}
