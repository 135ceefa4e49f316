//! The C library's mutex: taken where nobody wants it, and handed over to a thread on another CPU.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use steady_model::{Absent, Reading, Timed};

use super::alone::{self, Facts};
use super::partner::{Line, Partner, wait_until};
use super::{Place, Primitive};
use crate::alu;
use crate::raw::{Monitor, opaque};

fn refused() -> io::Error {
    io::Error::other("the C library refuses the mutex")
}

/// Locks and unlocks of a mutex; how many, by the number that is counted up while it is held.
///
/// Another thread is there all the while, asleep: a C library may leave out the atomic operations of a lock as long as a
/// process has one thread only, but what has one thread needs no lock.
pub(super) fn uncontended() -> Reading<Box<dyn Primitive>> {
    let asleep = Partner::start(None, |_| Ok(()))?;
    let facts = Facts { subtracted: "counting one up", ..Facts::of_calls(0.0) };
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

/// What both threads see.
struct Shared {
    /// Held by one of them; the number is [`Owner`]'s.
    mutex: Monitor,
    /// How many rounds have been taken.
    taken: Line<AtomicU64>,
    /// How many rounds somebody has come to the mutex for.
    come: Line<AtomicU64>,
}

/// Who held the mutex last, and how often that has changed.
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

/// How long the mutex is kept once somebody wants it: some microseconds, a few times what going to sleep takes.
const KEPT_STEPS: u64 = 2048;

const OURS: u64 = 0;
const THEIRS: u64 = 1;

struct Handovers {
    shared: Arc<Shared>,
    partner: Partner,
}

/// A mutex handed over between two threads on two CPUs. A handover is counted where a thread takes the mutex that the
/// other one held last, by a count that the mutex itself protects.
///
/// The rounds are taken by turns. Whoever's turn is next comes to the mutex as soon as the other one has it: it says so
/// in a word of memory and calls pthread_mutex_lock(3). The other one reads that, keeps the mutex for as long as it takes
/// to go to sleep, and then gives it back: so somebody waits whenever it becomes free, and is asleep, which the voluntary
/// switches show, unless the C library has its own threads spin. The cost is from there until the other one has it. The empty
/// loop has the same words and the same time of keeping, without the mutex.
pub(super) fn contended(place: &Place) -> Reading<Box<dyn Primitive>> {
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
    /// Does this thread's part of rounds 0 to `last`: those that leave `own` when halved.
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

    /// Has it, and keeps it until the other one comes for it.
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
    fn go(&mut self, loops: u64, with_mutex: bool) -> io::Result<Timed> {
        let shared = Arc::clone(&self.shared);
        let changes = || Ok::<_, io::Error>(Owner::from(*shared.mutex.lock().ok_or_else(refused)?.value()).changes);
        // The first round is this thread's and takes the mutex from nobody.
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
        "keeping the mutex until the other thread sleeps, and two words in memory by which they tell of it"
    }

    fn calls_per_loop(&self) -> Reading<f64> {
        Err(Absent::because(
            "how often somebody who waits looks for the mutex before and after sleeping is not always the same",
        ))
    }

    fn run(&mut self, loops: u64) -> io::Result<Timed> {
        self.go(loops, true)
    }

    fn empty(&mut self, loops: u64) -> io::Result<Timed> {
        self.go(loops, false)
    }
}
