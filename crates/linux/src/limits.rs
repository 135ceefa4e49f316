//! Limits on the number of processes and on the size of files.

use crate::Root;
use crate::cgroup::{Mount, Version, parse_memberships, parse_mounts};
use crate::procfs::value_of;

/// Capabilities that override the user's limit: CAP_SYS_ADMIN and CAP_SYS_RESOURCE (capabilities(7)).
const LIFTING: u64 = 1 << 21 | 1 << 24;

/// A limit on the number of processes. Each thread counts as one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessLimit {
    /// The setting or file that sets the limit, as a person would look it up.
    pub name: String,
    /// The largest number of processes that it allows, including those that exist already.
    pub most: u64,
}

/// Returns the maximum size of files that this process writes, in bytes; `None` without a limit (`RLIMIT_FSIZE`).
pub fn file_size_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current
}

/// Returns the lowest of the limits that apply to this process, or `None` if none can be read.
///
/// Sources: getrlimit(2) (`RLIMIT_NPROC`), `Documentation/admin-guide/cgroup-v2.rst` (`pids.max`), proc_sys_kernel(5).
pub fn process_limit(root: &Root) -> Option<ProcessLimit> {
    let kernel = ["pid_max", "threads-max"].into_iter().filter_map(|name| {
        let most = root.read_line(&format!("/proc/sys/kernel/{name}")).ok()?.parse().ok()?;
        Some(ProcessLimit { name: format!("kernel.{name}"), most })
    });
    let all = of_user(root).into_iter().chain(of_groups(root)).chain(kernel);
    all.min_by_key(|limit| limit.most)
}

/// Returns the limit on all processes of this process's user. It does not apply to processes with a capability in
/// `LIFTING`.
fn of_user(root: &Root) -> Option<ProcessLimit> {
    let status = root.read("/proc/self/status").ok()?;
    let capabilities = u64::from_str_radix(value_of(&status, "CapEff")?, 16).ok()?;
    if capabilities & LIFTING != 0 {
        return None;
    }
    let limits = root.read("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max processes"))?;
    // Without a limit the file says "unlimited", which is not a number.
    let most = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(ProcessLimit { name: "ulimit -u (RLIMIT_NPROC)".to_owned(), most })
}

/// Returns the limits of this process's control group and of the groups above it.
fn of_groups(root: &Root) -> Vec<ProcessLimit> {
    let read = |file| root.read(file).unwrap_or_default();
    let memberships = parse_memberships(&read("/proc/self/cgroup"));
    let mounts = parse_mounts(&read("/proc/self/mountinfo"));
    let mut limits = Vec::new();
    for group in memberships {
        let legacy = group.controllers.iter().any(|name| name == "pids");
        let serves = |mount: &&Mount| match mount.version {
            Version::V1 => legacy && mount.options.iter().any(|option| option == "pids"),
            Version::V2 => group.controllers.is_empty(),
        };
        let directories = mounts.iter().filter(serves).filter_map(|mount| mount.directories(&group.path)).flatten();
        limits.extend(directories.filter_map(|directory| {
            let file = format!("{directory}/pids.max");
            // Without a limit the file says "max", which is not a number.
            let most = root.read_line(&file).ok()?.parse().ok()?;
            Some(ProcessLimit { name: file, most })
        }));
    }
    limits
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::trees::{UNSOUND, tree};

    /// A tree of files for one test, removed when it is dropped.
    struct TestTree(PathBuf);

    impl TestTree {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let top = std::env::temp_dir().join(format!("steady-limits-{}-{name}", std::process::id()));
            for (file, text) in files {
                let path = top.join(file.trim_start_matches('/'));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            TestTree(top)
        }

        fn limit(&self) -> Option<ProcessLimit> {
            process_limit(&Root::at(&self.0))
        }
    }

    impl Drop for TestTree {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const LIMITS: &str = "Limit                     Soft Limit           Hard Limit           Units     \n\
                          Max processes             300                  400                  processes \n";
    const KERNEL: (&str, &str) = ("/proc/sys/kernel/pid_max", "32768\n");

    #[test]
    fn the_user_limit_applies_without_capabilities() {
        let with = |capabilities: &str| {
            let status = format!("Name:\tx\nCapEff:\t{capabilities}\n");
            let files = [KERNEL, ("/proc/self/limits", LIMITS), ("/proc/self/status", &status)];
            TestTree::new(capabilities, &files).limit().unwrap()
        };
        assert_eq!(with("0000000000000000"), ProcessLimit { name: "ulimit -u (RLIMIT_NPROC)".to_owned(), most: 300 });
        assert_eq!(with("000001ffffffffff"), ProcessLimit { name: "kernel.pid_max".to_owned(), most: 32_768 });
    }

    #[test]
    fn groups_of_both_versions_limit() {
        let v2 = [
            KERNEL,
            ("/proc/self/cgroup", "0::/a/b\n"),
            ("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("/sys/fs/cgroup/a/pids.max", "120\n"),
            ("/sys/fs/cgroup/a/b/pids.max", "max\n"),
        ];
        let found = TestTree::new("v2", &v2).limit().unwrap();
        assert_eq!(found, ProcessLimit { name: "/sys/fs/cgroup/a/pids.max".to_owned(), most: 120 });
        let v1 = [
            KERNEL,
            ("/proc/self/cgroup", "8:pids:/x\n1:cpu:/x\n"),
            ("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"),
            ("/sys/fs/cgroup/pids/x/pids.max", "7\n"),
        ];
        assert_eq!(TestTree::new("v1", &v1).limit().unwrap().most, 7);
    }

    #[test]
    fn unreadable_limits_do_not_apply() {
        for unsound in UNSOUND {
            let _ = process_limit(&tree(unsound));
        }
        assert_eq!(TestTree::new("none", &[]).limit(), None);
        assert!(process_limit(&Root::default()).is_some());
    }
}
