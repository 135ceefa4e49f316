//! Measures how much counting system calls slows a program down.

use std::hint::black_box;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::thread;

use steady_model::{Absent, Nanos, Reading};

use super::super::event::Event;
use super::tracefs::Tracefs;
use super::{CALLS, refused};
use crate::{Root, clock, process, topology};

/// Number of rounds, each with and without the counter.
const ROUNDS: usize = 5;
/// System calls in a round.
const CALLS_MADE: u64 = 2_000;
/// Threads created in a round.
const THREADS_MADE: u64 = 30;
/// Times in a round that two threads pass a byte there and back.
const ROUND_TRIPS: u64 = 300;
/// A round trip is two context switches, with two reads and two writes.
const SWITCHES: u64 = 2 * ROUND_TRIPS;
const CALLS_TO_SWITCH: u64 = 4 * ROUND_TRIPS;

/// Extra CPU time that a counter of system calls costs the threads that it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountingCost {
    /// Extra time per system call.
    pub per_call: Reading<Nanos>,
    /// Extra time per process or thread that inherits the counter and returns it when it ends.
    pub per_task: Reading<Nanos>,
    /// Extra time per context switch between two threads that are both counted.
    pub per_switch: Reading<Nanos>,
}

/// Measures the cost of counting on this machine with threads of this process: medians over rounds that alternate
/// between counter and no counter. It takes tenths of a second, most of which the kernel needs to install and remove
/// the counter.
///
/// Returns the reason if system calls cannot be counted.
pub fn cost() -> Reading<CountingCost> {
    let event = Event::tracepoint(Tracefs::open(&Root::default())?.number(CALLS)?);
    let rounds = move || -> Reading<Vec<[i64; 3]>> {
        // Pin the thread, so that passing the CPU on is only a context switch.
        topology::allowed_cpus(&Root::default()).and_then(|cpus| {
            process::keep_to(&cpus[..1]).map_err(|error| Absent::because(format!("sched_setaffinity(2): {error}")))
        })?;
        (0..ROUNDS).map(|_| extra(event)).collect()
    };
    // Use a separate thread, because pinning and the counters end with it.
    let rounds = thread::Builder::new().spawn(rounds);
    let rounds = rounds.map_err(|error| Absent::because(format!("cannot start a thread: {error}")))?.join();
    let rounds = rounds.unwrap_or_else(|_| Err(Absent::because("the measuring thread panicked")))?;
    let middle = |place: usize, events: u64| {
        let mut extra: Vec<i64> = rounds.iter().map(|round| round[place]).collect();
        extra.sort_unstable();
        match u64::try_from(extra[ROUNDS / 2]).unwrap_or(0) / events {
            0 => Err(Absent::because("the cost is too small to separate from noise")),
            extra => Ok(Nanos(extra)),
        }
    };
    Ok(CountingCost {
        per_call: middle(0, CALLS_MADE),
        per_task: middle(1, THREADS_MADE),
        per_switch: middle(2, SWITCHES),
    })
}

/// Extra cost in one round of calls, threads and switches, in nanoseconds of CPU time.
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
    // The first calls after the kernel changes its system call entry are slow.
    make(CALLS_MADE / 20);
    let start = clock::thread_cpu();
    make(CALLS_MADE);
    clock::thread_cpu() - start
}

fn threads() -> Nanos {
    let start = clock::process_cpu();
    for _ in 0..THREADS_MADE {
        // A thread that cannot be created costs nothing, so its cost is then not measured.
        let _ = thread::Builder::new().spawn(|| ()).map(thread::JoinHandle::join);
    }
    clock::process_cpu() - start
}

/// Passes a byte there and back between this thread and another one on the same CPU.
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

/// Waits for a byte and sends one back.
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
                // On a busy machine these costs may be smaller than the noise.
                assert!(within(&per_task, 1_000_000) && within(&per_switch, 100_000), "{per_task:?} {per_switch:?}");
            }
            Err(absent) => eprintln!("skipped: counting_costs_something_and_not_much: {absent}"),
        }
    }
}
