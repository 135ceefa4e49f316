//! Combines the readings of all instruments into the account of a command. It selects the best source of each figure,
//! or gives the reason why there is none.

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

/// Exit records include processes that no parent waited for if their CPU time exceeds that of wait4(2) by this share...
const MORE_RATIO: f64 = 0.01;
/// ... and by this time.
const MORE_GRAIN: Nanos = Nanos(1_000_000);

/// Name of the count of execs in the sources.
const EXECS: &str = "execs after the command's own";

/// Readings of all instruments for a command that has ended, and for its process tree.
pub(super) struct Seen {
    pub(super) command: i32,
    pub(super) outcome: Outcome,
    pub(super) left_behind: u32,
    /// Wall time without stops.
    pub(super) wall: Nanos,
    pub(super) stopped: Nanos,
    /// Total time in which threads were stopped. It is part of the lifetimes in exit records.
    pub(super) threads_stopped: Nanos,
    /// Time from the fork to the exec.
    pub(super) to_exec: Nanos,
    /// CPU time, faults and switches before the exec.
    pub(super) before: Usage,
    /// Scheduler statistics at the exec.
    pub(super) delayed_before: Reading<Schedstat>,
    /// Use of the tree since the exec, from wait4(2).
    pub(super) usage: Usage,
    /// Scheduler statistics of the first thread at its end.
    pub(super) main: Reading<Schedstat>,
    /// Whether no sample showed a second thread.
    pub(super) alone: bool,
    /// Exit records of all tasks of the tree.
    pub(super) tasks: Reading<Vec<TaskExit>>,
    pub(super) counted: Counted,
    pub(super) traced: bool,
    /// Processes as samples of /proc showed them.
    pub(super) seen: Reading<Vec<ProcessUse>>,
}

/// Computes the account of a command.
pub(super) fn account(seen: Seen) -> ExplainRun {
    let tasks = seen.tasks.as_ref().map(|tasks| sum(tasks, &seen)).map_err(Clone::clone);
    let mut sources = Vec::new();
    let usage = usage(&seen, &tasks, &mut sources);
    // The guardian subtracts the time that it waited for a CPU before it noticed the end. On a busy machine this is too
    // much, because it may have begun to wait before the end. The exit record of the first thread gives a lower bound,
    // and so do the times of an only thread on a CPU and waiting for one.
    let busy = single(&seen, usage).map(|waiting| usage.cpu() + waiting);
    let lived = lived(&seen).map(|lived| lived + after_record(&seen, &tasks, usage));
    let least = lived.into_iter().chain(busy).max();
    let seen = Seen { wall: least.map_or(seen.wall, |least| seen.wall.max(least)), ..seen };
    let (thread_time, waiting) = times(&seen, &tasks, usage, &mut sources);
    let counts = counts(&seen, &tasks, usage, &mut sources);
    let counting_cost = counting_cost(&seen.counted, &counts);
    let recorded = seen.tasks.as_ref().map_err(Clone::clone).and_then(|tasks| processes(tasks, &seen));
    let processes_sampled = recorded.is_err() && seen.seen.is_ok();
    let processes = recorded.or_else(|why| seen.seen.clone().map_err(|_| why));
    if processes_sampled {
        sources.push(
            "processes: samples of /proc, which miss processes that start and end between two samples".to_owned(),
        );
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
        processes_sampled,
        progress: Vec::new(),
        left_behind: seen.left_behind,
        traced: seen.traced,
    }
}

/// Time that an only thread ran and waited for a CPU after the kernel wrote its exit record, because it released its
/// memory. Zero for several tasks: which of them it was is not known.
fn after_record(seen: &Seen, tasks: &Reading<Tasks>, usage: Usage) -> Nanos {
    match tasks {
        Ok(tasks) if tasks.number == 1 => {
            let waited = waiting_of_main(seen).map_or(Nanos::ZERO, |waiting| waiting - tasks.waiting);
            (usage.cpu() - tasks.cpu) + waited
        }
        _ => Nanos::ZERO,
    }
}

