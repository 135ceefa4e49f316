//! The traced tasks: which are threads, how each was created, and what their stops and ends mean.

use std::collections::HashMap;
use std::io;

use rustix::process::Pid;

use super::{CallCounts, Tracer};
use crate::process::Change;
use crate::procfs::value_of;
use crate::sys::{self, GoOn};
use crate::{Root, procfs};

/// Kind of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Process,
    Thread,
}

/// All traced tasks. A new task produces two events, in any order: its own first stop, and the event of the task that
/// created it. It may even have ended before the second one.
pub(super) struct Tasks {
    alive: HashMap<Pid, Kind>,
    /// Tasks that have stopped, but whose creation has not been reported yet.
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

    /// Records a stop of a task, which may be its first.
    pub(super) fn seen(&mut self, pid: Pid) {
        if !self.has(pid) {
            let kind = kind_of(pid);
            self.alive.insert(pid, kind);
            self.unannounced.insert(pid, kind);
        }
    }

    /// Records that a task created another one, and counts the new one.
    pub(super) fn announced(&mut self, made: Pid, counts: &mut CallCounts) {
        let kind = self.unannounced.remove(&made).unwrap_or_else(|| {
            let kind = kind_of(made);
            self.alive.insert(made, kind);
            kind
        });
        add(kind, counts);
    }

    /// Records that a thread executed a program. It continues as the first thread of its process, and the other threads
    /// end.
    pub(super) fn executed(&mut self, former: Pid, now: Pid) {
        if former != now {
            self.alive.remove(&former);
            self.alive.insert(now, Kind::Process);
        }
    }

    /// Records the end of a task. After the last one, counts the tasks whose creation was never reported because their
    /// creators were killed.
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

/// Kind of a stopped task. A task that was killed counts as a process.
fn kind_of(pid: Pid) -> Kind {
    let number = pid.as_raw_nonzero().get();
    let status = Root::default().read(&format!("/proc/{number}/status")).unwrap_or_default();
    match value_of(&status, "Tgid").and_then(|process| process.parse::<i32>().ok()) {
        Some(process) if process != number => Kind::Thread,
        _ => Kind::Process,
    }
}

/// ptrace(2) events: three kinds of new tasks, an executed program, and a stop without a signal.
const FORK: i32 = libc::PTRACE_EVENT_FORK;
const VFORK: i32 = libc::PTRACE_EVENT_VFORK;
const CLONE: i32 = libc::PTRACE_EVENT_CLONE;
pub(super) const EXEC: i32 = libc::PTRACE_EVENT_EXEC;
const STOP: i32 = libc::PTRACE_EVENT_STOP;
/// Stop signal at a system call (`PTRACE_O_TRACESYSGOOD`).
const AT_CALL: i32 = libc::SIGTRAP | 0x80;
/// The signals that stop a process.
const STOPPING: [i32; 4] = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

impl Tracer {
    /// Records a stop, and continues the task.
    pub(super) fn stopped(&mut self, pid: Pid, signal: i32, event: i32) -> Option<Change> {
        match event {
            0 if signal == AT_CALL => self.at_call(pid),
            // This task is not traced, because it was created with CLONE_UNTRACED.
            0 if !self.tasks.has(pid) => return None,
            0 => resume(pid, signal),
            STOP => return self.stopped_without_signal(pid, signal),
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
        // An error means that the task was killed.
        if let Ok(Some((table, number))) = sys::entered_call(pid) {
            self.counts.count(table, number);
        }
        resume(pid, 0);
    }

    /// Handles a stop without a signal: a new task, a stop by job control, or a task continued after such a stop.
    fn stopped_without_signal(&mut self, pid: Pid, signal: i32) -> Option<Change> {
        self.tasks.seen(pid);
        if !STOPPING.contains(&signal) {
            resume(pid, 0);
            return None;
        }
        // An error means that the task was killed.
        let _ = sys::go_on(pid, GoOn::Stopped);
        (pid == self.command).then_some(Change::Stopped(pid, signal))
    }

    /// Reaps a task that has ended. If it is traced but not a child of this process, its own parent learns of its end
    /// now.
    pub(super) fn ended(&mut self, pid: Pid) -> io::Result<Option<Change>> {
        let own = self.is_own_child(pid);
        let reaped = sys::reap(pid)?;
        self.tasks.ended(pid, &mut self.counts);
        Ok(reaped.filter(|_| own).map(Change::Ended))
    }

    /// Returns whether a task that has ended is a process and a child of this process.
    fn is_own_child(&self, pid: Pid) -> bool {
        let own = rustix::process::getpid();
        let number = pid.as_raw_nonzero().get();
        !self.tasks.is_thread(pid)
            && procfs::process_stat(&Root::default(), number)
                .is_ok_and(|stat| stat.parent == own.as_raw_nonzero().get())
    }
}

/// Continues a task to its next stop. An error means that the task was killed.
pub(super) fn resume(pid: Pid, signal: i32) {
    let _ = sys::go_on(pid, GoOn::ToNextCall(signal));
}
