//! Work that the worker does itself: hashing for some CPU time (with an exact or a polled limit), or adding numbers.

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};

use steady_linux::{clock, process};
use steady_model::{Absent, Nanos, Outcome, Reading};
use steady_workloads::{Hashes, NumberSum};

use super::{LeaderConnection, OwnRunDelay};
use crate::LoadRun;
use crate::run::protocol::{Message, TimedRun};

/// Number of hashes before the start, to measure their speed.
const WARM_UP_HASHES: u64 = 4_096;

/// Maximum time between two readings of the CPU clock, and between two checks of the flag of a polling thread, which
/// cost almost nothing.
const MAX_STEP: Nanos = Nanos(2_000_000);
const FLAG_CHECK_INTERVAL: Nanos = Nanos(20_000);

/// CPU time per hash, in nanoseconds.
pub(super) struct Pace(f64);

impl Pace {
    pub(super) fn of(hashes: &mut Hashes) -> Self {
        let before = clock::process_cpu();
        black_box(hashes.next(WARM_UP_HASHES));
        Pace((clock::process_cpu() - before).0.max(1) as f64 / WARM_UP_HASHES as f64)
    }

    /// Hashes until the CPU clock of the process has reached `end`. Returns the number of hashes.
    ///
    /// Each step takes a quarter of the remaining time at the current pace. So a core that is suddenly shared does not
    /// cause a large overshoot, and the last steps are single hashes.
    pub(super) fn exactly(mut self, hashes: &mut Hashes, end: Nanos) -> u64 {
        let mut hashed = 0;
        let mut now = clock::process_cpu();
        while now < end {
            let count = self.count_for(Nanos((end - now).0 / 4).min(MAX_STEP));
            black_box(hashes.next(count));
            hashed += count;
            let after = clock::process_cpu();
            self = Pace((after - now).0.max(1) as f64 / count as f64);
            now = after;
        }
        hashed
    }

    fn count_for(&self, time: Nanos) -> u64 {
        ((time.0 as f64 / self.0) as u64).max(1)
    }

    /// Starts a thread that ends the work: it checks every `every` whether `cpu_time` is used. It sleeps until the
    /// start.
    pub(super) fn polled(&self, every: Nanos, cpu_time: Nanos) -> io::Result<Polled> {
        let state = Arc::new(SharedState::default());
        let thread_state = Arc::clone(&state);
        let poller = thread::Builder::new().stack_size(POLLER_STACK_BYTES).spawn(move || {
            while thread_state.start.load(Ordering::Acquire) == 0 {
                thread::park();
            }
            let end = Nanos(thread_state.start.load(Ordering::Acquire)) + cpu_time;
            while sleep_and_read_clock(every) < end {}
            thread_state.used.store(true, Ordering::Relaxed);
        })?;
        Ok(Polled { poller: poller.thread().clone(), state, count: self.count_for(FLAG_CHECK_INTERVAL) })
    }
}

/// Stack size of the polling thread, which calls only a few functions.
pub(in crate::run) const POLLER_STACK_BYTES: usize = 64 * 1024;

/// One step of a polling thread: sleeps, and reads the CPU clock of the process.
pub(in crate::run) fn sleep_and_read_clock(every: Nanos) -> Nanos {
    thread::sleep(every.into());
    clock::process_cpu()
}

/// State that the work and the polling thread share.
#[derive(Default)]
struct SharedState {
    /// CPU clock at the start of the work, in nanoseconds; 0 before the start.
    start: AtomicU64,
    /// Whether the CPU time is used.
    used: AtomicBool,
}

/// Work that a polling thread ends.
pub(super) struct Polled {
    poller: Thread,
    state: Arc<SharedState>,
    count: u64,
}

impl Polled {
    /// Hashes until the thread sets the flag. `start` is the CPU clock now. Returns the number of hashes.
    pub(super) fn run(self, hashes: &mut Hashes, start: Nanos) -> u64 {
        self.state.start.store(start.0.max(1), Ordering::Release);
        self.poller.unpark();
        let mut hashed = 0;
        while !self.state.used.load(Ordering::Relaxed) {
            black_box(hashes.next(self.count));
            hashed += self.count;
        }
        hashed
    }
}

