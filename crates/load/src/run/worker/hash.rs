//! Work that the worker does itself: hashes for so much CPU time, exactly or the published way, or the sum of so many numbers.

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};

use steady_linux::{clock, process};
use steady_model::{Absent, Nanos, Outcome, Reading};
use steady_workloads::{Hashes, Sums};

use super::{OwnDelay, Post};
use crate::LoadRun;
use crate::run::protocol::{Ran, Said};

/// Hashes that are made before the start to see how fast they go.
const WARM_UP_HASHES: u64 = 4_096;

/// The longest time between two looks at the CPU clock, and between two questions whether a polling thread has ended
/// it, which cost next to nothing.
const LONGEST: Nanos = Nanos(2_000_000);
const BETWEEN_QUESTIONS: Nanos = Nanos(20_000);

/// How fast hashes go, in nanoseconds of CPU time each.
pub(super) struct Pace(f64);

impl Pace {
    pub(super) fn of(hashes: &mut Hashes) -> Self {
        let before = clock::process_cpu();
        black_box(hashes.next(WARM_UP_HASHES));
        Pace((clock::process_cpu() - before).0.max(1) as f64 / WARM_UP_HASHES as f64)
    }

    /// Hashes until the process's CPU clock has reached `end`; how many.
    ///
    /// It looks at the clock after a quarter of what is left by the present pace, so that even a core that is suddenly
    /// shared is caught in time, and the last steps are a hash long.
    pub(super) fn exactly(mut self, hashes: &mut Hashes, end: Nanos) -> u64 {
        let mut made = 0;
        let mut now = clock::process_cpu();
        while now < end {
            let count = self.count_for(Nanos((end - now).0 / 4).min(LONGEST));
            black_box(hashes.next(count));
            made += count;
            let after = clock::process_cpu();
            self = Pace((after - now).0.max(1) as f64 / count as f64);
            now = after;
        }
        made
    }

    fn count_for(&self, time: Nanos) -> u64 {
        ((time.0 as f64 / self.0) as u64).max(1)
    }

    /// A thread that is to end the work: it wakes every `every` and looks whether `cpu_time` is used. It sleeps until
    /// the start.
    pub(super) fn polled(&self, every: Nanos, cpu_time: Nanos) -> io::Result<Polled> {
        let word = Arc::new(Word::default());
        let heard = Arc::clone(&word);
        let poller = thread::Builder::new().stack_size(POLLER_STACK_BYTES).spawn(move || {
            while heard.start.load(Ordering::Acquire) == 0 {
                thread::park();
            }
            let end = Nanos(heard.start.load(Ordering::Acquire)) + cpu_time;
            while sleep_and_look(every) < end {}
            heard.used.store(true, Ordering::Relaxed);
        })?;
        Ok(Polled { poller: poller.thread().clone(), word, count: self.count_for(BETWEEN_QUESTIONS) })
    }
}

/// The polling thread calls next to nothing.
pub(in crate::run) const POLLER_STACK_BYTES: usize = 64 * 1024;

/// What a polling thread does all the time: sleeps, and reads the process's CPU clock.
pub(in crate::run) fn sleep_and_look(every: Nanos) -> Nanos {
    thread::sleep(every.into());
    clock::process_cpu()
}

/// What the work and the polling thread tell each other.
#[derive(Default)]
struct Word {
    /// The CPU clock when the work began, in nanoseconds; never 0 once it has.
    start: AtomicU64,
    /// Whether its CPU time is used.
    used: AtomicBool,
}

/// Work that a polling thread ends.
pub(super) struct Polled {
    poller: Thread,
    word: Arc<Word>,
    count: u64,
}

impl Polled {
    /// Hashes until the thread says so, where the CPU clock is at `start` now; how many.
    pub(super) fn run(self, hashes: &mut Hashes, start: Nanos) -> u64 {
        self.word.start.store(start.0.max(1), Ordering::Release);
        self.poller.unpark();
        let mut made = 0;
        while !self.word.used.load(Ordering::Relaxed) {
            black_box(hashes.next(self.count));
            made += self.count;
        }
        made
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_follow_the_pace_and_are_never_empty() {
        assert_eq!(Pace(100.0).count_for(Nanos(20_000)), 200);
        assert_eq!(Pace(100.0).count_for(Nanos(20)), 1);
        assert_eq!(Pace(0.5).count_for(Nanos(20)), 40);
    }

    #[test]
    fn the_clock_is_reached_and_hardly_passed() {
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
