//! Selects the exit records of a process tree.

use std::collections::HashMap;

use super::record::TaskExit;

/// Returns the records of the descendants of process `root`, in their order, without the threads of `root` itself.
/// Processes that `root` adopted as a subreaper count as its descendants.
///
/// A record has the parent that the process had when it ended. The original parent of an adopted process is not known.
/// The result is therefore complete only if `root` is the subreaper of the whole tree and no process of the tree is
/// left.
pub fn tree_of(records: &[TaskExit], root: i32) -> Vec<&TaskExit> {
    let mut ends: HashMap<i32, Vec<usize>> = HashMap::new();
    for (place, record) in records.iter().enumerate() {
        ends.entry(process(record)).or_default().push(place);
    }
    let mut known: Vec<Option<bool>> = vec![None; records.len()];
    let mut chain = Vec::new();
    for place in 0..records.len() {
        let mut at = place;
        let descends = loop {
            if let Some(known) = known[at] {
                break known;
            }
            chain.push(at);
            // Assume no until it is known, so that a cyclic chain ends.
            known[at] = Some(false);
            let record = &records[at];
            if record.parent == root {
                break true;
            }
            match ends.get(&record.parent).and_then(|places| parent_of(at, places)) {
                Some(parent) => at = parent,
                None => break false,
            }
        };
        chain.drain(..).for_each(|place| known[place] = Some(descends));
    }
    records.iter().zip(known).filter(|(_, descends)| *descends == Some(true)).map(|(record, _)| record).collect()
}

/// Returns the process of a record. If the process id is not known, a thread counts as its own process.
fn process(record: &TaskExit) -> i32 {
    record.tgid.unwrap_or(record.pid)
}

/// Returns which of the records at `places` (ascending) belongs to the parent of the task at `place`. A parent that
/// ends after the task has a later record. An earlier record may belong to a parent that was ending at the same time,
/// or to an earlier process with the same id.
fn parent_of(place: usize, places: &[usize]) -> Option<usize> {
    let later = places.partition_point(|&other| other <= place);
    places.get(later).or_else(|| places.last()).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use steady_model::{Absent, Nanos, Timestamp};

    use super::*;

    fn exit(pid: i32, tgid: i32, parent: i32) -> TaskExit {
        TaskExit {
            pid,
            tgid: Some(tgid),
            parent,
            name: "x".to_owned(),
            began: Timestamp(0),
            wall: Nanos(1),
            cpu: Nanos(1),
            user: Nanos::ZERO,
            system: Nanos::ZERO,
            minor_faults: 0,
            major_faults: 0,
            voluntary_switches: 0,
            involuntary_switches: 0,
            run_delay: Err(Absent::because("not needed in this test")),
            last_of_process: Some(pid == tgid),
            never_executed: false,
        }
    }

    fn pids(records: &[TaskExit], root: i32) -> Vec<i32> {
        tree_of(records, root).into_iter().map(|record| record.pid).collect()
    }

    #[test]
    fn descendants_are_found_in_any_order_of_ends() {
        let records = [exit(5, 5, 4), exit(9, 9, 8), exit(4, 4, 3), exit(3, 3, 1), exit(6, 6, 4)];
        assert_eq!(pids(&records, 1), [5, 4, 3, 6], "the record of 6 still has the parent 4, which had just ended");
        assert_eq!(pids(&records, 3), [5, 4, 6]);
        assert_eq!(pids(&records, 8), [9]);
        assert!(pids(&records, 2).is_empty());
    }

    #[test]
    fn threads_belong_to_their_process() {
        // The first thread ends before the other threads of its process, and before a child of one of them.
        let records = [exit(10, 10, 1), exit(20, 20, 10), exit(11, 10, 1), exit(12, 10, 1)];
        assert_eq!(pids(&records, 1), [10, 20, 11, 12]);
    }

    #[test]
    fn adopted_processes_belong_to_their_subreaper() {
        // Process 4 created 5 and ended before it. Then the subreaper 1 is the parent of 5.
        assert_eq!(pids(&[exit(4, 4, 1), exit(5, 5, 1)], 1), [4, 5]);
    }

    #[test]
    fn a_reused_process_id_is_another_process() {
        // 4 is first a process of the tree. After its end, the id belongs to a process of another tree.
        let records = [exit(5, 5, 4), exit(4, 4, 1), exit(6, 6, 4), exit(4, 4, 99)];
        assert_eq!(pids(&records, 1), [5, 4]);
        assert_eq!(pids(&records, 99), [6, 4]);
    }

    #[test]
    fn without_process_ids_threads_count_as_processes() {
        let old = |pid, parent| TaskExit { tgid: None, last_of_process: None, ..exit(pid, pid, parent) };
        assert_eq!(pids(&[old(11, 1), old(12, 10), old(10, 1)], 1), [11, 12, 10]);
    }

    proptest! {
        #[test]
        fn cyclic_chains_end(links in proptest::collection::vec((1_i32..9, 1_i32..9, 1_i32..9), 0..30)) {
            let records: Vec<TaskExit> = links.iter().map(|&(pid, tgid, parent)| exit(pid, tgid, parent)).collect();
            let found = tree_of(&records, 1);
            prop_assert!(found.len() <= records.len());
            let children = records.iter().filter(|record| record.parent == 1);
            prop_assert!(children.clone().all(|child| found.contains(&child)));
        }
    }
}
