//! Probes that one thread runs by itself.

use std::hint::black_box;
use std::io;

use steady_model::{Absent, Reading, Timed};

use super::Primitive;
use super::meter::{Meter, Who};
use crate::raw::opaque;

/// What is known of a probe's loop.
pub(super) struct Facts {
    /// Whose work counts.
    pub(super) who: Who,
    /// The system calls of a round.
    pub(super) calls: Reading<f64>,
    /// The events of a round.
    pub(super) events: f64,
    /// What the empty loop does as well.
    pub(super) subtracted: &'static str,
    /// How often the event happened, from what the loop says and what was counted meanwhile.
    pub(super) counted: fn(u64, &Timed) -> u64,
}

impl Facts {
    /// One event a round, as the loop says, by the calling thread with so many system calls, and nothing else.
    pub(super) fn of_calls(calls: f64) -> Self {
        Facts { who: Who::Thread, calls: Ok(calls), events: 1.0, subtracted: "", counted: |told, _| told }
    }
}

/// A loop with the event in it and one without, over the same state.
struct Alone<S, P, E> {
    facts: Facts,
    state: S,
    probe: P,
    empty: E,
}

/// A probe of `probe`, which goes round as often as it is told and returns how often its event happened, and of `empty`,
/// which goes round as often without it.
///
/// It is tried once; absent with the reason where `what` does not work.
pub(super) fn open<S, P, E>(what: &str, facts: Facts, state: S, probe: P, empty: E) -> Reading<Box<dyn Primitive>>
where
    S: 'static,
    P: FnMut(&mut S, u64) -> io::Result<u64> + 'static,
    E: FnMut(&mut S, u64) -> io::Result<()> + 'static,
{
    let mut alone = Alone { facts, state, probe, empty };
    match (alone.probe)(&mut alone.state, 1) {
        Ok(0) => Err(Absent::because(format!("{what} does not do here what it should"))),
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
        let told = (self.probe)(&mut self.state, loops)?;
        let timed = meter.stop()?;
        Ok(Timed { loops, events: (self.facts.counted)(told, &timed), ..timed })
    }

    fn empty(&mut self, loops: u64) -> io::Result<Timed> {
        let meter = Meter::start(self.facts.who)?;
        (self.empty)(&mut self.state, loops)?;
        let timed = meter.stop()?;
        Ok(Timed { loops, events: (self.facts.counted)(0, &timed), ..timed })
    }
}

/// Does it `loops` times, with the number of the round; how often it said that it worked.
#[inline(always)]
pub(super) fn rounds(loops: u64, mut each: impl FnMut(u64) -> bool) -> u64 {
    let mut worked = 0;
    for round in 0..loops {
        worked += u64::from(each(round));
    }
    worked
}

/// The same where each may fail, which ends it.
#[inline(always)]
pub(super) fn rounds_or_error(loops: u64, mut each: impl FnMut(u64) -> io::Result<bool>) -> io::Result<u64> {
    let mut worked = 0;
    for round in 0..loops {
        worked += u64::from(each(round)?);
    }
    Ok(worked)
}

/// What the calling thread takes for `work`, in which no event happens.
pub(super) fn timed(loops: u64, work: impl FnOnce()) -> io::Result<Timed> {
    let meter = Meter::start(Who::Thread)?;
    work();
    Ok(Timed { loops, ..meter.stop()? })
}

/// A call that counts where `call` says so, `calls` of them a round.
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
            // Not one that was right: the last one's reason is still there.
            0 if loops > 0 => Err(io::Error::last_os_error()),
            right => Ok(right),
        },
        |_, loops| {
            black_box(rounds(loops, |round| opaque(round) == round));
            Ok(())
        },
    )
}
