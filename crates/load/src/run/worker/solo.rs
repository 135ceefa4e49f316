//! Work that the worker does itself: hashes for so much CPU time, or the sum of so many numbers.

use std::hint::black_box;
use std::io;

use steady_linux::{clock, process};
use steady_model::{Absent, Nanos, Outcome, Reading};
use steady_workloads::{Hashes, Sums};

use super::hash::Pace;
use super::{OwnDelay, Post};
use crate::LoadRun;
use crate::run::protocol::{Ran, Said};

/// Numbers that are summed before the start, so that code and data are where they will be.
const WARM_UP_NUMBERS: u64 = 100_000;

/// Hashes until `cpu_time` of the process's own is used since the start.
pub(super) fn hash(post: &Post, cpu_time: Nanos, poll: Option<Nanos>, seed: u64) -> io::Result<()> {
    let mut hashes = Hashes::new(seed);
    let pace = Pace::of(&mut hashes);
    match poll {
        None => measured(post, |start| pace.exactly(&mut hashes, start + cpu_time), |used| Ok(used - cpu_time)),
        Some(every) => {
            let polled = match pace.polled(every, cpu_time) {
                Ok(polled) => polled,
                Err(error) => return post.say(Said::Refused(crate::run::crowd::refusal(&error))),
            };
            measured(post, |start| polled.run(&mut hashes, start), |used| Ok(used - cpu_time))
        }
    }
}

/// Sums `work` random numbers.
pub(super) fn sum(post: &Post, work: u64, seed: u64) -> io::Result<()> {
    let mut sums = Sums::new(seed);
    black_box(sums.next(WARM_UP_NUMBERS));
    let sum = |_| {
        black_box(sums.next(work));
        work
    };
    measured(post, sum, |_| Err(Absent::because("the work has no limit of CPU time")))
}

/// Does the work once the start is given, and says what it took. The work is told the process's CPU clock at the start
/// and tells how much it was; `overshoot` is told the CPU time that it took.
fn measured(
    post: &Post,
    work: impl FnOnce(Nanos) -> u64,
    overshoot: impl FnOnce(Nanos) -> Reading<Nanos>,
) -> io::Result<()> {
    let delay = OwnDelay::open();
    post.say(Said::Ready)?;
    // From here on, for waiting for a CPU once the start is given is part of the wall time too.
    let delayed = delay.read();
    post.wait_for_start()?;
    let usage = process::own_usage()?;
    let before = clock::process_cpu();
    let work = work(before);
    let cpu = clock::process_cpu() - before;
    let ended = clock::monotonic();
    let run_delay = delay.since(delayed);
    // The clock is exact where the kernel splits user and system time by ticks.
    let system = (process::own_usage()?.system - usage.system).min(cpu);
    let run = LoadRun {
        user: cpu - system,
        system,
        wall: Nanos::ZERO,
        run_delay,
        work,
        overshoot: overshoot(cpu),
        outcome: Outcome::Exited(0),
    };
    post.say(Said::Ran(vec![Ran { started: None, ended, run }]))?;
    post.say(Said::Done { before, own: Nanos::ZERO, ended })
}
