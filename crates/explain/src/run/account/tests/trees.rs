//! Commands of several threads and processes.

use steady_linux::exits::TaskExit;
use steady_linux::tracepoints::CountingCost;
use steady_model::Nanos;

use super::{ms, no, seen, task};
use crate::run::account::{Counted, Seen, Usage, account};

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
    assert_eq!(processes.iter().map(|process| (process.pid, process.threads)).collect::<Vec<_>>(), [(30, 2), (20, 1)]);
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
fn records_without_their_process_tell_times_only() {
    let old = |pid| TaskExit { tgid: None, last_of_process: None, ..task(pid, pid) };
    let usage = Usage { user: ms(60), system: ms(19), ..Usage::default() };
    let run = account(Seen { tasks: Ok(vec![old(30), old(20)]), usage, ..seen() });
    assert_eq!(run.waiting, Ok(ms(18)));
    assert!(run.counts.forks.is_err() && run.processes.unwrap_err().0.contains("5.17"));
}
