//! Probes that a single thread runs.

use std::hint::black_box;
use std::io;

use steady_model::{Absent, Reading, Timed};

use super::Primitive;
use super::meter::{Meter, Who};
use crate::raw::opaque;

/// The properties of a probe's loop.
pub(super) struct Facts {
    /// The threads and processes whose work counts.
    pub(super) who: Who,
    /// The number of system calls of a repetition.
    pub(super) calls: Reading<f64>,
    /// The number of events of a repetition.
    pub(super) events: f64,
    /// The work that the empty loop does too, and that is therefore not part of the cost.
    pub(super) subtracted: &'static str,
    /// Returns how often the event happened, from the loop's own count and from the counts of the kernel.
    pub(super) counted: fn(u64, &Timed) -> u64,
}

impl Facts {
    /// Properties of a loop with one event per repetition, counted by the loop itself, with `calls` system calls by the
    /// calling thread.
    pub(super) fn of_calls(calls: f64) -> Self {
        Facts { who: Who::Thread, calls: Ok(calls), events: 1.0, subtracted: "", counted: |own, _| own }
    }
}

/// A loop with the event and one without it, over the same state.
struct Alone<S, P, E> {
    facts: Facts,
    state: S,
    probe: P,
    empty: E,
}

/// Opens a probe. `probe` runs the requested number of repetitions and returns how often its event happened. `empty`
/// runs the same number without the event.
///
/// The probe runs once as a test. If `what` does not work, the result is not available, with the reason.
pub(super) fn open<S, P, E>(what: &str, facts: Facts, state: S, probe: P, empty: E) -> Reading<Box<dyn Primitive>>
where
    S: 'static,
    P: FnMut(&mut S, u64) -> io::Result<u64> + 'static,
    E: FnMut(&mut S, u64) -> io::Result<()> + 'static,
{
    let mut alone = Alone { facts, state, probe, empty };
    match (alone.probe)(&mut alone.state, 1) {
        Ok(0) => Err(Absent::because(format!("{what} does not work as expected on this system"))),
        Ok(_) => Ok(Box::new(alone)),
        Err(error) => Err(super::refused(what, &error)),
    }
}

impl<S, P, E> Primitive for Alone<S, P, E>
where
    P: FnMut(&mut S, u64) -> io::Result<u64>,
    E: FnMut(&mut S, u64) -> io::Result<()>,
{
    fn events_per_loop(&self) -> f64 {
        self.facts.events
    }

    fn subtracted(&self) -> &'static str {
        self.facts.subtracted
    }

    fn calls_per_loop(&self) -> Reading<f64> {
        self.facts.calls.clone()
    }

    fn run(&mut self, loops: u64) -> io::Result<Timed> {
        let meter = Meter::start(self.facts.who)?;
        let own_count = (self.probe)(&mut self.state, loops)?;
        let timed = meter.stop()?;
        Ok(Timed { loops, events: (self.facts.counted)(own_count, &timed), ..timed })
    }

    fn empty(&mut self, loops: u64) -> io::Result<Timed> {
        let meter = Meter::start(self.facts.who)?;
        (self.empty)(&mut self.state, loops)?;
        let timed = meter.stop()?;
        Ok(Timed { loops, events: (self.facts.counted)(0, &timed), ..timed })
    }
}

/// Calls `each` `loops` times with the number of the repetition. Returns how often it returned true.
#[inline(always)]
pub(super) fn rounds(loops: u64, mut each: impl FnMut(u64) -> bool) -> u64 {
    let mut worked = 0;
    for round in 0..loops {
        worked += u64::from(each(round));
    }
    worked
}

/// Like [`rounds`], for calls that may fail. The first error ends the loop.
#[inline(always)]
pub(super) fn rounds_or_error(loops: u64, mut each: impl FnMut(u64) -> io::Result<bool>) -> io::Result<u64> {
    let mut worked = 0;
    for round in 0..loops {
        worked += u64::from(each(round)?);
    }
    Ok(worked)
}

/// Measures `work`, in which no event happens, on the calling thread.
pub(super) fn timed(loops: u64, work: impl FnOnce()) -> io::Result<Timed> {
    let meter = Meter::start(Who::Thread)?;
    work();
    Ok(Timed { loops, ..meter.stop()? })
}

/// Opens a probe of `call`, which makes `calls` system calls and returns whether the result was correct.
pub(super) fn counted<S: 'static>(
    what: &str,
    calls: f64,
    state: S,
    call: impl Fn(&mut S, u64) -> bool + 'static,
) -> Reading<Box<dyn Primitive>> {
    open(
        what,
        Facts::of_calls(calls),
        state,
        move |state, loops| match rounds(loops, |round| call(state, round)) {
            // No result was correct: errno still has the reason of the last call.
            0 if loops > 0 => Err(io::Error::last_os_error()),
            right => Ok(right),
        },
        |_, loops| {
            black_box(rounds(loops, |round| opaque(round) == round));
            Ok(())
        },
    )
}
