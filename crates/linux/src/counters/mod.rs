//! Events that the CPU counts (perf_event_open(2)): instructions, cycles, misses, over a run's whole process tree.
//!
//! A [`Meter`] holds one [`Counter`] per event, opened once by the process that starts the runs. Children inherit them,
//! start to count at their exec, and what a child and its descendants counted is added when they end. So a run's count
//! is the difference of two readings: one from before its start, one from after its last descendant was reaped.

mod event;
mod meter;
pub mod tracepoints;

use std::io;

use rustix::io::Errno;
use steady_model::{Absent, CounterScope, Reading};

use crate::{Root, procfs};
use event::PerfCounter;

pub use event::{Event, HARDWARE, TreeClock};
pub use meter::{Counter, Meter, RawCount};

/// The order in which [`Meter`] takes its counters: instructions, cycles, branch misses, cache misses.
pub const EVENTS: usize = 4;

/// Opens counters of `events` for the children of this thread: those in `scope`, or in the widest scope that is
/// allowed. Events that this machine does not count are absent from the readings.
///
/// # Errors
/// Why none can be had, and what would help. With a scope that is given there is always a meter: it tells of nothing
/// where nothing can be counted.
pub fn open(events: &[Event; EVENTS], scope: Option<CounterScope>) -> Reading<Meter> {
    if let Some(scope) = scope {
        return Ok(Meter::new(scope, all(events, scope).map(boxed)));
    }
    let mut refused = None;
    for scope in [CounterScope::UserAndKernel, CounterScope::User] {
        let opened = all(events, scope);
        if opened.iter().any(Result::is_ok) {
            return Ok(Meter::new(scope, opened.map(boxed)));
        }
        refused = opened.into_iter().find_map(Result::err);
    }
    Err(reason(&Root::default(), &refused.unwrap_or_else(|| io::ErrorKind::NotFound.into())))
}

fn all(events: &[Event; EVENTS], scope: CounterScope) -> [io::Result<PerfCounter>; EVENTS] {
    let root = Root::default();
    events.each_ref().map(|event| PerfCounter::open(&root, event, scope))
}

fn boxed(opened: io::Result<PerfCounter>) -> Option<Box<dyn Counter>> {
    opened.ok().map(|counter| Box::new(counter) as Box<dyn Counter>)
}

/// How much programs without privileges may count (proc_sys_kernel(5)).
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";
/// Above this, in the kernels that know such levels, nothing at all.
const OWN_PROGRAMS: i32 = 2;

/// The reason that an error of perf_event_open(2) amounts to.
fn reason(root: &Root, error: &io::Error) -> Absent {
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