/// Waiting time of the first thread since the exec, from its own statistics.
fn waiting_of_main(seen: &Seen) -> Reading<Nanos> {
    Ok(seen.main.clone()?.run_delay - seen.delayed_before.clone()?.run_delay)
}

/// Use of the tree. wait4(2) includes all CPU time up to the end, but not of children that no parent waited for.
fn usage(seen: &Seen, tasks: &Reading<Tasks>, sources: &mut Vec<String>) -> Usage {
    let waited = seen.usage;
    let (usage, by) = match tasks {
        Ok(tasks) if is_more(tasks.cpu, waited.cpu()) => (tasks.usage, "exit records of its tasks (taskstats)"),
        _ => (waited, "wait4(2)"),
    };
    // Under a tracer, the switches are not those of the command.
    let switches = if seen.traced { "" } else { ", switches" };
    sources.push(format!("CPU time, page faults{switches}: {by}"));
    usage
}

fn is_more(one: Nanos, other: Nanos) -> bool {
    let more = one - other;
    more > MORE_GRAIN && more.seconds() > MORE_RATIO * other.seconds()
}

/// Selects the best source for each count.
fn counts(seen: &Seen, tasks: &Reading<Tasks>, usage: Usage, sources: &mut Vec<String>) -> Counts {
    let counted = &seen.counted;
    if counted.calls.is_ok() {
        sources.push(format!("system calls: {}", counted.by));
    }
    let recorded = tasks.as_ref().ok().and_then(|tasks| Some((tasks.number as u64, tasks.processes?)));
    let execs_at_least = recorded.is_some() && counted.execs.is_err();
    // Exit records or tracepoints would have counted them.
    let counted_or_why = |count: &Reading<u64>| match (count, tasks) {
        (Err(points), Err(records)) => Err(Absent(format!("{}; {}", records.0, points.0))),
        _ => count.clone(),
    };
    let execs = match &counted.execs {
        Err(_) if execs_at_least => {
            let text = "exit records (taskstats), which show at most one exec for each process; --trace counts all";
            sources.push(format!("{EXECS}: {text}"));
            // The command's own exec is not counted.
            Ok(tasks.as_ref().map_or(0, |tasks| tasks.executed.saturating_sub(1)))
        }
        Ok(_) => {
            sources.push(format!("{EXECS}: {}", counted.by));
            counted.execs.clone()
        }
        Err(_) => counted_or_why(&counted.execs),
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
        _ => (counted_or_why(&counted.forks), counted_or_why(&counted.threads)),
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
        execs_at_least,
        calls: counted.calls.clone(),
        calls_by_name: counted.by_name.clone(),
    }
}

/// CPU time that counting added to the tree, for its system calls, new tasks and context switches. Costs that cannot be
/// distinguished from zero are left out.
fn counting_cost(counted: &Counted, counts: &Counts) -> Reading<Nanos> {
    let cost = counted.cost.clone()?;
    let made = counts.forks.clone()?.saturating_add(counts.threads.clone()?);
    let switches = counts.voluntary_switches.clone()?.saturating_add(counts.involuntary_switches.clone()?);
    let times = |one: Reading<Nanos>, times: u64| Nanos(one.map_or(0, |one| one.0).saturating_mul(times));
    let calls = times(cost.per_call, counts.calls.clone()?);
    Ok(calls + times(cost.per_task, made) + times(cost.per_switch, switches))
}

/// The CPU times of the main thread and of the tree count as equal if they differ by no more than this share...
const SAME_CPU_TIME_RATIO: f64 = 0.02;
/// ... or by no more than this time, a few steps of the microsecond clock of getrusage(2).
const SAME_CPU_TIME_GRAIN: Nanos = Nanos(4_000);

