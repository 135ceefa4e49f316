//! Events that the CPU counts (perf_event_open(2)): instructions, cycles, misses, over a run's whole process tree.
//!
//! A [`Meter`] holds one [`Counter`] per event, opened once by the process that starts the runs. Children inherit them,
//! start to count at their exec, and what a child and its descendants counted is added when they end. So a run's count
//! is the difference of two readings: one from before its start, one from after its last descendant was reaped.

mod event;
mod meter;
mod refusal;
pub mod tracepoints;

pub use event::{Event, HARDWARE, TreeClock};
pub use meter::{Counter, Meter, RawCount};

use std::io;

use steady_model::{CounterScope, Reading};

use crate::Root;
use event::PerfCounter;

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
    Err(refusal::reason(&Root::default(), &refused.unwrap_or_else(|| io::ErrorKind::NotFound.into())))
}

fn all(events: &[Event; EVENTS], scope: CounterScope) -> [io::Result<PerfCounter>; EVENTS] {
    let root = Root::default();
    events.each_ref().map(|event| PerfCounter::open(&root, event, scope))
}

fn boxed(opened: io::Result<PerfCounter>) -> Option<Box<dyn Counter>> {
    opened.ok().map(|counter| Box::new(counter) as Box<dyn Counter>)
}
