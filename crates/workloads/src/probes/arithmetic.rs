//! Calls of functions and atomic additions: what needs no kernel.

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use steady_model::{Absent, Reading, Timed};

use super::alone::{self, Facts};
use super::partner::{Line, Partner, wait_until};
use super::{Place, Primitive};
use crate::raw::{Function, opaque, opaque_function};

/// Adds one: the function that does next to nothing.
extern "C" fn add_one(value: u64) -> u64 {
    opaque(value) + 1
}

/// Calls of a function that the compiler cannot know; how often, by what it has added up. Each call begins with what the
/// one before it returned.
pub(super) fn function_call() -> Reading<Box<dyn Primitive>> {
    let facts = Facts { subtracted: "the addition that the function makes", ..Facts::of_calls(0.0) };
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

/// Atomic additions to a word whose cache line nobody else uses; how many, by its value.
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
            go_round(loops);
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
fn go_round(loops: u64) {
    for round in 0..loops {
        opaque(round);
    }
}

/// A word that two threads add to, each on a line of its own but for the word itself.
#[derive(Default)]
struct Contended {
    word: Line<AtomicU64>,
    /// How many of the additions are the partner's, once it has stopped.
    partner: Line<AtomicU64>,
    stop: Line<AtomicBool>,
}

struct AtomicContended {
    shared: Arc<Contended>,
    partner: Partner,
}

/// Atomic additions to a word that a thread on another CPU adds to all the while, without a pause. The cost is that of
/// one of this thread's additions; how many there were is the word's value less what the other has added.
pub(super) fn atomic_contended(place: &Place) -> Reading<Box<dyn Primitive>> {
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
        Err(Absent::because("waiting for the other CPU makes some now and then"))
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
        alone::timed(loops, || go_round(loops))
    }
}
