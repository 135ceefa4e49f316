//! What a stop or an end means, and how it goes on from there.

use std::io;

use rustix::process::Pid;

use super::Tracer;
use crate::process::Change;
use crate::sys::{self, GoOn};
use crate::{Root, procfs};

/// Events of ptrace(2): a new task in three kinds, a program executed, a stop that is not for a signal.
const FORK: i32 = libc::PTRACE_EVENT_FORK;
const VFORK: i32 = libc::PTRACE_EVENT_VFORK;
const CLONE: i32 = libc::PTRACE_EVENT_CLONE;
pub(super) const EXEC: i32 = libc::PTRACE_EVENT_EXEC;
const STOP: i32 = libc::PTRACE_EVENT_STOP;
/// A stop at a system call.
const AT_CALL: i32 = libc::SIGTRAP | 0x80;
/// The signals that stop a process.
const STOPPING: [i32; 4] = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

impl Tracer {
    /// Takes note of a stop, and lets the task go on.
    pub(super) fn stopped(&mut self, pid: Pid, signal: i32, event: i32) -> Option<Change> {
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
    pub(super) fn ended(&mut self, pid: Pid) -> io::Result<Option<Change>> {
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
pub(super) fn resume(pid: Pid, signal: i32) {
    let _ = sys::go_on(pid, GoOn::ToNextCall(signal));
}
