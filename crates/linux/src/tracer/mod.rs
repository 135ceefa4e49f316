//! Counting the system calls of a process tree by name, by stopping it at each: ptrace(2).
//!
//! Each system call stops its thread twice, so times that are measured meanwhile are not the program's own. What is
//! watched is killed when the thread that watches it ends, however it ends.
//!
//! What a watched program sees: as any under ptrace(2), it cannot be watched by another (a debugger, `strace`); programs that
//! change their user at their exec do so only if the watcher has CAP_SYS_PTRACE. Signals, stops and continuing reach it
//! as without.

mod counts;
mod run;
mod tasks;

pub use counts::CallCounts;
pub use run::{Counted, count};

use std::io;
use std::marker::PhantomData;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use steady_model::{Absent, Reading};

use crate::process::{Begun, Change, Joining, NotStarted, Schedule};
use crate::sys::{self, Attached, End, GoOn, Stop};
use crate::{Root, procfs};
use tasks::Tasks;

/// Events of ptrace(2): a new task in three kinds, a program executed, a stop that is not for a signal.
const FORK: i32 = libc::PTRACE_EVENT_FORK;
const VFORK: i32 = libc::PTRACE_EVENT_VFORK;
const CLONE: i32 = libc::PTRACE_EVENT_CLONE;
const EXEC: i32 = libc::PTRACE_EVENT_EXEC;
const STOP: i32 = libc::PTRACE_EVENT_STOP;
/// A stop at a system call.
const AT_CALL: i32 = libc::SIGTRAP | 0x80;
/// The signals that stop a process.
const STOPPING: [i32; 4] = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
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

    /// Takes note of a stop, and lets the task go on.
    fn stopped(&mut self, pid: Pid, signal: i32, event: i32) -> Option<Change> {
        match event {
            0 if signal == AT_CALL => self.at_call(pid),
            // Not watched: one that was made so that it is not.
            0 if !self.tasks.has(pid) => return None,
            0 => resume(pid, signal),
            STOP => return self.held(pid, signal),
            FORK | VFORK | CLONE => {
                if let Ok(Some(made)) = sys::event_task(pid) {
                    self.tasks.announced(made, &mut self.counts);
                }
                resume(pid, 0);
            }
            EXEC => {
                if let Ok(Some(former)) = sys::event_task(pid) {
                    self.tasks.executed(former, pid);
                }
                self.counts.execs += 1;
                resume(pid, 0);
            }
            _ => resume(pid, 0),
        }
        None
    }

    fn at_call(&mut self, pid: Pid) {
        // An error means that it was killed meanwhile.
        if let Ok(Some((table, number))) = sys::entered_call(pid) {
            self.counts.count(table, number);
        }
        resume(pid, 0);
    }

    /// A task that is new, that was stopped as a program is by job control, or that is continued from there.
    fn held(&mut self, pid: Pid, signal: i32) -> Option<Change> {
        self.tasks.seen(pid);
        if !STOPPING.contains(&signal) {
            resume(pid, 0);
            return None;
        }
        // An error means that it was killed meanwhile.
        let _ = sys::go_on(pid, GoOn::Stopped);
        (pid == self.command).then_some(Change::Stopped(pid, signal))
    }

    /// Reaps what has ended. Of what is watched but another's child, its own parent learns now.
    fn ended(&mut self, pid: Pid) -> io::Result<Option<Change>> {
        let own = self.is_own_child(pid);
        let reaped = sys::reap(pid)?;
        self.tasks.ended(pid, &mut self.counts);
        Ok(reaped.filter(|_| own).map(Change::Ended))
    }

    /// Whether a task that has ended is a process, and a child of this one.
    fn is_own_child(&self, pid: Pid) -> bool {
        let own = rustix::process::getpid();
        let number = pid.as_raw_nonzero().get();
        !self.tasks.is_thread(pid)
            && procfs::process_stat(&Root::default(), number)
                .is_ok_and(|stat| stat.parent == own.as_raw_nonzero().get())
    }
}

/// To the next stop; an error means that it was killed meanwhile.
fn resume(pid: Pid, signal: i32) {
    let _ = sys::go_on(pid, GoOn::ToNextCall(signal));
}

/// Why nothing can be watched.
fn refused(root: &Root, error: &io::Error) -> Absent {
    const SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";
    let scope = root.read_line(SCOPE).ok().and_then(|scope| scope.parse::<u32>().ok()).unwrap_or(0);
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::PERM | Errno::ACCESS) if scope > 1 => {
            Absent::because(format!("ptrace(2) is forbidden here: kernel.yama.ptrace_scope is {scope}"))
        }
        Some(Errno::PERM | Errno::ACCESS | Errno::NOSYS) => {
            Absent::because("a sandbox, or another tracer, keeps ptrace(2) from watching the command")
        }
        _ => Absent::because(format!("ptrace(2): {error}")),
    }
}
