//! Signals that a thread sends to itself.

use std::hint::black_box;

use steady_model::Reading;

use super::alone::{self, Facts, rounds};
use super::{Primitive, refused};
use crate::raw::{Handled, opaque};

/// tgkill(2) of a real-time signal to the thread itself, and its handler, which has run when the call returns; counted by
/// the handler. The second call of a round is the handler's return.
pub(super) fn open() -> Reading<Box<dyn Primitive>> {
    let handled = Handled::install().map_err(|error| refused("a handler for a signal", &error))?;
    alone::open(
        "tgkill(2)",
        Facts::of_calls(2.0),
        handled,
        |handled, loops| {
            let before = handled.count();
            let target = handled.target();
            black_box(rounds(loops, |_| target.send()));
            Ok(handled.count() - before)
        },
        |_, loops| {
            black_box(rounds(loops, |round| opaque(round) == round));
            Ok(())
        },
    )
}
