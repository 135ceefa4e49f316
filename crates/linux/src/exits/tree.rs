//! Which of the tasks that have ended belong to a tree.

use std::collections::HashMap;

use super::record::TaskExit;

/// The records of those that descend from process `root`, in their order; its own threads are not among them. What a
/// subreaper has taken in counts as its own.
///
/// A record names the parent that its process had at its end, and who had made a process that another one took in is
/// not known any more. So a tree is whole if `root` is the subreaper of all of it, and nothing of it is left.
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
            // Until it is known, a chain that comes back to itself leads nowhere.
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

/// The process that a record is of; where that is not told, the thread stands for itself.
fn process(record: &TaskExit) -> i32 {
    record.tgid.unwrap_or(record.pid)
}

/// Which of the records at `places`, ascending, is of the parent of the task at `place`. A parent that has not ended has
/// its record later; the one before may be of a parent that was ending meanwhile, or whose number is used anew.
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
            run_delay: Err(Absent::because("nobody asked")),
            last_of_process: Some(pid == tgid),
            never_executed: false,
        }
    }

    fn pids(records: &[TaskExit], root: i32) -> Vec<i32> {
        tree_of(records, root).into_iter().map(|record| record.pid).collect()
    }

    #[test]
    fn descendants_are_found_whoever_ends_first() {
        let records = [exit(5, 5, 4), exit(9, 9, 8), exit(4, 4, 3), exit(3, 3, 1), exit(6, 6, 4)];
        assert_eq!(pids(&records, 1), [5, 4, 3, 6], "6 was still told to be a child of 4, which had just ended");
        assert_eq!(pids(&records, 3), [5, 4, 6]);
        assert_eq!(pids(&records, 8), [9]);
        assert!(pids(&records, 2).is_empty());
    }

    #[test]
    fn threads_belong_to_their_process() {
        // The first thread ends before its process's others, and before a child that another of them made.
        let records = [exit(10, 10, 1), exit(20, 20, 10), exit(11, 10, 1), exit(12, 10, 1)];
        assert_eq!(pids(&records, 1), [10, 20, 11, 12]);
    }

    #[test]
    fn what_a_subreaper_took_in_is_its_own() {
        // 5 was made by 4, which ended before; the subreaper 1 is its parent now.
        assert_eq!(pids(&[exit(4, 4, 1), exit(5, 5, 1)], 1), [4, 5]);
    }

    #[test]
    fn a_number_that_is_used_anew_is_another_process() {
        // 4 is a child of the tree's, then, when it has ended, one of somebody else's.
        let records = [exit(5, 5, 4), exit(4, 4, 1), exit(6, 6, 4), exit(4, 4, 99)];
        assert_eq!(pids(&records, 1), [5, 4]);
        assert_eq!(pids(&records, 99), [6, 4]);
    }

    #[test]
    fn without_the_processes_threads_stand_for_themselves() {
        let old = |pid, parent| TaskExit { tgid: None, last_of_process: None, ..exit(pid, pid, parent) };
        assert_eq!(pids(&[old(11, 1), old(12, 10), old(10, 1)], 1), [11, 12, 10]);
    }

    proptest! {
        #[test]
        fn no_chain_holds_it_up(links in proptest::collection::vec((1_i32..9, 1_i32..9, 1_i32..9), 0..30)) {
            let records: Vec<TaskExit> = links.iter().map(|&(pid, tgid, parent)| exit(pid, tgid, parent)).collect();
            let found = tree_of(&records, 1);
            prop_assert!(found.len() <= records.len());
            let children = records.iter().filter(|record| record.parent == 1);
            prop_assert!(children.clone().all(|child| found.contains(&child)));
        }
    }
}
