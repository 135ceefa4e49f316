//! Description of the machine for reports.

mod conditions;
pub mod knobs;
mod tick;

pub use conditions::{ProcessTimes, conditions, runs};
pub use tick::tick;

use steady_model::{Absent, Host, Reading};

use crate::{Root, cgroup, procfs, topology};

/// Collects the name, kernel, CPUs and memory of the machine, and the limits on this process.
///
/// If the number of online CPUs is not available, the number of allowed CPUs is used instead, and vice versa. If
/// neither is available, the count is 1.
pub fn probe(root: &Root) -> Host {
    let online = topology::online_cpus(root).map(|cpus| cpus.len());
    let allowed = topology::allowed_cpus(root).map(|cpus| cpus.len());
    let counted = |one: &Result<usize, Absent>, two: &Result<usize, Absent>| one.clone().or(two.clone()).unwrap_or(1);
    Host {
        hostname: procfs::hostname(root),
        kernel: procfs::kernel(root),
        cpu_model: procfs::cpu_model(root),
        cpus_allowed: counted(&allowed, &online),
        cpus_online: counted(&online, &allowed),
        cpu_quota: cgroup::cpu_quota(root),
        memory: procfs::memory_total(root),
        hypervisor: procfs::hypervisor(root),
    }
}

/// Returns the names in a directory, sorted; none if the directory cannot be read.
fn entries_of(root: &Root, directory: &str) -> Vec<String> {
    let read = std::fs::read_dir(root.path(directory));
    let names = read.into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

/// Returns the identifier of this boot. It changes each time the kernel starts.
///
/// Source: `/proc/sys/kernel/random/boot_id` (proc_sys_kernel(5)).
pub fn boot_id(root: &Root) -> Reading<String> {
    root.read_line("/proc/sys/kernel/random/boot_id")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::{UNSOUND, tree};

    #[test]
    fn limits_of_a_container_are_found() {
        let host = probe(&tree("container-v2"));
        assert_eq!((host.cpus_online, host.cpus_allowed), (64, 64));
        assert_eq!(host.cpu_quota.unwrap().unwrap().cpus(), 1.5);
        assert_eq!(host.hostname.unwrap(), "5f0c9e1d2ab3");
    }

    #[test]
    fn broken_trees_give_no_values() {
        for unsound in UNSOUND {
            let host = probe(&tree(unsound));
            assert!(host.cpu_model.is_err() && host.memory.is_err() && host.cpu_quota.is_err(), "{unsound}");
            assert!(host.hypervisor.is_err() && host.kernel.is_err(), "{unsound}");
        }
    }

    #[test]
    fn this_machine_has_a_name() {
        let host = probe(&Root::default());
        assert!(host.hostname.is_ok() && host.kernel.is_ok() && host.memory.is_ok());
        assert!(host.cpus_allowed <= host.cpus_online);
    }

    #[test]
    fn a_boot_has_an_identifier() {
        assert_eq!(boot_id(&tree("vm")).unwrap(), "5d3ec2a1-5b8c-4a52-9d0e-0b6f6c7a8e11");
        assert!(boot_id(&tree("missing")).is_err());
        assert_eq!(boot_id(&Root::default()).unwrap().len(), 36);
    }
}
