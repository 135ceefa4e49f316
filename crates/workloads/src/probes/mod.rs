//! The primitives whose cost is measured: for each a loop in which its event happens, and one in which it does not.
//!
//! The published mistakes of such loops are calls that a library answers from a cache, loops that a compiler removes, and
//! events that are not what they are taken for. So each probe counts its event by what the event brings about: what the
//! called function adds up, what a system call returns, the switches and faults that the kernel has counted.

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

/// Where probes run, and what they have to know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The CPU that the thread which opens and runs them is pinned to.
    pub cpu: usize,
    /// Another one, for those that need two.
    pub other: Reading<usize>,
    /// A working set that the first level of data cache holds.
    pub l1: Reading<Bytes>,
    /// One that the last level holds which no other core shares, and the first does not.
    pub l2: Reading<Bytes>,
    /// One whose pages, a line of each, only the first shared level holds.
    pub shared: Reading<Bytes>,
}

/// A probe that is ready to run, on the thread that opened it. What it started ends when it is dropped.
pub trait Primitive {
    /// How often its event should happen in a round of the loop, by construction.
    fn events_per_loop(&self) -> f64 {
        1.0
    }

    /// What the empty loop still does, in words, and so is no part of the cost; of most nothing.
    fn subtracted(&self) -> &'static str {
        ""
    }

    /// How many system calls a round should make, those of all who take part together; absent where that is for the C
    /// library or the scheduler to decide.
    fn calls_per_loop(&self) -> Reading<f64>;

    /// Goes round `loops` times.
    ///
    /// # Errors
    /// What made it impossible to go on.
    fn run(&mut self, loops: u64) -> io::Result<Timed>;

    /// Goes round as often without the event.
    ///
    /// # Errors
    /// What made it impossible to go on.
    fn empty(&mut self, loops: u64) -> io::Result<Timed>;
}

/// Makes a probe ready, on this thread, which is pinned to `place.cpu`; absent where it cannot be had here.
pub fn open(probe: Probe, place: &Place) -> Reading<Box<dyn Primitive>> {
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

/// The reason why an operation of the system did not work.
fn refused(what: &str, error: &io::Error) -> Absent {
    Absent::because(format!("{what}: {error}"))
}
