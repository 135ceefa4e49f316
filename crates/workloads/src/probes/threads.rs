//! Threads that end at once.

use std::hint::black_box;

use steady_model::{Absent, Reading};

use super::Primitive;
use super::alone::{self, Facts, rounds, rounds_or_error};
use super::meter::Who;
use crate::raw::{opaque, start_and_join};

/// pthread_create(3) of a thread that returns at once, and pthread_join(3) of it; counted where it returned what it
/// should. The C library keeps the stack of a thread that has ended for the next one.
pub(super) fn open() -> Reading<Box<dyn Primitive>> {
    let facts = Facts {
        who: Who::Process,
        calls: Err(Absent::because("what is called to start a thread is for the C library to decide")),
        ..Facts::of_calls(0.0)
    };
    alone::open(
        "a thread",
        facts,
        (),
        |(), loops| {
            rounds_or_error(loops, |round| {
                let round = round as usize;
                Ok(start_and_join(round)? == round + 1)
            })
        },
        |(), loops| {
            black_box(rounds(loops, |round| opaque(round) == round));
            Ok(())
        },
    )
}
