//! Measures a section of work: wall time, CPU time, page faults and context switches of all threads and processes
//! involved.

use std::io;

use steady_linux::clock;
use steady_linux::process::{ChildUsage, children_usage, own_usage, thread_usage};
use steady_model::{Nanos, Timed};

/// The threads and processes whose work counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// The calling thread only.
    Thread,
    /// The calling thread, and the children that it reaps during the measurement.
    ThreadAndChildren,
    /// All threads of the process, including those that end during the measurement. For a thread that is running on
    /// another CPU, the kernel knows its use only up to the last tick.
    Process,
}

/// A measurement in progress.
#[derive(Debug)]
pub(super) struct Meter {
    who: Who,
    usage: ChildUsage,
    children: Option<ChildUsage>,
    wall: Nanos,
    cpu: Nanos,
}

impl Meter {
    /// Starts a measurement. The CPU clock is read last here and first at the end, so that its interval excludes the
    /// other readings.
    pub(super) fn start(who: Who) -> io::Result<Self> {
        let (usage, children) = usage_of(who)?;
        Ok(Meter { who, usage, children, wall: clock::monotonic(), cpu: cpu_of(who) })
    }

    /// Ends the measurement. The caller fills in repetitions and events.
    pub(super) fn stop(self) -> io::Result<Timed> {
        let cpu = cpu_of(self.who) - self.cpu;
        let wall = clock::monotonic() - self.wall;
        let (usage, children) = usage_of(self.who)?;
        let own = used(&self.usage, &usage);
        let own = Timed { wall, cpu, ..own };
        Ok(match self.children.zip(children) {
            Some((before, after)) => together(own, used(&before, &after)),
            None => own,
        })
    }
}

fn usage_of(who: Who) -> io::Result<(ChildUsage, Option<ChildUsage>)> {
    Ok(match who {
        Who::Thread => (thread_usage()?, None),
        Who::ThreadAndChildren => (thread_usage()?, Some(children_usage()?)),
        Who::Process => (own_usage()?, None),
    })
}

fn cpu_of(who: Who) -> Nanos {
    match who {
        Who::Thread | Who::ThreadAndChildren => clock::thread_cpu(),
        Who::Process => clock::process_cpu(),
    }
}

/// Returns the use between two readings. Its CPU time has only the precision of `struct rusage`.
fn used(before: &ChildUsage, after: &ChildUsage) -> Timed {
    Timed {
        cpu: (after.user + after.system) - (before.user + before.system),
        minor_faults: after.minor_faults - before.minor_faults,
        voluntary_switches: after.voluntary_switches - before.voluntary_switches,
        involuntary_switches: after.involuntary_switches - before.involuntary_switches,
        ..Timed::default()
    }
}

/// Adds the use of two concurrent measurements. The wall time is that of `one`.
pub(super) fn together(one: Timed, other: Timed) -> Timed {
    Timed {
        cpu: one.cpu + other.cpu,
        minor_faults: one.minor_faults + other.minor_faults,
        voluntary_switches: one.voluntary_switches + other.voluntary_switches,
        involuntary_switches: one.involuntary_switches + other.involuntary_switches,
        ..one
    }
}

/// Returns the number of context switches, voluntary and involuntary.
pub(super) fn switches(timed: &Timed) -> u64 {
    timed.voluntary_switches + timed.involuntary_switches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calling_thread_is_measured() {
        let meter = Meter::start(Who::Thread).unwrap();
        crate::alu(1_000_000);
        let timed = meter.stop().unwrap();
        assert!(timed.cpu > Nanos(100_000) && timed.cpu <= timed.wall, "{timed:?}");
    }

    #[test]
    fn other_threads_count_for_the_process_only() {
        let meters = [Who::Thread, Who::Process].map(|who| Meter::start(who).unwrap());
        std::thread::spawn(|| crate::alu(3_000_000)).join().unwrap();
        let [thread, process] = meters.map(|meter| meter.stop().unwrap());
        assert!(process.cpu - thread.cpu > Nanos(500_000), "{thread:?} {process:?}");
    }

    #[test]
    fn all_but_the_wall_time_is_added() {
        let one = Timed { wall: Nanos(5), cpu: Nanos(2), voluntary_switches: 1, loops: 3, ..Timed::default() };
        let other = Timed { wall: Nanos(7), cpu: Nanos(4), involuntary_switches: 2, ..one };
        let both = together(one, other);
        assert_eq!((both.wall, both.cpu, both.loops, switches(&both)), (Nanos(5), Nanos(6), 3, 4));
    }
}
