//! Exit records of the tasks of a process tree, filtered from the records of the whole host.

use std::collections::HashSet;

use steady_linux::exits::{Listener, TaskExit, tree_of};
use steady_linux::{Root, procfs};
use steady_model::{Absent, Nanos, Reading};

/// Number of records from which on records of other processes are removed.
const MANY: usize = 20_000;

/// Records of all tasks that have ended since the start, without those that cannot be part of the tree.
pub(super) struct Ends {
    listener: Listener,
    records: Vec<TaskExit>,
    prune_at: usize,
    /// ID of the guardian, which is the subreaper of the tree.
    own: i32,
    ended: EndedTasks,
}

/// The tasks of the tree whose records were read while the command ran.
#[derive(Default)]
struct EndedTasks {
    /// Number of records that have been searched for tasks of the tree.
    searched: usize,
    /// IDs of the tasks that may still be zombies.
    ids: HashSet<i32>,
    waited: Nanos,
}

impl EndedTasks {
    /// Searches the records that have arrived since the last search. `alive` lists the processes of the tree, read
    /// before the records were.
    fn search(&mut self, records: &[TaskExit], own: i32, alive: &[i32]) {
        for end in of_tree(records[self.searched..].to_vec(), own, alive) {
            self.ids.insert(end.pid);
            self.waited += end.run_delay.unwrap_or_default();
        }
        self.searched = records.len();
    }

    /// Forgets the tasks that are not `listed` any more: a task that gets one of their IDs later is another one. Call
    /// this before a search: it may find tasks that started after the threads were listed.
    fn forget_reaped(&mut self, listed: &[i32]) {
        let listed: HashSet<i32> = listed.iter().copied().collect();
        self.ids.retain(|id| listed.contains(id));
    }
}

impl Ends {
    /// Subscribes to exit records. Absent if the kernel has none or this user may not read them.
    pub(super) fn open() -> Reading<Self> {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        Ok(Ends { listener: Listener::open()?, records: Vec::new(), prune_at: MANY, own, ended: EndedTasks::default() })
    }

    /// Call this once `command` runs. It removes children of the guardian that never executed a program: those were
    /// failed attempts to start the command.
    pub(super) fn begun(&mut self, command: i32) {
        self.records.extend(self.listener.take());
        let (own, command) = (self.own, command);
        self.records.retain(|end| end.parent != own || end.pid == command || !end.never_executed);
    }

    /// Reads the records that have arrived, to keep the socket buffer from overflowing.
    pub(super) fn receive(&mut self) {
        self.records.extend(self.listener.take());
        if self.records.len() >= self.prune_at {
            self.prune();
        }
    }

    /// Reads the records that have arrived, and returns how long the tasks of the tree that have ended had waited for a
    /// CPU. Removes these tasks from `threads`, which may still show them as zombies. `alive` lists the processes of
    /// the tree.
    pub(super) fn waited(&mut self, alive: &[i32], threads: &mut Vec<i32>) -> Nanos {
        self.ended.forget_reaped(threads);
        self.receive();
        self.ended.search(&self.records, self.own, alive);
        threads.retain(|thread| !self.ended.ids.contains(thread));
        self.ended.waited
    }

    /// Removes records that are not of the tree. A living process of the tree descends from the guardian. For a process
    /// that has ended, its record names the parent, which is checked in the same way. Records that arrive while /proc
    /// is read are therefore included.
    fn prune(&mut self) {
        let alive = procfs::descendants(&Root::default(), self.own).unwrap_or_default();
        self.records.extend(self.listener.take());
        self.ended.search(&self.records, self.own, &alive);
        self.records = of_tree(std::mem::take(&mut self.records), self.own, &alive);
        self.ended.searched = self.records.len();
        self.prune_at = MANY.max(2 * self.records.len());
    }

    /// Returns the records of the tree. All processes of the tree must have ended.
    pub(super) fn tree(&mut self) -> Reading<Vec<TaskExit>> {
        loop {
            let received = self.listener.take();
            if received.is_empty() {
                break;
            }
            self.records.extend(received);
        }
        match self.listener.lost() {
            0 => Ok(of_tree(std::mem::take(&mut self.records), self.own, &[])),
            _ => Err(Absent::because("too many tasks ended at the same time, and the kernel lost some exit records")),
        }
    }
}

/// Filters the records of tasks that descend from the process `own`, or from one of its descendants `alive`.
fn of_tree(mut records: Vec<TaskExit>, own: i32, alive: &[i32]) -> Vec<TaskExit> {
    let Some(any) = records.first().cloned() else { return records };
    // A process that is alive has no record yet. It gets a temporary one, as if it ended now.
    let ends = alive.iter().map(|&pid| TaskExit { pid, tgid: Some(pid), parent: own, ..any.clone() });
    records.extend(ends);
    let mut tree: Vec<TaskExit> = tree_of(&records, own).into_iter().cloned().collect();
    tree.truncate(tree.len() - alive.len());
    tree
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::account::tests::task;

    fn pids(records: &[(i32, i32)], alive: &[i32]) -> Vec<i32> {
        let records = records.iter().map(|&(pid, parent)| TaskExit { parent, ..task(pid, pid) }).collect();
        of_tree(records, 10, alive).iter().map(|end| end.pid).collect()
    }

    #[test]
    fn the_tree_consists_of_descendants_of_the_subreaper() {
        assert_eq!(pids(&[(31, 20), (40, 1), (20, 10), (41, 40), (50, 10)], &[]), [31, 20, 50]);
        assert_eq!(pids(&[], &[20]), [] as [i32; 0]);
    }

    #[test]
    fn each_ended_task_of_the_tree_counts_once() {
        let record = |pid, parent| TaskExit { parent, ..task(pid, pid) };
        let mut records = vec![record(31, 20), record(40, 1)];
        let mut ended = EndedTasks::default();
        let mut waited = |records: &[TaskExit]| {
            ended.search(records, 10, &[20]);
            (ended.waited.0 / 1_000_000, ended.ids.len())
        };
        assert_eq!(waited(&records), (10, 1));
        records.extend([record(32, 20), record(33, 32), record(41, 40)]);
        assert_eq!(waited(&records), (30, 3), "each record adds 10 ms");
        assert_eq!(waited(&records), (30, 3));
    }

    #[test]
    fn the_id_of_a_reaped_task_may_be_used_again() {
        let record = |pid| TaskExit { parent: 20, ..task(pid, pid) };
        let mut ended = EndedTasks::default();
        ended.search(&[record(31), record(32)], 10, &[20]);
        ended.forget_reaped(&[20, 32]);
        assert_eq!(ended.ids, HashSet::from([32]), "a zombie is still listed");
    }

    #[test]
    fn records_of_children_of_living_processes_are_kept() {
        assert_eq!(pids(&[(31, 20), (41, 40), (32, 31)], &[20]), [31, 32]);
        assert_eq!(pids(&[(32, 31), (31, 20), (41, 40)], &[20, 21]), [32, 31]);
        assert_eq!(pids(&[(31, 20)], &[]), [] as [i32; 0], "its parent has ended and was not in the tree");
    }
}
