//! Hashing for so much CPU time, exactly or the published way.

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};

use steady_linux::clock;
use steady_model::Nanos;
use steady_workloads::Hashes;

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
