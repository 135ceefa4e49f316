//! Counting the system calls of a process tree by name, by stopping it at each: ptrace(2).
//!
//! Each system call stops its thread twice, so times that are measured meanwhile are not the program's own. What is
//! watched is killed when the thread that watches it ends, however it ends.
//!
//! What a watched program sees: as any under ptrace(2), it cannot be watched by another (a debugger, `strace`); programs that
//! change their user at their exec do so only if the watcher has CAP_SYS_PTRACE. Signals, stops and continuing reach it
//! as without. Tasks that are made so that they are not watched (`CLONE_UNTRACED`) are not counted.

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

/// After so many stops, others have their turn.
const STOPS_AT_ONCE: u32 = 256;

/// Watches the tree of one command and counts what it asks of the kernel, from its exec on. To be driven by the thread
/// that started it, which asks for the [`next_change`](Tracer::next_change) whenever it hears SIGCHLD.
pub struct Tracer {
    command: Pid,
    tasks: Tasks,
    counts: CallCounts,
    /// The kernel knows one thread as the watcher.
    _one_thread: PhantomData<*const ()>,
}

/// What there is to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This has happened to a child; of what is watched, only the command's stops and continuing are told.
    Happened(Change),
    /// Nothing has; there is more to look at, once others had their turn.
    More,
    /// Nothing has, and nothing is to be done until the next SIGCHLD.
    Nothing,
}

impl Tracer {
    /// Starts a command as [`Attached::start`] does, watched. Where watching is not allowed it runs all the same, and the
    /// reading says why it is not watched.
    ///
    /// # Errors
    /// What [`Attached::start`] says.
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

    /// What has happened, without waiting.
    ///
    /// # Errors
    /// ECHILD if there is no child any more, and nothing that is watched.
    pub fn next_change(&mut self) -> io::Result<Next> {
        for _ in 0..STOPS_AT_ONCE {
            let happened = match self.next_stop()? {
                Some(Stop::Stopped(pid, signal, event)) => self.stopped(pid, signal, event),
                Some(Stop::Continued(pid)) => (pid == self.command).then_some(Change::Continued(pid)),
                None => match sys::next_end()? {
                    End::Of(pid) => self.ended(pid)?,
                    End::StoppedMeanwhile => None,
                    End::None => return Ok(Next::Nothing),
                },
            };
            if let Some(change) = happened {
                return Ok(Next::Happened(change));
            }
        }
        Ok(Next::More)
    }

    /// What has been counted so far.
    pub fn counts(&self) -> &CallCounts {
        &self.counts
    }

    /// Kills all that is watched.
    pub fn kill_all(&self) {
        for pid in self.tasks.all() {
            // An error means that it has ended already.
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }

    /// Lets the command run to its exec, or to its end where that fails; nothing is counted before.
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

    /// The kernel says that there is no child where those that are left have ended.
    fn next_stop(&self) -> io::Result<Option<Stop>> {
        match sys::next_stop() {
            Err(error) if error.raw_os_error() == Some(Errno::CHILD.raw_os_error()) => Ok(None),
            other => other,
        }
    }
}

/// How often a tree asked for what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Processes that were made, the command's own not counted.
    pub forks: u64,
    /// Threads that were made beside the first of each process.
    pub threads: u64,
    /// Programs that were executed, the command's own not counted.
    pub execs: u64,
    /// By table and number.
    calls: HashMap<(u32, u64), u64>,
}

impl CallCounts {
    /// System calls in all. The one that executed the command is not among them, nor are those before it.
    pub fn calls(&self) -> u64 {
        self.calls.values().sum()
    }

    /// System calls by name, the most frequent first.
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
