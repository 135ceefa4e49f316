//! Readings of the clocks.

use std::hint::black_box;

use steady_model::{Probe, Reading};

use super::Primitive;
use super::alone::{self, Facts, rounds};
use crate::raw::{Clock, Moment, opaque};

/// A clock read into a place that held what no clock says, so that only a true reading counts.
pub(super) fn open(probe: Probe) -> Reading<Box<dyn Primitive>> {
    // The first two are answered from a page that the kernel shares, where its clock source can be read there.
    let (clock, calls) = match probe {
        Probe::ClockRealtime => (libc::CLOCK_REALTIME, 0.0),
        Probe::ClockMonotonic => (libc::CLOCK_MONOTONIC, 0.0),
        Probe::ClockProcessCpu => (libc::CLOCK_PROCESS_CPUTIME_ID, 1.0),
        _ => (libc::CLOCK_THREAD_CPUTIME_ID, 1.0),
    };
    let clock = Clock(clock);
    alone::open(
        "clock_gettime(2)",
        Facts::of_calls(calls),
        Moment::blank(),
        move |moment, loops| {
            Ok(rounds(loops, |_| {
                moment.erase();
                clock.read(moment) && moment.is_valid()
            }))
        },
        |moment, loops| {
            black_box(rounds(loops, |round| {
                moment.erase();
                moment.set(opaque(round & 0xff));
                moment.is_valid()
            }));
            Ok(())
        },
    )
}
