//! Hardware counters (perf_event_open(2)): instructions, cycles, branch misses and cache misses of a run's whole
//! process tree.
//!
//! A [`Meter`] holds one [`Counter`] per event. The process that starts the runs opens the counters once. Children
//! inherit them and start to count at their exec. When a child or descendant ends, the kernel adds its count to the
//! parent's counter. The count of a run is the difference of two readings: before the run starts, and after its last
//! descendant has been reaped.

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

/// Number of counters of a [`Meter`]: instructions, cycles, branch misses and cache misses, in this order.
pub const EVENTS: usize = 4;

/// Opens counters of `events` for the children of this thread, in `scope` or, without one, in the widest scope that is
/// allowed. An event that this machine cannot count is missing from the results.
///
/// # Errors
/// The reason why nothing can be counted, and how to change that. With a given `scope` there is no error: the meter
/// then reports no value for each event that cannot be counted.
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

/// The file with the restriction of perf_event_open(2) for users without privileges (proc_sys_kernel(5)).
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";
/// Above this level, kernels that have such levels allow no counting without privileges.
const OWN_PROGRAMS: i32 = 2;

/// Converts an error of perf_event_open(2) into a reason.
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
            "this virtual machine ({name}) has no CPU counters; its host can enable a virtual PMU"
        )),
        Ok(None) => Absent::because("the kernel has no driver for this CPU's counters"),
        Err(_) => Absent::because(
            "the kernel finds no CPU counters; if this is a virtual machine, its host can enable a virtual PMU",
        ),
    }
}

fn not_allowed(paranoid: Option<i32>) -> Absent {
    match paranoid {
        Some(level) if level > OWN_PROGRAMS => Absent::because(format!(
            "perf_event_paranoid is {level}; to allow counters, run `sysctl kernel.perf_event_paranoid=2`"
        )),
        _ => Absent::because(
            "a sandbox refuses perf_event_open(2); allow it in the container's seccomp profile, or add CAP_PERFMON",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::{UNSOUND, tree};

    fn reason_of(name: &str, error: Errno) -> String {
        reason(&tree(name), &io::Error::from(error)).0
    }

    #[test]
    fn missing_counters_have_a_reason_and_a_remedy() {
        assert!(
            reason_of("vm", Errno::NOENT).contains("this virtual machine (kvm)"),
            "{}",
            reason_of("vm", Errno::NOENT)
        );
        assert!(reason_of("laptop-smt", Errno::OPNOTSUPP).contains("no driver"));
        assert!(reason_of("missing", Errno::NOENT).contains("virtual machine"));
        assert!(reason_of("vm", Errno::NOSYS).contains("sandbox"));
        assert_eq!(reason_of("vm", Errno::MFILE), "perf_event_open(2): Too many open files (os error 24)");
    }

    #[test]
    fn forbidden_counters_have_a_remedy() {
        assert!(not_allowed(Some(4)).0.contains("sysctl kernel.perf_event_paranoid=2"));
        for level in [Some(2), Some(-1), None] {
            assert!(not_allowed(level).0.contains("CAP_PERFMON"));
        }
        assert!(reason_of("laptop-smt", Errno::ACCESS).contains("perf_event_paranoid is 4"));
        for unsound in UNSOUND {
            assert!(reason_of(unsound, Errno::PERM).contains("CAP_PERFMON"), "{unsound}");
        }
    }
}
