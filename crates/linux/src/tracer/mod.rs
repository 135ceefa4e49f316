//! Counts the system calls of a process tree by name, by stopping each thread at each call: ptrace(2).
//!
//! Each system call stops its thread twice, so times measured during the trace are not the program's own times. The
//! traced tasks are killed when the tracing thread ends.
//!
//! Effects on a traced program: as always under ptrace(2), no other process can trace it (a debugger, `strace`). A
//! program that changes its user at its exec does so only if the tracer has CAP_SYS_PTRACE. Signals, stops and
//! continuing work as without a tracer. Tasks created with `CLONE_UNTRACED` are not counted.

mod run;
mod tasks;

use std::collections::HashMap;
use std::io;
use std::marker::PhantomData;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use steady_model::{CallCount, Reading};

use crate::Root;
use crate::process::{Begun, Change, Joining, NotStarted, Schedule};
use crate::sys::{self, Attached, End, Stop};
use crate::syscalls::syscall_name;
use run::refused;
use tasks::{EXEC, Tasks, resume};

pub use run::{Counted, count};

/// Maximum number of stops handled in one call.
const STOPS_AT_ONCE: u32 = 256;

/// Traces the process tree of one command and counts its system calls, from its exec on. Only the thread that started
/// it can use it. That thread calls [`next_change`](Tracer::next_change) at every SIGCHLD.
pub struct Tracer {
    command: Pid,
    tasks: Tasks,
    counts: CallCounts,
    /// ptrace(2) works only from the thread that started the trace.
    _one_thread: PhantomData<*const ()>,
}

/// What [`Tracer::next_change`] has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A state change of a child. Of the traced tasks, only stops and continuing of the command are reported.
    Happened(Change),
    /// No change, but more events may be pending. Call it again after other work.
    More,
    /// No change, and no event is pending until the next SIGCHLD.
    Nothing,
}

impl Tracer {
    /// Starts a command as [`Attached::start`] does, and traces it. If tracing is not allowed, the command runs without
    /// it, and the reading has the reason.
    ///
    /// # Errors
    /// The errors of [`Attached::start`].
    pub fn start(
        command: &Attached,
        ignored: &[i32],
        schedule: &Schedule,
        joining: Joining<'_>,
    ) -> Result<(Begun, Reading<Tracer>), NotStarted> {
        let gated = command.start_gated(ignored, Some(schedule), joining, None)?;
        let seized = sys::seize(gated.pid()).map_err(|error| refused(&Root::default(), &error));
        let mut tracer = seized.map(|()| Tracer::of(gated.pid()));
        let opened = gated.open().map_err(NotStarted::NoChild)?;
        if let Ok(tracer) = &mut tracer {
            tracer.reach_exec().map_err(NotStarted::NoChild)?;
        }
        Ok((opened.begun()?, tracer))
    }

    fn of(command: Pid) -> Self {
        Tracer { command, tasks: Tasks::of(command), counts: CallCounts::default(), _one_thread: PhantomData }
    }

    /// Handles pending events without waiting, and returns the next state change.
    ///
    /// # Errors
    /// ECHILD if there is neither a child nor a traced task left.
    pub fn next_change(&mut self) -> io::Result<Next> {
        for _ in 0..STOPS_AT_ONCE {
            let happened = match self.next_stop()? {
                Some(Stop::Stopped(pid, signal, event)) => self.stopped(pid, signal, event),
                Some(Stop::Continued(pid)) => (pid == self.command).then_some(Change::Continued(pid)),
                None => match sys::next_end()? {
                    End::Of(pid) => self.ended(pid)?,
                    End::StoppedInstead => None,
                    End::None => return Ok(Next::Nothing),
                },
            };
            if let Some(change) = happened {
                return Ok(Next::Happened(change));
            }
        }
        Ok(Next::More)
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> &CallCounts {
        &self.counts
    }

    /// Kills all traced tasks.
    pub fn kill_all(&self) {
        for pid in self.tasks.all() {
            // An error means that the task has ended already.
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }

    /// Lets the command run to its exec, or to its end if the exec fails. Nothing is counted before.
    fn reach_exec(&mut self) -> io::Result<()> {
        loop {
            sys::await_change()?;
            while let Some(stop) = self.next_stop()? {
                if matches!(stop, Stop::Stopped(pid, _, EXEC) if pid == self.command) {
                    resume(self.command, 0);
                    return Ok(());
                }
                if let Stop::Stopped(pid, signal, event) = stop {
                    self.stopped(pid, signal, event);
                    self.counts = CallCounts::default();
                }
            }
            if sys::next_end()? == End::Of(self.command) {
                return Ok(());
            }
        }
    }

    /// Returns the next stop. If all children have ended, the kernel reports ECHILD, which means no stop here.
    fn next_stop(&self) -> io::Result<Option<Stop>> {
        match sys::next_stop() {
            Err(error) if error.raw_os_error() == Some(Errno::CHILD.raw_os_error()) => Ok(None),
            other => other,
        }
    }
}

/// Counts of a process tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Processes created, without the process of the command itself.
    pub forks: u64,
    /// Threads created in addition to the first thread of each process.
    pub threads: u64,
    /// Programs executed, without the command itself.
    pub execs: u64,
    /// System calls by table and number.
    calls: HashMap<(u32, u64), u64>,
}

impl CallCounts {
    /// Number of all system calls, without the one that executed the command and those before it.
    pub fn calls(&self) -> u64 {
        self.calls.values().sum()
    }

    /// System calls by name, most frequent first.
    pub fn by_name(&self) -> Vec<CallCount> {
        let named = self.calls.iter().map(|(&(table, number), &count)| (syscall_name(table, number), count));
        let mut named: Vec<CallCount> = named.map(|(name, count)| CallCount { name, count }).collect();
        named.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.name.cmp(&other.name)));
        named
    }

    fn count(&mut self, table: u32, number: u64) {
        *self.calls.entry((table, number)).or_default() += 1;
    }
}