/// Number of random numbers that are added before the start, to load code and data into the caches.
const WARM_UP_NUMBERS: u64 = 100_000;

/// Hashes until the process has used `cpu_time` since the start.
pub(super) fn hash(connection: &LeaderConnection, cpu_time: Nanos, poll: Option<Nanos>, seed: u64) -> io::Result<()> {
    let mut hashes = Hashes::new(seed);
    let pace = Pace::of(&mut hashes);
    match poll {
        None => measured(connection, |start| pace.exactly(&mut hashes, start + cpu_time), |used| Ok(used - cpu_time)),
        Some(every) => {
            let polled = match pace.polled(every, cpu_time) {
                Ok(polled) => polled,
                Err(error) => return connection.say(Message::Refused(crate::run::leader::refusal(&error))),
            };
            measured(connection, |start| polled.run(&mut hashes, start), |used| Ok(used - cpu_time))
        }
    }
}

/// Adds `work` random numbers.
pub(super) fn sum(connection: &LeaderConnection, work: u64, seed: u64) -> io::Result<()> {
    let mut sums = NumberSum::new(seed);
    black_box(sums.next(WARM_UP_NUMBERS));
    let sum = |_| {
        black_box(sums.next(work));
        work
    };
    measured(connection, sum, |_| Err(Absent::because("the work has no CPU time limit")))
}

/// Waits for the start, does the work and reports the run. `work` gets the CPU clock at the start and returns the
/// amount of work; `overshoot` gets the CPU time of the work.
fn measured(
    connection: &LeaderConnection,
    work: impl FnOnce(Nanos) -> u64,
    overshoot: impl FnOnce(Nanos) -> Reading<Nanos>,
) -> io::Result<()> {
    let delay = OwnRunDelay::open();
    connection.say(Message::Ready)?;
    // Measure the run delay from here on: waiting for a CPU after the start is part of the wall time.
    let delayed = delay.read();
    connection.wait_for_start()?;
    let usage = process::own_usage()?;
    let before = clock::process_cpu();
    let work = work(before);
    let cpu = clock::process_cpu() - before;
    let ended = clock::monotonic();
    let run_delay = delay.since(delayed);
    // The CPU clock is exact; the kernel may split user and system time by ticks.
    let system = (process::own_usage()?.system - usage.system).min(cpu);
    let run = LoadRun {
        user: cpu - system,
        system,
        wall: Nanos::ZERO,
        run_delay,
        work,
        overshoot: overshoot(cpu),
        outcome: Outcome::Exited(0),
        left_behind: 0,
    };
    connection.say(Message::Ran(vec![TimedRun { started: None, ended, run }]))?;
    connection.say(Message::Done { before, own: Nanos::ZERO, ended })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_follow_the_pace_and_are_at_least_one_hash() {
        assert_eq!(Pace(100.0).count_for(Nanos(20_000)), 200);
        assert_eq!(Pace(100.0).count_for(Nanos(20)), 1);
        assert_eq!(Pace(0.5).count_for(Nanos(20)), 40);
    }

    #[test]
    fn hashing_continues_until_the_end_time() {
        let mut hashes = Hashes::new(1);
        let pace = Pace::of(&mut hashes);
        let end = clock::process_cpu() + Nanos(20_000_000);
        assert!(pace.exactly(&mut hashes, end) > 0);
        assert!(clock::process_cpu() >= end);
    }

    #[test]
    fn a_polling_thread_ends_the_work() {
        let mut hashes = Hashes::new(1);
        let polled = Pace::of(&mut hashes).polled(Nanos(1_000_000), Nanos(5_000_000)).unwrap();
        let before = clock::process_cpu();
        assert!(polled.run(&mut hashes, before) > 0);
        assert!(clock::process_cpu() - before >= Nanos(5_000_000));
    }
}
