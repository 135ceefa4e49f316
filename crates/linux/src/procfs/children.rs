//! The descendants of a process.

use std::collections::{HashMap, HashSet, VecDeque};

use steady_model::{Absent, Reading};

use super::{number, process_stat};
use crate::Root;

/// Returns all processes below `pid`, breadth first, including zombies but without `pid`. A process that does not exist
/// is an error.
///
/// Sources: `/proc/PID/task/TID/children` if the kernel has it (CONFIG_PROC_CHILDREN), else the parents of all
/// processes. Neither is an atomic snapshot: if the tree forks while it is read, processes can be missing. To kill a
/// tree, repeat this until nothing is left.
pub fn descendants(root: &Root, pid: i32) -> Reading<Vec<i32>> {
    let main_thread = format!("/proc/{pid}/task/{pid}");
    if root.has(&format!("{main_thread}/children")) {
        return Ok(breadth_first(pid, |parent| listed_children(root, parent)));
    }
    if !root.has(&format!("/proc/{pid}")) {
        return Err(Absent::because(format!("process {pid} does not exist")));
    }
    let families = families(root)?;
    Ok(breadth_first(pid, |parent| families.get(&parent).cloned().unwrap_or_default()))
}

/// Returns the tree below `first`. Lists each process once, even if the source has cycles.
fn breadth_first(first: i32, children: impl Fn(i32) -> Vec<i32>) -> Vec<i32> {
    let mut seen = HashSet::from([first]);
    let mut waiting = VecDeque::from([first]);
    let mut found = Vec::new();
    while let Some(parent) = waiting.pop_front() {
        for child in children(parent) {
            if seen.insert(child) {
                found.push(child);
                waiting.push_back(child);
            }
        }
    }
    found
}

/// Returns the children of all threads of `pid`; none if the process does not exist.
fn listed_children(root: &Root, pid: i32) -> Vec<i32> {
    let threads = root.numbered(&format!("/proc/{pid}/task")).unwrap_or_default();
    let lists = threads.iter().filter_map(|thread| root.read(&format!("/proc/{pid}/task/{thread}/children")).ok());
    lists.flat_map(|list| parse_children(&list)).collect()
}

/// Parses process ids separated by blanks. Skips everything else.
fn parse_children(text: &str) -> Vec<i32> {
    text.split_ascii_whitespace().filter_map(|field| number(Some(field), "child").ok()).filter(|&pid| pid > 0).collect()
}

/// Returns the children of every process that has some. Skips processes that end during the call.
fn families(root: &Root) -> Reading<HashMap<i32, Vec<i32>>> {
    let mut families: HashMap<i32, Vec<i32>> = HashMap::new();
    for pid in root.numbered("/proc")? {
        if let Ok(stat) = process_stat(root, pid) {
            families.entry(stat.parent).or_default().push(pid);
        }
    }
    Ok(families)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trees::tree;

    #[test]
    fn descendants_are_found_with_and_without_lists_of_children() {
        assert_eq!(descendants(&tree("vm"), 100).unwrap(), [101, 103, 102], "from the parents of all processes");
        assert_eq!(descendants(&tree("laptop-smt"), 100).unwrap(), [101, 103, 102], "from lists of children");
        assert!(descendants(&tree("vm"), 102).unwrap().is_empty());
        assert!(descendants(&tree("vm"), 999).unwrap_err().0.contains("999"));
    }

    #[test]
    fn cycles_end() {
        assert_eq!(breadth_first(1, |pid| vec![pid % 3 + 1, 1]), [2, 3]);
    }

    #[test]
    fn own_children_are_found() {
        let mut child = std::process::Command::new("sleep").arg("5").spawn().unwrap();
        let found = descendants(&Root::default(), std::process::id() as i32).unwrap();
        assert!(found.contains(&(child.id() as i32)), "{found:?}");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(\\PC|[0-9 -])*") {
            prop_assert!(parse_children(&text).iter().all(|&pid| pid > 0));
        }
    }
}