/// Total lifetime and waiting time of the threads.
fn times(
    seen: &Seen,
    tasks: &Reading<Tasks>,
    usage: Usage,
    sources: &mut Vec<String>,
) -> (Reading<Nanos>, Reading<Nanos>) {
    let why = match tasks {
        Ok(Tasks { waiting_absent: Some(why), .. }) => why.clone(),
        // The kernel writes an exit record before the task releases its memory, which takes time. The statistics of the
        // zombie include that time.
        Ok(Tasks { number: 1, waiting, .. }) => {
            let of_main = waiting_of_main(seen);
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

/// Waiting time of the first thread, if it was the only one.
fn single(seen: &Seen, usage: Usage) -> Reading<Nanos> {
    let main = seen.main.clone()?;
    let waiting = waiting_of_main(seen)?;
    let made = [&seen.counted.forks, &seen.counted.threads].map(|count| count.clone().ok());
    let only = match made {
        [Some(forks), Some(threads)] => forks + threads == 0,
        // A second thread between two samples that used no CPU time goes unnoticed.
        _ => seen.alone && is_same(main.cpu - seen.before.cpu(), usage.cpu()),
    };
    if only {
        Ok(waiting)
    } else {
        Err(Absent::because("the kernel reports it for the first thread only, and there were others"))
    }
}

fn is_same(one: Nanos, other: Nanos) -> bool {
    let apart = Nanos(one.0.abs_diff(other.0));
    apart <= SAME_CPU_TIME_GRAIN || apart.seconds() <= SAME_CPU_TIME_RATIO * other.seconds()
}

/// Counts of a tree that wait4(2) does not report.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Counted {
    pub(super) forks: Reading<u64>,
    pub(super) threads: Reading<u64>,
    pub(super) execs: Reading<u64>,
    pub(super) calls: Reading<u64>,
    pub(super) by_name: Reading<Vec<CallCount>>,
    /// Cost of counting on this machine.
    pub(super) cost: Reading<CountingCost>,
    /// Name of the instrument.
    pub(super) by: &'static str,
}

impl Counted {
    /// Counts that are all absent for the same reason.
    pub(super) fn nothing(why: &Absent) -> Self {
        Counted {
            forks: Err(why.clone()),
            threads: Err(why.clone()),
            execs: Err(why.clone()),
            calls: Err(why.clone()),
            by_name: Err(why.clone()),
            cost: Err(Absent::because("no counter was in use")),
            by: "",
        }
    }

    /// Counts of tracepoints. Each task inherits `inherited` counters, which determine the cost of counting.
    pub(super) fn at_points(counts: Reading<TreeCounts>, inherited: u64) -> Self {
        let remedy = |Absent(why)| Absent(format!("{why}; --trace counts them"));
        let counts = match counts.map_err(remedy) {
            Ok(counts) => counts,
            Err(why) => return Counted::nothing(&why),
        };
        let made = counts.made.ok_or_else(|| Absent::because("it was to come from exit records, and there are none"));
        Counted {
            forks: made.clone().map(|made| made.forks),
            threads: made.map(|made| made.threads),
            execs: Ok(counts.execs),
            calls: Ok(counts.calls),
            by_name: Err(Absent::because("only --trace counts them by name")),
            cost: tracepoints::cost().map(|cost| CountingCost {
                per_task: cost.per_task.map(|one| Nanos(one.0.saturating_mul(inherited))),
                ..cost
            }),
            by: "tracepoints",
        }
    }

    /// Counts of a tracer.
    pub(super) fn by_tracer(counts: &CallCounts) -> Self {
        Counted {
            forks: Ok(counts.forks),
            threads: Ok(counts.threads),
            execs: Ok(counts.execs),
            calls: Ok(counts.calls()),
            by_name: Ok(counts.by_name()),
            cost: Err(Absent::because("the tracer's stops are part of its times")),
            by: "a tracer",
        }
    }
}
