//! The command's process tree: who is in it, and telling all of it something.

use rustix::process::{Pid, Signal};
use steady_linux::cgroup::OwnGroup;
use steady_linux::{Root, procfs};

/// All that descends from this process, and what is in the control group, if there is one.
pub fn members(group: Option<&OwnGroup>) -> Vec<i32> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let mut found = procfs::descendants(&Root::default(), own).unwrap_or_default();
    found.extend(group.map(OwnGroup::processes).unwrap_or_default());
    found.sort_unstable();
    found.dedup();
    found
}

/// Asks all of it to end. What is stopped goes on, for it could not hear that otherwise.
pub(super) fn ask_to_end(group: Option<&OwnGroup>) {
    for pid in members(group).into_iter().filter_map(Pid::from_raw) {
        // An error means that it has ended already.
        let _ = rustix::process::kill_process(pid, Signal::TERM);
        let _ = rustix::process::kill_process(pid, Signal::CONT);
    }
}
