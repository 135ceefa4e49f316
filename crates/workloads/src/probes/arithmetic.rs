//! Function calls and atomic additions, which need no kernel.

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use steady_model::{Absent, Reading, Timed};

use super::alone::{self, Facts};
use super::partner::{Line, Partner, wait_until};
use super::{Primitive, ProbeCpus};
use crate::raw::{Function, opaque, opaque_function};

/// Adds one: a function with almost no work.
extern "C" fn add_one(value: u64) -> u64 {
    opaque(value) + 1
}

/// Calls a function that the compiler does not know. The number of calls is the sum that the function computes. Each
/// call depends on the result of the previous one.
pub(super) fn function_call() -> Reading<Box<dyn Primitive>> {
    let facts = Facts { subtracted: "the addition in the function", ..Facts::of_calls(0.0) };
    let function: Function = opaque_function(add_one);
    alone::open(
        "a function call",
        facts,
        0_u64,
        move |sum, loops| {
            let before = *sum;
            let mut value = before;
            for _ in 0..loops {
                value = function(value);
            }
            *sum = value;
            Ok(value - before)
        },
        |_, loops| {
            let mut value = 0;
            for _ in 0..loops {
                value = opaque(value) + 1;
            }
            black_box(value);
            Ok(())
        },
    )
}

/// Does nothing, so its calls cannot be counted by their effect, and the CPU overlaps them with each other.
extern "C" fn nothing(_: u64) -> u64 {
    0
}

/// Calls an empty function that the compiler does not know. The number of calls is that of the repetitions.
pub(super) fn empty_function() -> Reading<Box<dyn Primitive>> {
    let function: Function = opaque_function(nothing);
    alone::open(
        "a function call",
        Facts::of_calls(0.0),
        (),
        move |(), loops| {
            for round in 0..loops {
                black_box(function(round));
            }
            Ok(loops)
        },
        |(), loops| {
            empty_loop(loops);
            Ok(())
        },
    )
}

/// Atomic additions to a word in a cache line that no other thread uses. The value of the word is the number of
/// additions.
pub(super) fn atomic_alone() -> Reading<Box<dyn Primitive>> {
    alone::open(
        "an atomic addition",
        Facts::of_calls(0.0),
        Box::new(Line(AtomicU64::new(0))),
        |word, loops| {
            let before = word.0.load(Ordering::Relaxed);
            add(&word.0, loops);
            Ok(word.0.load(Ordering::Relaxed) - before)
        },
        |_, loops| {
            empty_loop(loops);
            Ok(())
        },
    )
}

#[inline(always)]
fn add(word: &AtomicU64, loops: u64) {
    for _ in 0..loops {
        black_box(word).fetch_add(1, Ordering::SeqCst);
    }
}

#[inline(always)]
fn empty_loop(loops: u64) {
    for round in 0..loops {
        opaque(round);
    }
}

/// A word to which two threads add. Each field has a cache line of its own.
#[derive(Default)]
struct Contended {
    word: Line<AtomicU64>,
    /// The number of additions by the partner, set when it stops.
    partner: Line<AtomicU64>,
    stop: Line<AtomicBool>,
}

struct AtomicContended {
    shared: Arc<Contended>,
    partner: Partner,
}

/// Atomic additions to a word to which a thread on another CPU adds continuously. The cost is that of one addition by
/// this thread. Their number is the value of the word minus the additions of the other thread.
pub(super) fn atomic_contended(place: &ProbeCpus) -> Reading<Box<dyn Primitive>> {
    let shared = Arc::new(Contended::default());
    let theirs = Arc::clone(&shared);
    let partner = Partner::start(Some(place.other.clone()?), move |_| {
        let mut added = 0;
        while !theirs.stop.0.load(Ordering::Acquire) {
            theirs.word.0.fetch_add(1, Ordering::SeqCst);
            added += 1;
        }
        theirs.partner.0.store(added, Ordering::Release);
        Ok(())
    })?;
    Ok(Box::new(AtomicContended { shared, partner }))
}

impl Primitive for AtomicContended {
    fn calls_per_loop(&self) -> Reading<f64> {
        Err(Absent::because("waiting for the other CPU makes a varying number of system calls"))
    }

    fn run(&mut self, loops: u64) -> io::Result<Timed> {
        let shared = Arc::clone(&self.shared);
        let before = shared.word.0.load(Ordering::SeqCst);
        shared.stop.0.store(false, Ordering::SeqCst);
        let begun = || wait_until(|| shared.word.0.load(Ordering::Relaxed) != before);
        let own = || {
            add(&shared.word.0, loops);
            Ok(())
        };
        let timed = self.partner.together(loops, begun, own, || shared.stop.0.store(true, Ordering::Release))?;
        let added = shared.word.0.load(Ordering::SeqCst) - before;
        Ok(Timed { loops, events: added - shared.partner.0.load(Ordering::SeqCst), ..timed })
    }

    fn empty(&mut self, loops: u64) -> io::Result<Timed> {
        alone::timed(loops, || empty_loop(loops))
    }
}
