//! What it costs a program that its system calls are counted.

use std::hint::black_box;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::thread;

use steady_model::{Absent, Nanos, Reading};

use super::super::event::Event;
use super::tracefs::Tracefs;
use super::{CALLS, refused};
use crate::{Root, clock, process, topology};

/// Rounds with the counter and without.
const ROUNDS: usize = 5;
/// Of each kind in a round: system calls; threads made; times that two threads pass a byte there and back.
const CALLS_MADE: u64 = 2_000;
const THREADS_MADE: u64 = 30;
const ROUND_TRIPS: u64 = 300;
/// Each is a switch there and one back, by two reads and two writes.
const SWITCHES: u64 = 2 * ROUND_TRIPS;
const CALLS_TO_SWITCH: u64 = 4 * ROUND_TRIPS;

/// What a counter of system calls makes dearer, for the threads that are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountingCost {
    /// A system call.
    pub per_call: Reading<Nanos>,
    /// A process or thread that inherits the counter, and gives it back at its end.
    pub per_task: Reading<Nanos>,
    /// Passing the CPU from one thread to another, both of which are counted.
    pub per_switch: Reading<Nanos>,
}

/// What the counting costs here, by threads of this process: the medians over rounds with the counter and without, in
/// turns. What it takes, tenths of a second, is mostly the kernel putting the counter in place and taking it away.
///
/// Absent where system calls cannot be counted.
pub fn cost() -> Reading<CountingCost> {
    let event = Event::tracepoint(Tracefs::open(&Root::default())?.number(CALLS)?);
    let rounds = move || -> Reading<Vec<[i64; 3]>> {
        // On one CPU passing it on is nothing but a switch.
        topology::allowed_cpus(&Root::default()).and_then(|cpus| {
            process::keep_to(&cpus[..1]).map_err(|error| Absent::because(format!("sched_setaffinity(2): {error}")))
        })?;
        (0..ROUNDS).map(|_| extra(event)).collect()
    };
    // A thread of its own, which may be pinned and takes its counters with it.
    let rounds = thread::Builder::new().spawn(rounds);
    let rounds = rounds.map_err(|error| Absent::because(format!("no thread could be started: {error}")))?.join();
    let rounds = rounds.unwrap_or_else(|_| Err(Absent::because("it could not be measured")))?;
    let middle = |place: usize, events: u64| {
        let mut extra: Vec<i64> = rounds.iter().map(|round| round[place]).collect();
        extra.sort_unstable();
        match u64::try_from(extra[ROUNDS / 2]).unwrap_or(0) / events {
            0 => Err(Absent::because("it is too little to be told from noise")),
            extra => Ok(Nanos(extra)),
        }
    };
    Ok(CountingCost {
        per_call: middle(0, CALLS_MADE),
        per_task: middle(1, THREADS_MADE),
        per_switch: middle(2, SWITCHES),
    })
}

/// What is dearer in one round: calls, threads, switches, in nanoseconds of CPU time.
fn extra(event: Event) -> Reading<[i64; 3]> {
    let pieces = || Ok([calls(), threads(), switches()?]);
    let words = |error: io::Error| Absent::because(error.to_string());
    let without = pieces().map_err(words)?;
    let counter = event.of_this_thread_and_its_children().map_err(|error| refused(&error))?;
    let with = pieces().map_err(words)?;
    drop(counter);
    let [calls, threads, switches] = [0, 1, 2].map(|place: usize| with[place].0 as i64 - without[place].0 as i64);
    Ok([calls, threads, switches - calls * CALLS_TO_SWITCH as i64 / CALLS_MADE as i64])
}

fn calls() -> Nanos {
    let make = |count: u64| {
        for _ in 0..count {
            black_box(rustix::process::getppid());
        }
    };
    // The first few calls after a change of the way into the kernel are slow.
    make(CALLS_MADE / 20);
    let start = clock::thread_cpu();
    make(CALLS_MADE);
    clock::thread_cpu() - start
}

fn threads() -> Nanos {
    let start = clock::process_cpu();
    for _ in 0..THREADS_MADE {
        // A thread that cannot be made costs nothing, and then neither does what is measured here.
        let _ = thread::Builder::new().spawn(|| ()).map(thread::JoinHandle::join);
    }
    clock::process_cpu() - start
}

/// Passes a byte there and back between this thread and another that is pinned to the same CPU.
fn switches() -> io::Result<Nanos> {
    let (mut theirs, mut there) = io::pipe()?;
    let (mut back, mut answer) = io::pipe()?;
    let partner = thread::Builder::new().spawn(move || while pass(&mut theirs, &mut answer).is_ok() {})?;
    let start = clock::process_cpu();
    for _ in 0..ROUND_TRIPS {
        there.write_all(b".").and_then(|()| back.read_exact(&mut [0]))?;
    }
    let took = clock::process_cpu() - start;
    drop(there);
    let _ = partner.join();
    Ok(took)
}

/// Waits for a byte and answers with one.
fn pass(from: &mut PipeReader, to: &mut PipeWriter) -> io::Result<()> {
    from.read_exact(&mut [0]).and_then(|()| to.write_all(b"."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
    fn counting_costs_something_and_not_much() {
        match cost() {
            Ok(CountingCost { per_call, per_task, per_switch }) => {
                let within = |cost: &Reading<Nanos>, most: u64| cost.as_ref().map_or(0, |cost| cost.0) < most;
                assert!((1..20_000).contains(&per_call.as_ref().unwrap().0), "{per_call:?}");
                // On a busy machine these may be lost in what others do.
                assert!(within(&per_task, 1_000_000) && within(&per_switch, 100_000), "{per_task:?} {per_switch:?}");
            }
            Err(absent) => eprintln!("skipped: counting_costs_something_and_not_much: {absent}"),
        }
    }
}
