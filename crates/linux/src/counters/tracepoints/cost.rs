//! What it costs a program that its system calls are counted.

use std::hint::black_box;

use steady_model::{Absent, Nanos, Reading};

use super::super::event::Event;
use super::tracefs::Tracefs;
use super::{CALLS, refused};
use crate::{Root, clock};

/// Rounds of both kinds, and system calls in each.
const ROUNDS: usize = 5;
const PER_ROUND: u64 = 2_000;

/// What the counting of a system call adds to it, by this thread's own: the median over rounds with the counter and
/// without, in turns. What it takes, tenths of a second, is mostly the kernel putting the counter in place and taking it
/// away.
pub fn cost_per_call() -> Reading<Nanos> {
    let event = Event::tracepoint(Tracefs::open(&Root::default())?.number(CALLS)?);
    let mut extra = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let without = round();
        let counter = event.of_this_thread().map_err(|error| refused(&error))?;
        let with = round();
        drop(counter);
        extra.push(with.0 as i64 - without.0 as i64);
    }
    extra.sort_unstable();
    let extra = u64::try_from(extra[ROUNDS / 2]).unwrap_or(0) / PER_ROUND;
    if extra == 0 { Err(Absent::because("it is too little to be told from noise")) } else { Ok(Nanos(extra)) }
}

fn round() -> Nanos {
    // The first few calls after a change of the way into the kernel are slow.
    calls(PER_ROUND / 20);
    let start = clock::thread_cpu();
    calls(PER_ROUND);
    clock::thread_cpu() - start
}

fn calls(count: u64) {
    for _ in 0..count {
        black_box(rustix::process::getppid());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
    fn counting_a_call_costs_something_and_not_much() {
        match cost_per_call() {
            Ok(cost) => assert!((1..20_000).contains(&cost.0), "{cost:?}"),
            Err(absent) => eprintln!("skipped: counting_a_call_costs_something_and_not_much: {absent}"),
        }
    }
}
