//! The primitives whose cost is measured: for each, a loop with its event and an empty loop without it.
//!
//! Published loops of this kind contain known mistakes: calls that a library answers from a cache, loops that a
//! compiler removes, and events that differ from the intended ones. Each probe therefore counts its events by their
//! effect: the sum that a called function computes, the results of system calls, or the switches and faults that the
//! kernel counts.

mod alone;
mod arithmetic;
mod calls;
mod elf;
mod files;
mod loads;
mod locks;
mod meter;
mod pages;
mod partner;
mod ping_pong;
mod processes;
mod turns;

pub use pages::{FEW_PAGES, MANY_PAGES};

use std::io;

use steady_model::{Absent, Bytes, Probe, Reading, Timed};

/// The CPUs and working sets for probes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeCpus {
    /// The CPU to which the thread that opens and runs the probes is pinned.
    pub cpu: usize,
    /// Another CPU, for probes that need two.
    pub other: Reading<usize>,
    /// A working set that fits in the first-level data cache.
    pub l1: Reading<Bytes>,
    /// A working set that fits in the largest cache of a single core, and not in the first level.
    pub l2: Reading<Bytes>,
    /// A working set whose pages, with one line each, fit only in the first shared cache level.
    pub shared: Reading<Bytes>,
}

/// A probe that is ready to run on the thread that opened it. Dropping it ends everything that it started.
pub trait Primitive {
    /// Returns the expected number of events per repetition.
    fn events_per_loop(&self) -> f64 {
        1.0
    }

    /// Returns what the empty loop does too, and what is therefore not part of the cost; usually nothing.
    fn subtracted(&self) -> &'static str {
        ""
    }

    /// Returns the expected number of system calls per repetition, of all threads and processes together. Not available
    /// if it depends on the C library or the scheduler.
    fn calls_per_loop(&self) -> Reading<f64>;

    /// Runs `loops` repetitions with the event.
    ///
    /// # Errors
    /// The operation that failed.
    fn run(&mut self, loops: u64) -> io::Result<Timed>;

    /// Runs `loops` repetitions without the event.
    ///
    /// # Errors
    /// The operation that failed.
    fn empty(&mut self, loops: u64) -> io::Result<Timed>;
}

/// Opens a probe on this thread, which must be pinned to `place.cpu`. Not available if the system does not support it.
pub fn open(probe: Probe, place: &ProbeCpus) -> Reading<Box<dyn Primitive>> {
    match probe {
        Probe::ClockRealtime | Probe::ClockMonotonic | Probe::ClockProcessCpu | Probe::ClockThreadCpu => {
            calls::clock(probe)
        }
        Probe::FunctionCall => arithmetic::function_call(),
        Probe::AtomicAlone => arithmetic::atomic_alone(),
        Probe::AtomicContended => arithmetic::atomic_contended(place),
        Probe::SystemCall => calls::cheapest(),
        Probe::Call(call) => calls::by_name(call),
        Probe::ProcessSwitch => ping_pong::open(),
        Probe::PublishedFunctionCall => arithmetic::empty_function(),
        Probe::PublishedSystemCall => calls::answered_by_the_library(),
        Probe::PublishedProcessSwitch => ping_pong::with_calls(),
        Probe::ThreadSwitchCondvar => turns::by_condvar(),
        Probe::ThreadSwitchFutex => turns::by_futex(),
        Probe::LockUncontended => locks::uncontended(),
        Probe::LockContended => locks::contended(place),
        Probe::PageFault => pages::few(),
        Probe::PageFaultMany => pages::many(),
        Probe::PageFaultCold => pages::cold(),
        Probe::ForkExit => processes::fork(),
        Probe::VforkExit => processes::vfork(),
        Probe::SpawnStatic => processes::spawn_static(),
        Probe::SpawnDynamic => processes::spawn_dynamic(),
        Probe::ThreadStart => processes::thread(),
        Probe::Signal => calls::signal(),
        Probe::PipeByte => files::pipe(),
        Probe::LoadL1 | Probe::LoadL2 | Probe::LoadShared | Probe::LoadMemory => loads::open(probe, place),
    }
}

/// Returns the reason for a failed operation of the system.
fn refused(what: &str, error: &io::Error) -> Absent {
    Absent::because(format!("{what}: {error}"))
}
