//! Why there are no counters, and what would help.

use std::io;

use rustix::io::Errno;
use steady_model::{Absent, Reading};

use crate::{Root, procfs};

/// How much programs without privileges may count (proc_sys_kernel(5)).
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";
/// Above this, in the kernels that know such levels, nothing at all.
const OWN_PROGRAMS: i32 = 2;

/// The reason that an error of perf_event_open(2) amounts to.
pub(super) fn reason(root: &Root, error: &io::Error) -> Absent {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT | Errno::NODEV | Errno::OPNOTSUPP) => no_unit(&procfs::hypervisor(root)),
        Some(Errno::ACCESS | Errno::PERM) => not_allowed(root.read_line(PARANOID).ok().and_then(|n| n.parse().ok())),
        Some(Errno::NOSYS) => Absent::because("the kernel has no perf_event_open(2), or a sandbox hides it"),
        _ => Absent::because(format!("perf_event_open(2): {error}")),
    }
}

fn no_unit(hypervisor: &Reading<Option<String>>) -> Absent {
    match hypervisor {
        Ok(Some(name)) => Absent::because(format!(
            "this machine ({name}) shows its guests no counters of the CPU; its host can give a guest a virtual PMU"
        )),
        Ok(None) => Absent::because("the kernel has no driver for this CPU's counters"),
        Err(_) => Absent::because("the kernel knows no counters of this CPU; a virtual machine's host can show them"),
    }
}

fn not_allowed(paranoid: Option<i32>) -> Absent {
    match paranoid {
        Some(level) if level > OWN_PROGRAMS => Absent::because(format!(
            "perf_event_paranoid is {level}: `sysctl kernel.perf_event_paranoid=2` allows them"
        )),
        _ => Absent::because(
            "a sandbox refuses perf_event_open(2): allow it in the container's seccomp profile, or add CAP_PERFMON",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::{UNSOUND, tree};

    fn said(name: &str, error: Errno) -> String {
        reason(&tree(name), &io::Error::from(error)).0
    }

    #[test]
    fn what_is_missing_is_said_with_what_helps() {
        assert!(said("vm", Errno::NOENT).contains("this machine (kvm)"), "{}", said("vm", Errno::NOENT));
        assert!(said("laptop-smt", Errno::OPNOTSUPP).contains("no driver"));
        assert!(said("missing", Errno::NOENT).contains("virtual machine"));
        assert!(said("vm", Errno::NOSYS).contains("sandbox"));
        assert_eq!(said("vm", Errno::MFILE), "perf_event_open(2): Too many open files (os error 24)");
    }

    #[test]
    fn what_is_not_allowed_names_the_switch() {
        assert!(not_allowed(Some(4)).0.contains("sysctl kernel.perf_event_paranoid=2"));
        for level in [Some(2), Some(-1), None] {
            assert!(not_allowed(level).0.contains("CAP_PERFMON"));
        }
        assert!(said("laptop-smt", Errno::ACCESS).contains("perf_event_paranoid is 4"));
        for unsound in UNSOUND {
            assert!(said(unsound, Errno::PERM).contains("CAP_PERFMON"), "{unsound}");
        }
    }
}
