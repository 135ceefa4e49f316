//! The ends of a tree's tasks, as the kernel reports them among those of the whole host.

use steady_linux::exits::{Listener, TaskExit, tree_of};
use steady_linux::{Root, procfs};
use steady_model::{Absent, Reading};

/// So many records are kept before those of others are looked for and left out.
const MANY: usize = 20_000;

/// Records of all tasks that have ended since the beginning, less those that surely are no part of the tree.
pub(super) struct Ends {
    listener: Listener,
    records: Vec<TaskExit>,
    prune_at: usize,
    /// The guardian: the subreaper of the tree.
    own: i32,
}

impl Ends {
    /// Begins to listen; absent where the kernel does not tell, or not this user.
    pub(super) fn open() -> Reading<Self> {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        Ok(Ends { listener: Listener::open()?, records: Vec::new(), prune_at: MANY, own })
    }

    /// To be called once `command` runs: a child of the guardian's that never became a program was an attempt to start it.
    pub(super) fn begun(&mut self, command: i32) {
        self.records.extend(self.listener.take());
        let (own, command) = (self.own, command);
        self.records.retain(|end| end.parent != own || end.pid == command || !end.never_executed);
    }

    /// Takes what has come in, before there is too much of it.
    pub(super) fn take(&mut self) {
        self.records.extend(self.listener.take());
        if self.records.len() >= self.prune_at {
            self.prune();
        }
    }

    /// Leaves out what is not of the tree. A process of the tree lives, and then it descends from this one, or its record
    /// has come, and then its parent's is looked at; so what has come until the tree was looked at is looked at with it.
    fn prune(&mut self) {
        let alive = procfs::descendants(&Root::default(), self.own).unwrap_or_default();
        self.records.extend(self.listener.take());
        self.records = of_tree(std::mem::take(&mut self.records), self.own, &alive);
        self.prune_at = MANY.max(2 * self.records.len());
    }

    /// The records of the tree, of which nothing is left.
    pub(super) fn tree(&mut self) -> Reading<Vec<TaskExit>> {
        loop {
            let taken = self.listener.take();
            if taken.is_empty() {
                break;
            }
            self.records.extend(taken);
        }
        match self.listener.lost() {
            0 => Ok(of_tree(std::mem::take(&mut self.records), self.own, &[])),
            _ => Err(Absent::because("so many tasks ended at once that the kernel lost some of their exit records")),
        }
    }
}

/// Those of `records` that descend from process `own`, or from one of `alive`, which do.
fn of_tree(mut records: Vec<TaskExit>, own: i32, alive: &[i32]) -> Vec<TaskExit> {
    let Some(any) = records.first().cloned() else { return records };
    // A process that lives has no record yet: one is made for it, as if it ended now.
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
    fn a_tree_is_what_descends_from_its_subreaper() {
        assert_eq!(pids(&[(31, 20), (40, 1), (20, 10), (41, 40), (50, 10)], &[]), [31, 20, 50]);
        assert_eq!(pids(&[], &[20]), [] as [i32; 0]);
    }

    #[test]
    fn children_of_those_that_live_are_kept_until_then() {
        assert_eq!(pids(&[(31, 20), (41, 40), (32, 31)], &[20]), [31, 32]);
        assert_eq!(pids(&[(32, 31), (31, 20), (41, 40)], &[20, 21]), [32, 31]);
        assert_eq!(pids(&[(31, 20)], &[]), [] as [i32; 0], "its parent is gone, and was none of the tree");
    }
}
