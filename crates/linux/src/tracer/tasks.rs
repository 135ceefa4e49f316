//! The tasks that are watched: which are threads, and how each came to be.

use std::collections::HashMap;

use rustix::process::Pid;

use super::counts::CallCounts;
use crate::Root;
use crate::procfs::value_of;

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
