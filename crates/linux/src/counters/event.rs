//! Events as the kernel counts them: one event of one process, and the CPU time of a process tree.

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

/// Something that can be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    kind: u32,
    config: u64,
}

impl Event {
    /// Instructions retired.
    pub const INSTRUCTIONS: Event = Event { kind: HARDWARE_TYPE, config: 1 };
    /// CPU cycles, not counting those in which it was halted.
    pub const CYCLES: Event = Event { kind: HARDWARE_TYPE, config: 0 };
    /// Branches that were predicted wrongly.
    pub const BRANCH_MISSES: Event = Event { kind: HARDWARE_TYPE, config: 5 };
    /// Accesses that missed the last level of cache.
    pub const CACHE_MISSES: Event = Event { kind: HARDWARE_TYPE, config: 3 };
    /// Nanoseconds of CPU time, counted by the kernel: there is no machine without it.
    pub const TASK_CLOCK: Event = Event { kind: SOFTWARE_TYPE, config: 1 };
    /// Page faults, counted by the kernel.
    pub const PAGE_FAULTS: Event = Event { kind: SOFTWARE_TYPE, config: 2 };
    /// Context switches, counted by the kernel.
    pub const CONTEXT_SWITCHES: Event = Event { kind: SOFTWARE_TYPE, config: 3 };
    /// Moves from one CPU to another, counted by the kernel.
    pub const CPU_MIGRATIONS: Event = Event { kind: SOFTWARE_TYPE, config: 4 };

    /// The passing of a point in the kernel, by the point's number.
    pub(super) fn tracepoint(number: u64) -> Event {
        Event { kind: TRACEPOINT_TYPE, config: number }
    }

    /// This event while this thread does it, and those that it makes from now on, until the descriptor is closed.
    pub(super) fn of_this_thread_and_its_children(self) -> io::Result<OwnedFd> {
        sys::open_counter(self.kind, self.config, false, Counted::ThisThreadAndItsChildren)
    }
}

/// What a run is counted by, in the order of [`super::Meter`].
pub const HARDWARE: [Event; EVENTS] = [Event::INSTRUCTIONS, Event::CYCLES, Event::BRANCH_MISSES, Event::CACHE_MISSES];

/// A counter of the kernel's: one per kind of core where the machine has several.
pub(super) struct PerfCounter(Vec<Opened>);

/// One counter, and one beside it that no child inherits and that never counts. When the CPU passes from this process
/// to its child, the kernel may let the two exchange their counters instead of loading the other's, if they are the
/// same; then this process's own would begin to count at the child's exec and end with it, and no later child would be
/// counted. With one that is not inherited, they are not the same.
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
            Ok(Opened { _anchor: open(Counted::Nobody)?, counter: open(Counted::Children)? })
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
    /// Counts only what passes `filter`, an expression over the fields of a point in the kernel.
    pub(super) fn only(self, filter: &CStr) -> io::Result<Self> {
        self.0.iter().try_for_each(|opened| sys::filter_counter(&opened.counter, filter))?;
        Ok(self)
    }
}

impl Counter for PerfCounter {
    fn read(&mut self) -> io::Result<RawCount> {
        let mut sum = RawCount::default();
        for opened in &self.0 {
            sum = sum.beside(read(&opened.counter)?);
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

/// The numbers of the counting units of a machine with several kinds of cores; elsewhere 0, for the only one. An event
/// without a unit counts on one kind of core alone.
fn units(root: &Root) -> Vec<u64> {
    let number = |unit: &str| root.read_line(&format!("/sys/devices/{unit}/type")).ok()?.parse().ok();
    let kinds: Vec<u64> = ["cpu_core", "cpu_atom", "cpu_lowpower"].into_iter().filter_map(number).collect();
    if kinds.len() > 1 { kinds } else { vec![0] }
}

/// Counts the time that children of this thread, and all that descends from them, have a CPU, from a child's exec on.
/// Threads that run at this moment are told exactly.
///
/// Time in which the hypervisor gave the CPU to others while they had it is counted too, unlike in a process's CPU time.
/// Programs that change their user, or that this user may not read, drop out at their exec.
pub struct TreeClock(PerfCounter);

impl TreeClock {
    /// Opens the clock, before the child is started. Absent where the kernel does not allow it.
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

    /// What it has counted so far.
    ///
    /// # Errors
    /// What read(2) says.
    pub fn read(&mut self) -> io::Result<Nanos> {
        Ok(Nanos(self.0.read()?.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::{UNSOUND, tree};

    #[test]
    fn cores_of_two_kinds_have_two_units() {
        assert_eq!(units(&tree("hybrid-intel")), [4, 10]);
        assert_eq!(units(&tree("laptop-smt")), [0]);
        for unsound in UNSOUND {
            assert_eq!(units(&tree(unsound)), [0], "{unsound}");
        }
    }
}
