//! Counts what a process tree does at tracepoints of the kernel: system calls, tasks created, programs executed. It
//! stops no process. Each passed tracepoint costs a little, which [`cost`] measures.
//!
//! While any process counts the tracepoint of system calls, every program on the machine enters the kernel on a slower
//! path. Therefore keep [`Tracepoints`] no longer than the command runs.
//!
//! Source: `Documentation/trace/events.rst`, perf_event_open(2).

mod cost;
mod tracefs;

pub use cost::{CountingCost, cost};

use std::io;

use rustix::io::Errno;
use steady_model::{Absent, CounterScope, Nanos, Reading};

use super::event::{Event, PerfCounter};
use super::meter::{Counter, RawCount, UNCOUNTED_RATIO};
use crate::Root;
use tracefs::Tracefs;

/// The tracepoint at each system call, before the kernel executes it.
const CALLS: &str = "raw_syscalls/sys_enter";
/// The tracepoint after a task has been created.
const TASKS: &str = "task/task_newtask";
/// The tracepoint after a program has been executed.
const EXECS: &str = "sched/sched_process_exec";
/// Filter for tasks that are threads (CLONE_THREAD).
const THREADS_ONLY: &std::ffi::CStr = c"clone_flags & 0x10000";

/// Counters for the children of the thread that opened them. Each counts from a child's exec on, including all
/// descendants of the child. Programs that change their user, or that this user may not read, are not counted after
/// their exec.
///
/// Each new process inherits the counters, which costs some microseconds per counter ([`cost`]). Therefore open only
/// the counters that are needed.
pub struct Tracepoints {
    /// The counters of calls and execs. After [`Tracepoints::open`], also those of tasks and threads.
    counters: Vec<PerfCounter>,
    before: Vec<RawCount>,
}

/// Counts of a process tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeCounts {
    /// System calls, without the one that executed the command.
    pub calls: u64,
    /// Programs executed, without the command itself.
    pub execs: u64,
    /// Tasks that the tree created, if they were counted.
    pub made: Option<Made>,
}

/// Tasks that a tree created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// Processes created, without the process of the command itself.
    pub forks: u64,
    /// Threads created in addition to the first thread of each process.
    pub threads: u64,
}

impl Tracepoints {
    /// Opens all counters. Returns the reason if the kernel lacks the tracepoints or does not let this user count them.
    pub fn open() -> Reading<Self> {
        let mut points = Tracepoints::of_calls_and_execs()?;
        let (root, tracefs) = (Root::default(), Tracefs::open(&Root::default())?);
        let threads = counter(&root, &tracefs, TASKS)?.only(THREADS_ONLY).map_err(|error| refused(&error))?;
        points.counters.extend([counter(&root, &tracefs, TASKS)?, threads]);
        Ok(points)
    }

    /// Opens only the counters of system calls and execs. Otherwise as [`Tracepoints::open`].
    pub fn of_calls_and_execs() -> Reading<Self> {
        let root = Root::default();
        let tracefs = Tracefs::open(&root)?;
        let counters = vec![counter(&root, &tracefs, CALLS)?, counter(&root, &tracefs, EXECS)?];
        Ok(Tracepoints { counters, before: Vec::new() })
    }

    /// Number of counters that a process inherits.
    pub fn inherited(&self) -> u64 {
        self.counters.len() as u64
    }

    /// Reads the counters. Call this before the command starts.
    ///
    /// # Errors
    /// The error of read(2).
    pub fn begin(&mut self) -> io::Result<()> {
        self.before = self.read()?;
        Ok(())
    }

    /// Returns the counts of a command that used `cpu_time`. Call this when all its descendants have been reaped.
    /// Returns the reason if part of the tree was not counted.
    pub fn end(&mut self, cpu_time: Nanos) -> Reading<TreeCounts> {
        let now = self.read().map_err(|error| Absent::because(format!("cannot read the counters: {error}")))?;
        let since = |(now, before): (RawCount, &RawCount)| {
            now.since(*before).ok_or_else(|| Absent::because("the counters have decreased"))
        };
        let counted: Vec<RawCount> = now.into_iter().zip(&self.before).map(since).collect::<Reading<_>>()?;
        tree_counts(&counted, cpu_time)
    }

    fn read(&mut self) -> io::Result<Vec<RawCount>> {
        self.counters.iter_mut().map(Counter::read).collect()
    }
}

fn counter(root: &Root, tracefs: &Tracefs, point: &str) -> Reading<PerfCounter> {
    let event = Event::tracepoint(tracefs.number(point)?);
    PerfCounter::open(root, &event, CounterScope::UserAndKernel).map_err(|error| refused(&error))
}

fn tree_counts(counted: &[RawCount], cpu_time: Nanos) -> Reading<TreeCounts> {
    let values: Vec<u64> = counted.iter().map(|counted| counted.value).collect();
    // The counters are read one after the other. They fit together because the tree has ended.
    let whole = counted.iter().all(|counted| counted.enabled.saturating_mul(UNCOUNTED_RATIO) >= cpu_time.0);
    let counts = |calls, execs: u64, made| execs.checked_sub(1).map(|execs| TreeCounts { calls, execs, made });
    let counts = match values[..] {
        [calls, execs] => counts(calls, execs, None),
        [calls, execs, tasks, threads] => {
            tasks.checked_sub(threads).and_then(|forks| counts(calls, execs, Some(Made { forks, threads })))
        }
        _ => None,
    };
    counts.filter(|_| whole).ok_or_else(|| {
        Absent::because(
            "part of the process tree was not counted: the kernel stops counting programs that change their user",
        )
    })
}

/// Converts an error of perf_event_open(2) for a tracepoint into a reason.
fn refused(error: &io::Error) -> Absent {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::ACCESS | Errno::PERM) => Absent::because(
            "this user may not count kernel events; it needs CAP_PERFMON, or kernel.perf_event_paranoid at most 1",
        ),
        Some(Errno::NOSYS) => Absent::because("the kernel has no perf_event_open(2), or a sandbox hides it"),
        _ => Absent::because(format!("perf_event_open(2): {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(values: impl Into<Vec<u64>>, enabled: u64) -> Reading<TreeCounts> {
        let counted = values.into().into_iter().map(|value| RawCount { value, enabled, running: enabled });
        tree_counts(&counted.collect::<Vec<_>>(), Nanos(1_000))
    }

    #[test]
    fn forks_are_tasks_without_threads() {
        let made = Some(Made { forks: 3, threads: 2 });
        assert_eq!(counts([900, 5, 5, 2], 1_000), Ok(TreeCounts { calls: 900, execs: 4, made }));
        assert_eq!(counts([900, 5], 1_000), Ok(TreeCounts { calls: 900, execs: 4, made: None }));
    }

    #[test]
    fn a_partly_counted_tree_has_no_counts() {
        assert!(counts([900, 5, 5, 2], 249).is_err());
        assert!(counts([900, 5, 5, 2], 250).is_ok());
        assert!(counts([0, 0], 1_000).is_err(), "without an exec there is no count");
        assert!(counts([9, 1, 1, 2], 1_000).is_err());
    }

    #[test]
    fn forbidden_counters_have_a_remedy() {
        assert!(refused(&Errno::ACCESS.into()).0.contains("CAP_PERFMON"));
        assert!(refused(&Errno::NOSYS.into()).0.contains("sandbox"));
        assert_eq!(refused(&Errno::MFILE.into()).0, "perf_event_open(2): Too many open files (os error 24)");
    }
}
