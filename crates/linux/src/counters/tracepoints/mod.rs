//! Counting what a process tree asks of the kernel at points in the kernel itself: system calls, tasks made, programs
//! executed. Nothing is stopped; each passing of a point costs a little, which [`cost`] measures.
//!
//! While the point at system calls is counted for anybody, every program of the machine takes the longer way into the
//! kernel: so [`Tracepoints`] should be there for no longer than the command.
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

/// The points: at each system call, before it is made; where a task has been made; where a program has been executed.
const CALLS: &str = "raw_syscalls/sys_enter";
const TASKS: &str = "task/task_newtask";
const EXECS: &str = "sched/sched_process_exec";
/// Of tasks those that are threads (CLONE_THREAD).
const THREADS_ONLY: &std::ffi::CStr = c"clone_flags & 0x10000";

/// Counters for the children of the thread that opened them: each counts from a child's exec on, with all that descends
/// from it. Programs that change their user, or that this user may not read, drop out at their exec.
///
/// Each process that is made inherits the counters, which makes it dearer by some microseconds a counter
/// ([`cost`]): so there are no more of them than are wanted.
pub struct Tracepoints {
    /// Calls; and tasks, threads, execs where they are wanted.
    counters: Vec<PerfCounter>,
    before: Vec<RawCount>,
}

/// What a tree did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeCounts {
    /// System calls; the one that executed the command is not among them.
    pub calls: u64,
    /// What it made, where that was counted.
    pub made: Option<Made>,
}

/// Tasks and programs that a tree made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// Processes that were made, the command's own not counted.
    pub forks: u64,
    /// Threads that were made beside the first of each process.
    pub threads: u64,
    /// Programs that were executed, the command's own not counted.
    pub execs: u64,
}

impl Tracepoints {
    /// Opens the counters. Absent where the kernel has no such points, or does not let this user count at them.
    pub fn open() -> Reading<Self> {
        let mut points = Tracepoints::of_calls()?;
        let (root, tracefs) = (Root::default(), Tracefs::open(&Root::default())?);
        let threads = counter(&root, &tracefs, TASKS)?.only(THREADS_ONLY).map_err(|error| refused(&error))?;
        points.counters.extend([counter(&root, &tracefs, TASKS)?, threads, counter(&root, &tracefs, EXECS)?]);
        Ok(points)
    }

    /// Opens the one at system calls alone; as [`Tracepoints::open`].
    pub fn of_calls() -> Reading<Self> {
        let root = Root::default();
        let calls = counter(&root, &Tracefs::open(&root)?, CALLS)?;
        Ok(Tracepoints { counters: vec![calls], before: Vec::new() })
    }

    /// How many counters a process inherits.
    pub fn inherited(&self) -> u64 {
        self.counters.len() as u64
    }

    /// To be called before the command is started.
    ///
    /// # Errors
    /// What read(2) says.
    pub fn begin(&mut self) -> io::Result<()> {
        self.before = self.read()?;
        Ok(())
    }

    /// What a command that has used `cpu_time` counted, once all that descends from it has been reaped. Absent where part
    /// of it was not counted.
    pub fn end(&mut self, cpu_time: Nanos) -> Reading<TreeCounts> {
        let now = self.read().map_err(|error| Absent::because(format!("the counters could not be read: {error}")))?;
        let since = |(now, before): (RawCount, &RawCount)| {
            now.since(*before).ok_or_else(|| Absent::because("the counters have gone backwards"))
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
    // Each is told by itself, and they are read one after the other: with a tree that has ended they belong together.
    let whole = counted.iter().all(|counted| counted.enabled.saturating_mul(UNCOUNTED_RATIO) >= cpu_time.0);
    let counts = match values[..] {
        [calls] => Some(TreeCounts { calls, made: None }),
        [calls, tasks, threads, execs] => tasks
            .checked_sub(threads)
            .zip(execs.checked_sub(1))
            .map(|(forks, execs)| TreeCounts { calls, made: Some(Made { forks, threads, execs }) }),
        _ => None,
    };
    counts.filter(|_| whole).ok_or_else(|| {
        Absent::because(
            "part of it was not counted: the kernel does not count programs that change their user at their exec",
        )
    })
}

/// Why nothing may be counted at a point.
fn refused(error: &io::Error) -> Absent {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::ACCESS | Errno::PERM) => Absent::because(
            "counting in the kernel is not allowed: it takes CAP_PERFMON, or kernel.perf_event_paranoid at most 1",
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
    fn forks_are_the_tasks_that_are_no_threads() {
        let made = Made { forks: 3, threads: 2, execs: 4 };
        assert_eq!(counts([900, 5, 2, 5], 1_000), Ok(TreeCounts { calls: 900, made: Some(made) }));
        assert_eq!(counts([900], 1_000), Ok(TreeCounts { calls: 900, made: None }));
    }

    #[test]
    fn what_was_counted_in_part_is_absent() {
        assert!(counts([900, 5, 2, 5], 249).is_err());
        assert!(counts([900, 5, 2, 5], 250).is_ok());
        assert!(counts([0, 0, 0, 0], 1_000).is_err(), "no exec, no count");
        assert!(counts([9, 1, 2, 1], 1_000).is_err());
    }

    #[test]
    fn what_is_not_allowed_says_what_would_help() {
        assert!(refused(&Errno::ACCESS.into()).0.contains("CAP_PERFMON"));
        assert!(refused(&Errno::NOSYS.into()).0.contains("sandbox"));
        assert_eq!(refused(&Errno::MFILE.into()).0, "perf_event_open(2): Too many open files (os error 24)");
    }
}
