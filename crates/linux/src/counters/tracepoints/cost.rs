//! What it costs a program that its system calls are counted.

use std::hint::black_box;
use std::thread;

use steady_model::{Absent, Nanos, Reading};

use super::super::event::Event;
use super::tracefs::Tracefs;
use super::{CALLS, counter, refused};
use crate::{Root, clock};

/// Rounds of both kinds, and system calls in each.
const ROUNDS: usize = 5;
const PER_ROUND: u64 = 2_000;
/// Threads made in each round.
const THREADS_PER_ROUND: u64 = 30;

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
    middle(extra, PER_ROUND)
}

/// What a process or thread costs more because it inherits a counter, and gives it back at its end: by threads of this
/// process, as [`cost_per_call`].
pub fn cost_per_process() -> Reading<Nanos> {
    let (root, tracefs) = (Root::default(), Tracefs::open(&Root::default())?);
    let mut extra = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let without = threads();
        let inherited = counter(&root, &tracefs, CALLS)?;
        let with = threads();
        drop(inherited);
        extra.push(with.0 as i64 - without.0 as i64);
    }
    middle(extra, THREADS_PER_ROUND)
}

/// The median over rounds, by so many events in each.
fn middle(mut extra: Vec<i64>, events: u64) -> Reading<Nanos> {
    extra.sort_unstable();
    let extra = u64::try_from(extra[ROUNDS / 2]).unwrap_or(0) / events;
    if extra == 0 { Err(Absent::because("it is too little to be told from noise")) } else { Ok(Nanos(extra)) }
}

fn threads() -> Nanos {
    let start = clock::process_cpu();
    for _ in 0..THREADS_PER_ROUND {
        // A thread that cannot be made costs nothing, and then neither does what is measured here.
        let _ = thread::Builder::new().spawn(|| ()).map(thread::JoinHandle::join);
    }
    clock::process_cpu() - start
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
    fn inheriting_a_counter_costs_something_and_not_much() {
        match cost_per_process() {
            Ok(cost) => assert!((1..1_000_000).contains(&cost.0), "{cost:?}"),
            Err(absent) => eprintln!("skipped: inheriting_a_counter_costs_something_and_not_much: {absent}"),
        }
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
    fn counting_a_call_costs_something_and_not_much() {
        match cost_per_call() {
            Ok(cost) => assert!((1..20_000).contains(&cost.0), "{cost:?}"),
            Err(absent) => eprintln!("skipped: counting_a_call_costs_something_and_not_much: {absent}"),
        }
    }
}
