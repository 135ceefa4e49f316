//! Events that the kernel counts: single events, and the CPU time of a process tree.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;

use steady_model::{CounterScope, Nanos, Reading};

use super::EVENTS;
use super::meter::{Counter, RawCount};
use crate::Root;
use crate::sys::{self, Counted};

/// `PERF_TYPE_HARDWARE`, `PERF_TYPE_SOFTWARE` and `PERF_TYPE_TRACEPOINT` of perf_event_open(2).
const HARDWARE_TYPE: u32 = 0;
const SOFTWARE_TYPE: u32 = 1;
const TRACEPOINT_TYPE: u32 = 2;

/// An event that perf_event_open(2) can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    kind: u32,
    config: u64,
}

impl Event {
    /// Number of instructions retired.
    pub const INSTRUCTIONS: Event = Event { kind: HARDWARE_TYPE, config: 1 };
    /// CPU cycles, without those in which the CPU was halted.
    pub const CYCLES: Event = Event { kind: HARDWARE_TYPE, config: 0 };
    /// Number of branches retired.
    pub const BRANCHES: Event = Event { kind: HARDWARE_TYPE, config: 4 };
    /// Number of mispredicted branches.
    pub const BRANCH_MISSES: Event = Event { kind: HARDWARE_TYPE, config: 5 };
    /// Cycles in which no instruction could be issued. Few CPUs count them.
    pub const STALLED_FRONTEND: Event = Event { kind: HARDWARE_TYPE, config: 7 };
    /// Cycles in which no instruction retired. Few CPUs count them.
    pub const STALLED_BACKEND: Event = Event { kind: HARDWARE_TYPE, config: 8 };
    /// Accesses that missed the last-level cache.
    pub const CACHE_MISSES: Event = Event { kind: HARDWARE_TYPE, config: 3 };
    /// Nanoseconds of CPU time, counted by the kernel. Every machine has it.
    pub const TASK_CLOCK: Event = Event { kind: SOFTWARE_TYPE, config: 1 };
    /// Page faults, counted by the kernel.
    pub const PAGE_FAULTS: Event = Event { kind: SOFTWARE_TYPE, config: 2 };
    /// Context switches, counted by the kernel.
    pub const CONTEXT_SWITCHES: Event = Event { kind: SOFTWARE_TYPE, config: 3 };
    /// Migrations from one CPU to another, counted by the kernel.
    pub const CPU_MIGRATIONS: Event = Event { kind: SOFTWARE_TYPE, config: 4 };

    /// Returns the event of passing a kernel tracepoint. `number` is the tracepoint's id.
    pub(super) fn tracepoint(number: u64) -> Event {
        Event { kind: TRACEPOINT_TYPE, config: number }
    }

    /// Counts this event for this thread and the threads and processes that it creates from now on, until the
    /// descriptor is closed.
    pub(super) fn of_this_thread_and_its_children(self) -> io::Result<OwnedFd> {
        sys::open_counter(self.kind, self.config, false, Counted::ThisThreadAndItsChildren)
    }
}

/// The events counted for a run, in the order of [`super::Meter`].
pub const HARDWARE: [Event; EVENTS] = [Event::INSTRUCTIONS, Event::CYCLES, Event::BRANCH_MISSES, Event::CACHE_MISSES];

/// A kernel counter of one event. On a machine with several kinds of cores it has one descriptor per kind.
pub(super) struct PerfCounter(Vec<Opened>);

/// An inherited counter, and an anchor: a second counter that is not inherited and never counts.
///
/// When the CPU switches between this process and its child, the kernel may swap their counters if they are identical.
/// Then the counter of this process would start at the child's exec and stop at the child's end, and later children
/// would not be counted. The anchor makes the two sets of counters different.
struct Opened {
    counter: OwnedFd,
    _anchor: OwnedFd,
}

impl PerfCounter {
    pub(super) fn open(root: &Root, event: &Event, scope: CounterScope) -> io::Result<Self> {
        let units = if event.kind == HARDWARE_TYPE { units(root) } else { vec![0] };
        let open = |unit: u64| {
            let open = |counted| {
                sys::open_counter(event.kind, unit << 32 | event.config, scope == CounterScope::User, counted)
            };
            Ok(Opened { _anchor: open(Counted::Nothing)?, counter: open(Counted::Children)? })
        };
        let mut refused = None;
        let opened = units.into_iter().filter_map(|unit| open(unit).map_err(|error| refused = Some(error)).ok());
        let opened: Vec<Opened> = opened.collect();
        match refused {
            Some(error) if opened.is_empty() => Err(error),
            _ => Ok(PerfCounter(opened)),
        }
    }
}

impl PerfCounter {
    /// Counts only events that match `filter`, an expression over the fields of the tracepoint.
    pub(super) fn only(self, filter: &CStr) -> io::Result<Self> {
        self.0.iter().try_for_each(|opened| sys::filter_counter(&opened.counter, filter))?;
        Ok(self)
    }
}

impl Counter for PerfCounter {
    fn read(&mut self) -> io::Result<RawCount> {
        let mut sum = RawCount::default();
        for opened in &self.0 {
            sum = sum.plus(read(&opened.counter)?);
        }
        Ok(sum)
    }
}

fn read(descriptor: &OwnedFd) -> io::Result<RawCount> {
    let mut bytes = [0; 24];
    if rustix::io::read(descriptor, &mut bytes)? < bytes.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let (words, _) = bytes.as_chunks::<8>();
    let word = |place: usize| u64::from_ne_bytes(words[place]);
    Ok(RawCount { value: word(0), enabled: word(1), running: word(2) })
}

/// Returns the PMU types of a machine with several kinds of cores, or 0 for the only one elsewhere. Without a PMU type,
/// an event counts on one kind of core only.
fn units(root: &Root) -> Vec<u64> {
    let number = |unit: &str| root.read_line(&format!("/sys/devices/{unit}/type")).ok()?.parse().ok();
    let kinds: Vec<u64> = ["cpu_core", "cpu_atom", "cpu_lowpower"].into_iter().filter_map(number).collect();
    if kinds.len() > 1 { kinds } else { vec![0] }
}

/// CPU time of the children of this thread and of all their descendants, from each child's exec on. It is exact even
/// for threads that run at the moment of the reading.
///
/// Unlike the CPU time of a process, it includes time that the hypervisor stole. Programs that change their user, or
/// that this user may not read, are not counted after their exec.
pub struct TreeClock(PerfCounter);

impl TreeClock {
    /// Opens the clock, before the child starts. Returns the reason if the kernel does not allow it.
    pub fn open() -> Reading<Self> {
        let root = Root::default();
        let mut refused = None;
        for scope in [CounterScope::UserAndKernel, CounterScope::User] {
            match PerfCounter::open(&root, &Event::TASK_CLOCK, scope) {
                Ok(counter) => return Ok(TreeClock(counter)),
                Err(error) => refused = Some(error),
            }
        }
        Err(super::reason(&root, &refused.unwrap_or_else(|| io::ErrorKind::NotFound.into())))
    }

    /// Returns the CPU time counted so far.
    ///
    /// # Errors
    /// The error of read(2).
    pub fn read(&mut self) -> io::Result<Nanos> {
        Ok(Nanos(self.0.read()?.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::{UNSOUND, tree};

    #[test]
    fn two_kinds_of_cores_have_two_pmu_types() {
        assert_eq!(units(&tree("hybrid-intel")), [4, 10]);
        assert_eq!(units(&tree("laptop-smt")), [0]);
        for unsound in UNSOUND {
            assert_eq!(units(&tree(unsound)), [0], "{unsound}");
        }
    }
}
