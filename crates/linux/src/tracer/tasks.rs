//! The tasks that are watched: which are threads, how each came to be, and what their stops and ends mean.

use std::collections::HashMap;
use std::io;

use rustix::process::Pid;

use super::{CallCounts, Tracer};
use crate::process::Change;
use crate::procfs::value_of;
use crate::sys::{self, GoOn};
use crate::{Root, procfs};

/// What a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Process,
    Thread,
}

/// All tasks that are watched. A new one is heard of twice, in any order: it stops by itself, and the one that made it
/// tells of it; it may even have ended before that.
pub(super) struct Tasks {
    alive: HashMap<Pid, Kind>,
    /// Those that were seen but that nobody has told of.
    unannounced: HashMap<Pid, Kind>,
}

impl Tasks {
    pub(super) fn of(command: Pid) -> Self {
        Tasks { alive: HashMap::from([(command, Kind::Process)]), unannounced: HashMap::new() }
    }

    pub(super) fn has(&self, pid: Pid) -> bool {
        self.alive.contains_key(&pid)
    }

    pub(super) fn is_thread(&self, pid: Pid) -> bool {
        self.alive.get(&pid) == Some(&Kind::Thread)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Pid> {
        self.alive.keys().copied()
    }

    /// A task has stopped for the first time, or once more.
    pub(super) fn seen(&mut self, pid: Pid) {
        if !self.has(pid) {
            let kind = kind_of(pid);
            self.alive.insert(pid, kind);
            self.unannounced.insert(pid, kind);
        }
    }

    /// A task tells that it has made another: here each is counted.
    pub(super) fn announced(&mut self, made: Pid, counts: &mut CallCounts) {
        let kind = self.unannounced.remove(&made).unwrap_or_else(|| {
            let kind = kind_of(made);
            self.alive.insert(made, kind);
            kind
        });
        add(kind, counts);
    }

    /// A thread executes a program: it goes on as its process's first, and the others end.
    pub(super) fn executed(&mut self, former: Pid, now: Pid) {
        if former != now {
            self.alive.remove(&former);
            self.alive.insert(now, Kind::Process);
        }
    }

    /// A task has ended. Where its maker was killed as well, nobody will tell of it.
    pub(super) fn ended(&mut self, pid: Pid, counts: &mut CallCounts) {
        self.alive.remove(&pid);
        if self.alive.is_empty() {
            self.unannounced.drain().for_each(|(_, kind)| add(kind, counts));
        }
    }
}

fn add(kind: Kind, counts: &mut CallCounts) {
    match kind {
        Kind::Process => counts.forks += 1,
        Kind::Thread => counts.threads += 1,
    }
}

/// What a task that is stopped is; one that was killed meanwhile passes for a process.
fn kind_of(pid: Pid) -> Kind {
    let number = pid.as_raw_nonzero().get();
    let status = Root::default().read(&format!("/proc/{number}/status")).unwrap_or_default();
    match value_of(&status, "Tgid").and_then(|process| process.parse::<i32>().ok()) {
        Some(process) if process != number => Kind::Thread,
        _ => Kind::Process,
    }
}

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
