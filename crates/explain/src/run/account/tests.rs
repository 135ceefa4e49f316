//! Accounts of made-up commands with one thread, several threads and several processes.

use steady_linux::exits::TaskExit;
use steady_linux::procfs::Schedstat;
use steady_linux::tracepoints::{CountingCost, TreeCounts};
use steady_model::{Absent, CallCount, Nanos, Outcome, Reading, Timestamp};

use super::tasks::used;
use super::{Counted, Seen, Usage, account};

const MS: u64 = 1_000_000;

fn ms(time: u64) -> Nanos {
    Nanos(time * MS)
}

/// The exit record of a thread that lived for 100 ms, ran for 40 ms and waited for 10 ms.
pub(in crate::run) fn task(pid: i32, tgid: i32) -> TaskExit {
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

/// A command with one thread. From fork to exec it took 3 ms, with 2 ms of waiting and 2 faults; then it used 39 ms of
/// CPU time.
fn seen() -> Seen {
    let before = Usage { system: ms(1), minor_faults: 2, ..Usage::default() };
    Seen {
        command: 20,
        outcome: Outcome::Exited(0),
        left_behind: 0,
        wall: ms(97),
        stopped: Nanos::ZERO,
        threads_stopped: Nanos::ZERO,
        to_exec: ms(3),
        delayed_before: schedstat(1, 2),
        before,
        usage: used(&task(20, 20)).without(before),
        main: schedstat(40, 10),
        alone: true,
        tasks: Ok(vec![task(20, 20)]),
        counted: Counted::nothing(&no("not allowed")),
        traced: false,
        seen: Err(no("the kernel's exit records list the processes")),
    }
}

#[test]
fn use_before_the_exec_is_not_counted() {
    let run = account(seen());
    assert_eq!((run.wall, run.user + run.system), (ms(97), ms(39)));
    assert_eq!((run.thread_time, run.waiting), (Ok(ms(97)), Ok(ms(8))));
    assert_eq!((run.counts.minor_faults, run.counts.major_faults), (48, 1));
    assert_eq!((run.counts.forks, run.counts.threads), (Ok(0), Ok(0)));
    assert!(run.counts.calls.is_err());
    assert_eq!(run.counts.execs, Ok(0), "the command's own exec is not counted");
    let process = &run.processes.unwrap()[0];
    assert_eq!((process.cpu_seconds, process.wall_seconds, process.faults), (ms(39), ms(97), 49));
    assert_eq!(process.waiting_seconds, Ok(ms(8)));
    assert_eq!(process.blocked_seconds, Ok(ms(97 - 39 - 8)));
}

#[test]
fn waiting_of_a_single_thread_while_it_releases_memory_counts() {
    let run = account(Seen { main: schedstat(41, 15), ..seen() });
    assert_eq!(run.waiting, Ok(ms(13)));
    let run = account(Seen { main: Err(no("it was gone")), ..seen() });
    assert_eq!(run.waiting, Ok(ms(8)), "as in its exit record");
}

#[test]
fn the_exit_record_bounds_the_wall_time_from_below() {
    let run = account(Seen { wall: ms(60), ..seen() });
    assert_eq!((run.wall, run.thread_time), (ms(97), Ok(ms(97))), "the lifetime in its exit record");
    let run = account(Seen { wall: ms(60), stopped: ms(30), threads_stopped: ms(30), ..seen() });
    assert_eq!(run.wall, ms(67), "the lifetime in the exit record includes stops");
    let run = account(Seen { wall: ms(99), ..seen() });
    assert_eq!(run.wall, ms(99), "the command released memory after the kernel wrote the record");
}

#[test]
fn a_single_process_is_not_blocked_longer_than_the_command() {
    let usage = Usage { system: ms(45), ..Usage::default() };
    let run = account(Seen { usage, main: schedstat(46, 15), ..seen() });
    assert_eq!(run.wall, ms(97 + 6 + 5), "6 ms on a CPU and 5 ms of waiting follow the exit record");
    let blocked = run.thread_time.unwrap() - (run.user + run.system) - run.waiting.unwrap();
    assert_eq!(run.processes.unwrap()[0].blocked_seconds, Ok(blocked));
}

#[test]
fn without_exit_records_the_times_of_an_only_thread_bound_the_wall_time_from_below() {
    let seen = |wall| Seen { tasks: Err(no("no privilege")), wall, ..seen() };
    let run = account(seen(ms(20)));
    assert_eq!((run.wall, run.thread_time, run.waiting), (ms(39 + 8), Ok(ms(39 + 8)), Ok(ms(8))));
    assert_eq!(account(seen(ms(97))).wall, ms(97));
}

#[test]
fn without_exit_records_a_single_thread_has_its_own_statistics() {
    let without = |change: fn(&mut Seen)| {
        let mut seen = Seen { tasks: Err(no("no privilege")), ..seen() };
        change(&mut seen);
        account(seen)
    };
    let run = without(|_| ());
    assert_eq!((run.thread_time, run.waiting), (Ok(ms(97)), Ok(ms(8))));
    assert!(!run.processes_sampled && run.counts.forks.is_err());
    assert!(run.processes.unwrap_err().0.contains("no privilege"));
    let run = without(|seen| seen.counted = Counted::nothing(&no("no tracepoints; --trace counts them")));
    let why = Err(no("no privilege; no tracepoints; --trace counts them"));
    assert_eq!([run.counts.forks, run.counts.threads, run.counts.execs], [why.clone(), why.clone(), why]);
    assert_eq!(run.counts.calls, Err(no("no tracepoints; --trace counts them")), "exit records have no calls");
    let run = without(|seen| seen.seen = Ok(vec![]));
    assert!(run.processes_sampled && run.processes == Ok(vec![]), "samples of /proc list the processes");
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
    assert_eq!(run.waiting, Ok(ms(8)), "counts of tasks override samples");
}

#[test]
fn under_a_tracer_switches_are_absent() {
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
    assert!(run.sources.iter().all(|source| !source.contains("switches")), "{:?}", run.sources);
    assert!(run.sources.contains(&"execs after the command's own: a tracer".to_owned()), "{:?}", run.sources);
    assert!(run.counts.voluntary_switches.is_err() && run.counts.involuntary_switches.is_err());
    assert_eq!((run.counts.calls, run.counts.calls_by_name), (Ok(5), Ok(by_name)));
}

#[test]
fn exit_records_show_which_processes_executed_a_program() {
    let forked = TaskExit { never_executed: true, ..task(40, 40) };
    let run = account(Seen { tasks: Ok(vec![forked, task(31, 30), task(30, 30), task(20, 20)]), ..seen() });
    assert_eq!((run.counts.forks, run.counts.execs), (Ok(2), Ok(1)));
    assert!(run.counts.execs_at_least, "a process may have executed several programs");
}

#[test]
fn tracepoints_count_the_execs_of_processes_in_exit_records() {
    let counts = TreeCounts { calls: 100, execs: 38, made: None };
    let counted = Counted::at_points(Ok(counts), 2);
    let run = account(Seen { tasks: Ok(vec![task(30, 30), task(20, 20)]), counted, ..seen() });
    assert_eq!((run.counts.forks, run.counts.execs, run.counts.execs_at_least), (Ok(1), Ok(38), false));
    assert!(run.sources.contains(&"execs after the command's own: tracepoints".to_owned()), "{:?}", run.sources);
}

#[test]
fn the_cost_of_counting_is_the_cost_of_calls_and_tasks() {
    let cost = CountingCost { per_call: Ok(Nanos(30)), per_task: Ok(Nanos(10_000)), per_switch: Err(no("noise")) };
    let counted = Counted { calls: Ok(100), cost: Ok(cost), ..Counted::nothing(&no("not allowed")) };
    let run = account(Seen { tasks: Ok(vec![task(31, 30), task(30, 30), task(20, 20)]), counted, ..seen() });
    assert_eq!(run.counting_cost, Ok(Nanos(23_000)), "100 calls, one more process and one more thread");
}

#[test]
fn lifetimes_and_waiting_of_all_tasks_add_up() {
    let tasks = vec![task(31, 30), task(30, 30), task(20, 20)];
    let usage = Usage { user: ms(100), system: ms(19), ..Usage::default() };
    let run = account(Seen { tasks: Ok(tasks), usage, ..seen() });
    assert_eq!(run.thread_time, Ok(ms(297)), "3 ms of the first thread are from before its exec");
    assert_eq!(run.waiting, Ok(ms(28)));
    assert_eq!((run.counts.forks, run.counts.threads), (Ok(1), Ok(1)));
    let processes = run.processes.unwrap();
    assert_eq!(processes.iter().map(|process| (process.pid, process.threads)).collect::<Vec<_>>(), [(30, 2), (20, 1)]);
}

#[test]
fn cpu_time_after_the_exit_records_counts_as_lifetime() {
    let usage = Usage { user: ms(100), system: ms(25), ..Usage::default() };
    let run = account(Seen { tasks: Ok(vec![task(30, 30), task(31, 30), task(20, 20)]), usage, ..seen() });
    assert_eq!(run.thread_time, Ok(ms(303)), "6 ms were used after the records were written");
}

#[test]
fn exit_records_include_children_that_no_parent_waited_for() {
    let run = account(Seen { tasks: Ok(vec![task(30, 30), task(20, 20)]), ..seen() });
    assert_eq!(run.user + run.system, ms(79), "wait4 reports 39 ms");
    assert_eq!(run.counts.minor_faults, 98);
    assert!(run.sources[0].contains("taskstats"), "{:?}", run.sources);
}

#[test]
fn stops_are_not_part_of_lifetimes() {
    let tasks = vec![task(30, 30), task(20, 20)];
    let usage = Usage { user: ms(60), system: ms(19), ..Usage::default() };
    let run = account(Seen { tasks: Ok(tasks), usage, threads_stopped: ms(50), ..seen() });
    assert_eq!(run.thread_time, Ok(ms(147)));
    let processes = run.processes.unwrap();
    assert!(
        processes.iter().all(|process| process.blocked_seconds.is_err()),
        "it is not known which thread was stopped"
    );
}

#[test]
fn exit_records_without_process_ids_have_only_times() {
    let old = |pid| TaskExit { tgid: None, last_of_process: None, ..task(pid, pid) };
    let usage = Usage { user: ms(60), system: ms(19), ..Usage::default() };
    let run = account(Seen { tasks: Ok(vec![old(30), old(20)]), usage, ..seen() });
    assert_eq!(run.waiting, Ok(ms(18)));
    assert!(run.counts.forks.is_err() && run.processes.unwrap_err().0.contains("5.17"));
}
