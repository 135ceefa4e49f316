//! The C library's mutex: without contention, and passed to a thread on another CPU.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use steady_model::{Absent, Reading, Timed};

use super::alone::{self, Facts};
use super::partner::{Line, Partner, wait_until};
use super::{Primitive, ProbeCpus};
use crate::alu;
use crate::raw::{Monitor, opaque};

fn refused() -> io::Error {
    io::Error::other("the C library returned an error for the mutex")
}

/// Locks and unlocks a mutex. The number of times is a counter protected by the mutex.
///
/// Another thread exists and sleeps during the measurement. A C library may omit the atomic operations of a lock while
/// a process has only one thread, but such a process needs no lock.
pub(super) fn uncontended() -> Reading<Box<dyn Primitive>> {
    let asleep = Partner::start(None, |_| Ok(()))?;
    let facts = Facts { subtracted: "incrementing the counter", ..Facts::of_calls(0.0) };
    alone::open(
        "a mutex",
        facts,
        (Monitor::new(0), asleep, 0_u64),
        |(monitor, _, _), loops| {
            let before = *monitor.lock().ok_or_else(refused)?.value();
            for _ in 0..loops {
                *monitor.lock().ok_or_else(refused)?.value() += 1;
            }
            Ok(*monitor.lock().ok_or_else(refused)?.value() - before)
        },
        |(_, _, count), loops| {
            for _ in 0..loops {
                *count = opaque(*count) + 1;
            }
            Ok(())
        },
    )
}

/// The memory that both threads use.
struct Shared {
    /// The mutex that is passed between the threads. Its value is the [`Owner`] as a number.
    mutex: Monitor,
    /// The number of rounds in which a thread has acquired the mutex.
    taken: Line<AtomicU64>,
    /// The number of rounds for which a thread has announced that it wants the mutex.
    come: Line<AtomicU64>,
}

/// The last owner of the mutex, and the number of changes of the owner.
struct Owner {
    who: u64,
    changes: u64,
}

impl Owner {
    fn from(number: u64) -> Self {
        Owner { who: number & 1, changes: number >> 1 }
    }

    fn number(&self) -> u64 {
        self.changes << 1 | self.who
    }
}

/// Steps of work by the owner after the other thread announced itself: some microseconds, a few times the duration of
/// going to sleep.
const KEPT_STEPS: u64 = 2048;

const OURS: u64 = 0;
const THEIRS: u64 = 1;

struct Handovers {
    shared: Arc<Shared>,
    partner: Partner,
}

/// Passes a mutex between two threads on two CPUs. A handover is counted if a thread acquires the mutex and the other
/// thread was the last owner. The mutex itself protects this count.
///
/// The threads alternate. As soon as one has the mutex, the other one announces itself in a word of memory and calls
/// pthread_mutex_lock(3). The owner reads the word, keeps the mutex long enough for the other thread to fall asleep,
/// and then unlocks it. A thread therefore always waits when the mutex is unlocked, and it is asleep, unless the C
/// library spins; the voluntary context switches show this. The cost is the time from the unlock until the other thread
/// has the mutex. The empty loop uses the same words and the same delay, without the mutex.
pub(super) fn contended(place: &ProbeCpus) -> Reading<Box<dyn Primitive>> {
    let lines = (Line::default(), Line::default());
    let shared = Arc::new(Shared { mutex: Monitor::new(0), taken: lines.0, come: lines.1 });
    let theirs = Arc::clone(&shared);
    let partner = Partner::start(Some(place.other.clone()?), move |order| {
        let (rounds, with_mutex) = (order >> 1, order & 1 == 1);
        theirs.take_turns(THEIRS, rounds, with_mutex)
    })?;
    Ok(Box::new(Handovers { shared, partner }))
}

impl Shared {
    /// Runs this thread's part of the rounds 0 to `last`: the even ones or, if `own` is 1, the odd ones.
    fn take_turns(&self, own: u64, last: u64, with_mutex: bool) -> io::Result<()> {
        for round in (own..=last).step_by(2) {
            wait_until(|| self.taken.0.load(Ordering::Acquire) >= round);
            self.come.0.store(round + 1, Ordering::Release);
            if with_mutex {
                let mut held = self.mutex.lock().ok_or_else(refused)?;
                note_owner(held.value(), own);
                self.keep(round, last);
            } else {
                self.keep(round, last);
            }
        }
        Ok(())
    }

    /// Announces that this thread has the mutex, and keeps it until the other thread waits for it.
    #[inline(always)]
    fn keep(&self, round: u64, last: u64) {
        self.taken.0.store(round + 1, Ordering::Release);
        if round < last {
            wait_until(|| self.come.0.load(Ordering::Acquire) >= round + 2);
            alu(KEPT_STEPS);
        }
    }
}

#[inline(always)]
fn note_owner(number: &mut u64, own: u64) {
    let before = Owner::from(*number);
    let changes = before.changes + u64::from(before.who != own);
    *number = Owner { who: own, changes }.number();
}

impl Handovers {
    fn run_rounds(&mut self, loops: u64, with_mutex: bool) -> io::Result<Timed> {
        let shared = Arc::clone(&self.shared);
        let changes = || Ok::<_, io::Error>(Owner::from(*shared.mutex.lock().ok_or_else(refused)?.value()).changes);
        // Round 0 belongs to this thread. Making it the owner avoids counting that round as a handover.
        *shared.mutex.lock().ok_or_else(refused)?.value() &= !1;
        let before = changes()?;
        shared.taken.0.store(0, Ordering::Release);
        shared.come.0.store(0, Ordering::Release);
        let own = || shared.take_turns(OURS, loops, with_mutex);
        let timed = self.partner.together(loops << 1 | u64::from(with_mutex), || (), own, || ())?;
        Ok(Timed { loops, events: changes()? - before, ..timed })
    }
}

impl Primitive for Handovers {
    fn subtracted(&self) -> &'static str {
        "keeping the mutex until the other thread sleeps, and the two words of memory that coordinate the threads"
    }

    fn calls_per_loop(&self) -> Reading<f64> {
        Err(Absent::because("the number of attempts of a waiting thread before and after sleeping varies"))
    }

    fn run(&mut self, loops: u64) -> io::Result<Timed> {
        self.run_rounds(loops, true)
    }

    fn empty(&mut self, loops: u64) -> io::Result<Timed> {
        self.run_rounds(loops, false)
    }
}
