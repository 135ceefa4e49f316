//! The CPU passed between two threads. The events are the context switches that the kernel counts for both.

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

/// The value of the turn: the caller's or the partner's.
const OURS: u32 = 0;
const THEIRS: u32 = 1;

/// Two threads that alternate; the partner runs its part of the same rounds.
struct Turns<W> {
    partner: Partner,
    own: W,
}

/// Opens a probe with a condition variable for each thread. In each round, the turn passes to the partner and back, and
/// the thread without the turn waits. Mutex and condition variables are the C library's.
pub(super) fn by_condvar() -> Reading<Box<dyn Primitive>> {
    struct Shared {
        turn: Monitor,
        conditions: [Condition; 2],
    }
    /// Waits for the turn and passes it on. A thread that is `first` has the turn already, and waits afterwards.
    fn pass(shared: &Shared, own: u32, first: bool) -> io::Result<()> {
        let other = THEIRS - own;
        if !first {
            wait(shared, own)?;
        }
        *shared.turn.lock().ok_or_else(lock_error)?.value() = u64::from(other);
        shared.conditions[other as usize].signal();
        if first { wait(shared, own) } else { Ok(()) }
    }
    fn wait(shared: &Shared, own: u32) -> io::Result<()> {
        let mut held = shared.turn.lock().ok_or_else(lock_error)?;
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

fn lock_error() -> io::Error {
    io::Error::other("the C library returned an error for the mutex")
}

/// Opens a probe with futex(2). In each round, the turn, a word of memory, passes to the partner and back. The thread
/// without the turn sleeps until it is woken.
pub(super) fn by_futex() -> Reading<Box<dyn Primitive>> {
    fn wait(turn: &AtomicU32, own: u32) -> io::Result<()> {
        while turn.load(Ordering::Acquire) != own {
            match futex::wait(turn, futex::Flags::PRIVATE, THEIRS - own, None) {
                // The word changed, or a signal arrived, before the thread slept.
                Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
    fn pass(turn: &AtomicU32, to: u32) -> io::Result<()> {
        turn.store(to, Ordering::Release);
        futex::wake(turn, futex::Flags::PRIVATE, 1)?;
        Ok(())
    }
    let turn = Arc::new(AtomicU32::new(OURS));
    let theirs = Arc::clone(&turn);
    let partner = Partner::start(None, move |loops| {
        (0..loops).try_for_each(|_| wait(&theirs, THEIRS).and_then(|()| pass(&theirs, OURS)))
    })?;
    Ok(Box::new(Turns { partner, own: move || pass(&turn, THEIRS).and_then(|()| wait(&turn, OURS)) }))
}

impl<W: Fn() -> io::Result<()>> Primitive for Turns<W> {
    fn events_per_loop(&self) -> f64 {
        2.0
    }

    fn calls_per_loop(&self) -> Reading<f64> {
        Err(Absent::because("a thread that already has the turn does not call futex(2) to wait"))
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
