//! From what the instruments told to a command's account: which of them is believed, and what remains untold.

use std::collections::BTreeMap;

use steady_linux::exits::TaskExit;
use steady_linux::procfs::Schedstat;
use steady_model::{Absent, Counts, Nanos, Outcome, ProcessUse, Reading};

use super::ExplainRun;
use super::counted::Counted;
use super::usage::Usage;

/// The main thread's CPU time counts as the tree's where they differ by no more than this share, or by two ticks of
/// the microsecond clock that rusage has.
const SAME_CPU_TIME_RATIO: f64 = 0.02;
const SAME_CPU_TIME_GRAIN: Nanos = Nanos(4_000);
/// Exit records that tell so much more CPU time than wait4(2) hold processes that nobody waited for.
const MORE_RATIO: f64 = 0.01;
const MORE_GRAIN: Nanos = Nanos(1_000_000);
/// At most so many processes are listed: the dearest.
const MOST_PROCESSES: usize = 10_000;

/// What was seen of a command that has ended, and of its tree.
pub(super) struct Seen {
    pub(super) command: i32,
    pub(super) outcome: Outcome,
    pub(super) left_behind: u32,
    /// Without the stops, as are the lifetimes of threads once theirs are taken off.
    pub(super) wall: Nanos,
    pub(super) stopped: Nanos,
    pub(super) threads_stopped: Nanos,
    /// From its first moment to its exec, and what it had used and waited by then.
    pub(super) to_exec: Nanos,
    pub(super) before: Usage,
    pub(super) delayed_before: Reading<Schedstat>,
    /// What the tree used, as wait4(2) tells, without what was before.
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

/// What all tasks of a tree lived, waited and used.
#[derive(Clone, Debug, Default)]
struct Tasks {
    number: usize,
    lived: Nanos,
    cpu: Nanos,
    waiting: Nanos,
    untold: Option<Absent>,
    usage: Usage,
    /// Processes and threads beside the first of each; absent where records do not tell whose thread each is.
    processes: Option<u64>,
    /// Processes that executed a program since they were made.
    executed: u64,
}

/// The account of what was seen.
pub(super) fn account(seen: Seen) -> ExplainRun {
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

fn sum(ends: &[TaskExit], seen: &Seen) -> Tasks {
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

/// What of a task's record was before its exec; of all but the command's first thread, nothing.
#[derive(Default)]
struct Before {
    lived: Nanos,
    waiting: Nanos,
    cpu: Nanos,
    faults: u64,
    switches: u64,
}

impl Before {
    fn of(end: &TaskExit, seen: &Seen) -> Self {
        if end.pid != seen.command {
            return Before::default();
        }
        let before = &seen.before;
        // It is as old as it lived and as it waited to live.
        let waiting = seen.delayed_before.as_ref().map_or(Nanos::ZERO, |schedstat| schedstat.run_delay);
        Before {
            lived: seen.to_exec + waiting,
            waiting,
            cpu: before.cpu(),
            faults: before.minor_faults + before.major_faults,
            switches: before.voluntary_switches + before.involuntary_switches,
        }
    }
}

fn used(end: &TaskExit) -> Usage {
    Usage {
        user: end.user,
        system: end.system,
        minor_faults: end.minor_faults,
        major_faults: end.major_faults,
        voluntary_switches: end.voluntary_switches,
        involuntary_switches: end.involuntary_switches,
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
        // reaped tells of that too.
        Ok(Tasks { number: 1, waiting, .. }) => {
            let told = seen.main.clone().and_then(|main| Ok(main.run_delay - seen.delayed_before.clone()?.run_delay));
            sources.push(match told {
                Ok(_) => "waiting: its only thread's schedstat".to_owned(),
                Err(_) => "waiting: the exit record of its only thread (taskstats)".to_owned(),
            });
            return (Ok(seen.wall), Ok(told.unwrap_or(*waiting)));
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

fn counts(seen: &Seen, tasks: &Reading<Tasks>, usage: Usage, sources: &mut Vec<String>) -> Counts {
    let counted = &seen.counted;
    if counted.calls.is_ok() {
        sources.push(format!("system calls: {}", counted.by));
    }
    let told = tasks.as_ref().ok().and_then(|tasks| Some((tasks.number as u64, tasks.processes?)));
    let execs = match (told, &counted.execs) {
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
    let (forks, threads) = match (told, &counted.forks) {
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

/// The processes that the tasks were the threads of, the dearest first.
fn processes(ends: &[TaskExit], seen: &Seen) -> Reading<Vec<ProcessUse>> {
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
            wall: Nanos::ZERO,
            cpu: Nanos::ZERO,
            waiting: Ok(Nanos::ZERO),
            faults: 0,
            switches: 0,
        });
        if end.pid == pid {
            process.name.clone_from(&end.name);
        }
        process.threads += 1;
        process.wall = process.wall.max(end.wall - before.lived);
        process.cpu += end.cpu - before.cpu;
        process.waiting = match (&process.waiting, &end.run_delay) {
            (Ok(sum), Ok(delay)) => Ok(*sum + (*delay - before.waiting)),
            (Err(why), _) | (_, Err(why)) => Err(why.clone()),
        };
        process.faults += (end.minor_faults + end.major_faults).saturating_sub(before.faults);
        process.switches += (end.voluntary_switches + end.involuntary_switches).saturating_sub(before.switches);
    }
    let mut processes: Vec<ProcessUse> = processes.into_values().collect();
    processes.sort_by_key(|process| std::cmp::Reverse(process.cpu));
    processes.truncate(MOST_PROCESSES);
    Ok(processes)
}

#[cfg(test)]
pub(super) mod tests {
    use steady_linux::tracepoints::CountingCost;
    use steady_model::{CallCount, Timestamp};

    use super::*;

    const MS: u64 = 1_000_000;

    fn ms(time: u64) -> Nanos {
        Nanos(time * MS)
    }

    /// A thread that lived 100 ms, ran for 40 and waited for 10.
    pub(in crate::explain) fn task(pid: i32, tgid: i32) -> TaskExit {
        TaskExit {
            pid,
            tgid: Some(tgid),
            parent: 10,
            name: format!("p{tgid}"),
            began: Timestamp(0),
            wall: ms(100),
            cpu: ms(40),
            user: ms(30),
            system: ms(10),
            minor_faults: 50,
            major_faults: 1,
            voluntary_switches: 7,
            involuntary_switches: 3,
            run_delay: Ok(ms(10)),
            last_of_process: Some(pid == tgid),
            never_executed: false,
        }
    }

    fn no(why: &str) -> Absent {
        Absent::because(why)
    }

    fn schedstat(cpu: u64, run_delay: u64) -> Reading<Schedstat> {
        Ok(Schedstat { cpu: ms(cpu), run_delay: ms(run_delay), timeslices: 1 })
    }

    /// A command of one thread that took 1 ms, 2 faults and a wait of 2 ms to become itself, and used 39 ms afterwards.
    fn seen() -> Seen {
        let before = Usage { system: ms(1), minor_faults: 2, ..Usage::default() };
        Seen {
            command: 20,
            outcome: Outcome::Exited(0),
            left_behind: 0,
            wall: ms(97),
            stopped: Nanos::ZERO,
            threads_stopped: Nanos::ZERO,
            to_exec: ms(1),
            delayed_before: schedstat(1, 2),
            before,
            usage: used(&task(20, 20)).without(before),
            main: schedstat(40, 10),
            alone: true,
            tasks: Ok(vec![task(20, 20)]),
            counted: Counted::nothing(&no("not allowed")),
            traced: false,
            seen: Err(no("the kernel told of each")),
        }
    }

    #[test]
    fn what_was_before_the_exec_is_not_the_commands() {
        let run = account(seen());
        assert_eq!((run.wall, run.user + run.system), (ms(97), ms(39)));
        assert_eq!((run.thread_time, run.waiting), (Ok(ms(97)), Ok(ms(8))));
        assert_eq!((run.counts.minor_faults, run.counts.major_faults), (48, 1));
        assert_eq!((run.counts.forks, run.counts.threads), (Ok(0), Ok(0)));
        assert!(run.counts.calls.is_err());
        assert_eq!(run.counts.execs, Ok(0), "its own is not counted");
        let process = &run.processes.unwrap()[0];
        assert_eq!((process.cpu, process.wall, process.faults), (ms(39), ms(97), 49));
        assert_eq!(process.waiting, Ok(ms(8)));
    }

    #[test]
    fn what_a_single_thread_waited_for_while_it_gave_its_memory_back_counts() {
        let run = account(Seen { main: schedstat(41, 15), ..seen() });
        assert_eq!(run.waiting, Ok(ms(13)));
        let run = account(Seen { main: Err(no("it was gone")), ..seen() });
        assert_eq!(run.waiting, Ok(ms(8)), "as its record says");
    }

    #[test]
    fn processes_that_executed_a_program_are_told_by_their_records() {
        let forked = TaskExit { never_executed: true, ..task(40, 40) };
        let run = account(Seen { tasks: Ok(vec![forked, task(31, 30), task(30, 30), task(20, 20)]), ..seen() });
        assert_eq!((run.counts.forks, run.counts.execs), (Ok(2), Ok(1)));
    }

    #[test]
    fn counting_costs_what_calls_and_tasks_cost() {
        let cost = CountingCost { per_call: Ok(Nanos(30)), per_task: Ok(Nanos(10_000)), per_switch: Err(no("noise")) };
        let counted = Counted { calls: Ok(100), cost: Ok(cost), ..Counted::nothing(&no("not allowed")) };
        let run = account(Seen { tasks: Ok(vec![task(31, 30), task(30, 30), task(20, 20)]), counted, ..seen() });
        assert_eq!(run.counting_cost, Ok(Nanos(23_000)), "100 calls, a process and a thread more");
    }

    #[test]
    fn lifetimes_and_waits_of_all_tasks_add_up() {
        let tasks = vec![task(31, 30), task(30, 30), task(20, 20)];
        let usage = Usage { user: ms(100), system: ms(19), ..Usage::default() };
        let run = account(Seen { tasks: Ok(tasks), usage, ..seen() });
        assert_eq!(run.thread_time, Ok(ms(297)), "of the first 3 ms were before its exec");
        assert_eq!(run.waiting, Ok(ms(28)));
        assert_eq!((run.counts.forks, run.counts.threads), (Ok(1), Ok(1)));
        let processes = run.processes.unwrap();
        assert_eq!(
            processes.iter().map(|process| (process.pid, process.threads)).collect::<Vec<_>>(),
            [(30, 2), (20, 1)]
        );
    }

    #[test]
    fn what_ends_of_tasks_took_is_time_that_they_lived() {
        let usage = Usage { user: ms(100), system: ms(25), ..Usage::default() };
        let run = account(Seen { tasks: Ok(vec![task(30, 30), task(31, 30), task(20, 20)]), usage, ..seen() });
        assert_eq!(run.thread_time, Ok(ms(303)), "6 ms were used after the records");
    }

    #[test]
    fn children_that_nobody_waited_for_are_told_by_their_records() {
        let run = account(Seen { tasks: Ok(vec![task(30, 30), task(20, 20)]), ..seen() });
        assert_eq!(run.user + run.system, ms(79), "wait4 knows of 39");
        assert_eq!(run.counts.minor_faults, 98);
        assert!(run.sources[0].contains("taskstats"), "{:?}", run.sources);
    }

    #[test]
    fn stops_are_no_lifetime() {
        let tasks = vec![task(30, 30), task(20, 20)];
        let usage = Usage { user: ms(60), system: ms(19), ..Usage::default() };
        let run = account(Seen { tasks: Ok(tasks), usage, threads_stopped: ms(50), ..seen() });
        assert_eq!(run.thread_time, Ok(ms(147)));
    }

    #[test]
    fn without_records_a_single_thread_is_told_by_its_own_statistics() {
        let without = |change: fn(&mut Seen)| {
            let mut seen = Seen { tasks: Err(no("no privilege")), ..seen() };
            change(&mut seen);
            account(seen)
        };
        let run = without(|_| ());
        assert_eq!((run.thread_time, run.waiting), (Ok(ms(97)), Ok(ms(8))));
        assert!(run.counts.forks.is_err() && run.processes.unwrap_err().0.contains("no privilege"));
        for run in [
            without(|seen| seen.alone = false),
            without(|seen| seen.usage.user = ms(60)),
            without(|seen| seen.main = Err(Absent::because("gone"))),
            without(|seen| (seen.counted.forks, seen.counted.threads) = (Ok(1), Ok(0))),
        ] {
            let why = run.waiting.unwrap_err();
            assert!(why.0.contains("no privilege") || why.0.contains("gone"), "{why}");
            assert!(run.thread_time.is_err());
        }
        let run = without(|seen| {
            (seen.counted.forks, seen.counted.threads) = (Ok(0), Ok(0));
            seen.alone = false;
        });
        assert_eq!(run.waiting, Ok(ms(8)), "who counts tasks knows better than looks");
    }

    #[test]
    fn records_without_their_process_tell_times_only() {
        let old = |pid| TaskExit { tgid: None, last_of_process: None, ..task(pid, pid) };
        let usage = Usage { user: ms(60), system: ms(19), ..Usage::default() };
        let run = account(Seen { tasks: Ok(vec![old(30), old(20)]), usage, ..seen() });
        assert_eq!(run.waiting, Ok(ms(18)));
        assert!(run.counts.forks.is_err() && run.processes.unwrap_err().0.contains("5.17"));
    }

    #[test]
    fn under_a_tracer_switches_are_not_the_commands() {
        let by_name = vec![CallCount { name: "read".to_owned(), count: 5 }];
        let counted = Counted {
            forks: Ok(0),
            threads: Ok(0),
            execs: Ok(0),
            calls: Ok(5),
            by_name: Ok(by_name.clone()),
            by: "a tracer",
            ..Counted::nothing(&no("x"))
        };
        let run = account(Seen { traced: true, counted, ..seen() });
        assert!(run.counts.voluntary_switches.is_err() && run.counts.involuntary_switches.is_err());
        assert_eq!((run.counts.calls, run.counts.calls_by_name), (Ok(5), Ok(by_name)));
    }
}
