//! The CPU passed between two threads; how often, by the switches that the kernel has counted of both.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::Errno;
use rustix::thread::futex;
use steady_model::{Absent, Reading, Timed};

use super::meter::switches;
use super::partner::Partner;
use super::{Primitive, alone};
use crate::raw::{Condition, Monitor, opaque};

/// Whose turn it is.
const OURS: u32 = 0;
const THEIRS: u32 = 1;

/// Two threads, of which the partner does its part of the same rounds.
struct Turns<W> {
    partner: Partner,
    own: W,
}

/// Each round the turn goes there and back: whoever's it is not waits at a condition variable of its own. Mutex and
/// condition variables are the C library's.
pub(super) fn by_condvar() -> Reading<Box<dyn Primitive>> {
    struct Shared {
        turn: Monitor,
        conditions: [Condition; 2],
    }
    /// Waits for the turn and hands it over; `first` already has it.
    fn pass(shared: &Shared, own: u32, first: bool) -> io::Result<()> {
        let other = THEIRS - own;
        if !first {
            wait(shared, own)?;
        }
        *shared.turn.lock().ok_or_else(refused_lock)?.value() = u64::from(other);
        shared.conditions[other as usize].signal();
        if first { wait(shared, own) } else { Ok(()) }
    }
    fn wait(shared: &Shared, own: u32) -> io::Result<()> {
        let mut held = shared.turn.lock().ok_or_else(refused_lock)?;
        while *held.value() != u64::from(own) {
            shared.conditions[own as usize].wait(&mut held);
        }
        Ok(())
    }
    let shared = Arc::new(Shared { turn: Monitor::new(OURS.into()), conditions: [Condition::new(), Condition::new()] });
    let theirs = Arc::clone(&shared);
    let partner = Partner::start(None, move |loops| (0..loops).try_for_each(|_| pass(&theirs, THEIRS, false)))?;
    Ok(Box::new(Turns { partner, own: move || pass(&shared, OURS, true) }))
}

fn refused_lock() -> io::Error {
    io::Error::other("the C library refuses the mutex")
}

/// Each round the turn, a word in memory, goes there and back: whoever's it is not sleeps in futex(2) until it is woken.
pub(super) fn by_futex() -> Reading<Box<dyn Primitive>> {
    fn wait(turn: &AtomicU32, own: u32) -> io::Result<()> {
        while turn.load(Ordering::Acquire) != own {
            match futex::wait(turn, futex::Flags::PRIVATE, THEIRS - own, None) {
                // It was changed, or a signal came, before it slept.
                Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
    fn hand_over(turn: &AtomicU32, to: u32) -> io::Result<()> {
        turn.store(to, Ordering::Release);
        futex::wake(turn, futex::Flags::PRIVATE, 1)?;
        Ok(())
    }
    let turn = Arc::new(AtomicU32::new(OURS));
    let theirs = Arc::clone(&turn);
    let partner = Partner::start(None, move |loops| {
        (0..loops).try_for_each(|_| wait(&theirs, THEIRS).and_then(|()| hand_over(&theirs, OURS)))
    })?;
    Ok(Box::new(Turns { partner, own: move || hand_over(&turn, THEIRS).and_then(|()| wait(&turn, OURS)) }))
}

impl<W: Fn() -> io::Result<()>> Primitive for Turns<W> {
    fn events_per_loop(&self) -> f64 {
        2.0
    }

    fn calls_per_loop(&self) -> Reading<f64> {
        Err(Absent::because("who finds that it is its turn already does not call to wait for it"))
    }

    fn run(&mut self, loops: u64) -> io::Result<Timed> {
        let own = || (0..loops).try_for_each(|_| (self.own)());
        let timed = self.partner.together(loops, || (), own, || ())?;
        Ok(Timed { loops, events: switches(&timed), ..timed })
    }

    fn empty(&mut self, loops: u64) -> io::Result<Timed> {
        let timed = alone::timed(loops, || (0..loops).for_each(|round| _ = opaque(round)))?;
        Ok(Timed { events: switches(&timed), ..timed })
    }
}
