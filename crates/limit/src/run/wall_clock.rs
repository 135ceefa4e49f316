//! Wall time as the wall limit counts it: without the time in which the command was stopped or waited for a CPU.

use std::collections::VecDeque;

use steady_linux::tree::ThreadTimes;
use steady_model::{Absent, Nanos, Reading};
use steady_process::attended::Moment;

/// Number of intervals that are remembered for waits that the kernel reports late. A wait of a CPU-bound command lasts at
/// most a few seconds, and readings are at least [`RECHECK`](super::limits) apart if the limit is near.
const MOST_INTERVALS: usize = 256;

/// Wall time of a command so far, and the parts of it that do not count.
#[derive(Clone, Debug)]
pub(super) struct WallClock {
    started: Nanos,
    waiting: Reading<Nanos>,
    /// Time of the last reading, and how long the command had been stopped by then.
    seen: (Nanos, Nanos),
    usual: Usual,
    /// What the threads did between the latest readings, the last one at the end.
    intervals: VecDeque<Interval>,
    /// Number of CPUs that the command can use concurrently.
    cpus: f64,
}

/// How long the threads of a tree wait for a CPU in relation to their CPU time. It includes threads that no reading
/// could see to their end, and waits that have not ended: a thread that is runnable at a reading stands for the time until
/// the next one.
#[derive(Clone, Copy, Debug, Default)]
struct Usual {
    /// Sum of the times that threads ran or waited, in nanoseconds.
    runnable: f64,
    /// Sum of their CPU times, in nanoseconds.
    ran: f64,
    /// Number of threads that were runnable at the latest reading.
    now: usize,
}

impl Usual {
    /// Adds an interval of `span` with the CPU time `ran`. At its end, `runnable` threads are runnable.
    fn add(&mut self, span: f64, ran: f64, runnable: usize) {
        self.runnable += span * self.now as f64;
        self.ran += ran;
        self.now = runnable;
    }

    /// Returns the waiting of threads with the CPU time `cpu`.
    fn waiting(self, cpu: f64) -> f64 {
        if self.ran > 0.0 { cpu * (self.runnable / self.ran - 1.0).max(0.0) } else { 0.0 }
    }
}

/// What the threads of a tree did between two readings, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    /// Wall time without stops.
    span: f64,
    /// Sum of the run delays of all threads.
    delay: f64,
    /// Sum of the CPU times of all threads.
    ran: f64,
    /// Whether a thread was runnable at its start or end.
    runnable: bool,
}

impl Interval {
    /// Part of the wall time that counts as waiting: the wall time times the run delays' share of run delay and CPU
    /// time. It is never more than the sum of all run delays, and leaves the wall time that the CPU time needs on
    /// `cpus` CPUs. A command that always runs or waits for a CPU therefore never has more time that counts than CPU
    /// time.
    fn waiting(self, cpus: f64) -> f64 {
        if self.delay <= 0.0 {
            return 0.0;
        }
        let share = self.delay.min(self.span * self.delay / (self.delay + self.ran));
        share.min((self.span - self.ran / cpus).max(0.0))
    }
}

impl WallClock {
    /// Starts at `started`. `waiting` says whether the run delay can be measured. The command can use `cpus` CPUs
    /// concurrently.
    pub(super) fn new(started: Nanos, waiting: Result<(), Absent>, cpus: usize) -> Self {
        let waiting = waiting.map(|()| Nanos::ZERO);
        WallClock {
            started,
            waiting,
            seen: (started, Nanos::ZERO),
            usual: Usual::default(),
            intervals: VecDeque::new(),
            cpus: cpus.max(1) as f64,
        }
    }

    /// Returns how long the command waited for a CPU, up to the last reading.
    pub(super) fn waiting(&self) -> &Reading<Nanos> {
        &self.waiting
    }

    /// Returns the time that counts towards the wall limit. If waiting cannot be measured, all time counts except
    /// stops.
    pub(super) fn counted(&self, moment: Moment) -> Nanos {
        moment.now - self.started - moment.stopped - self.waiting.clone().unwrap_or_default()
    }

    /// Adds what the threads did since the previous reading, during which the whole tree used `cpu`.
    ///
    /// A process that ended between the readings has no run delay. It is assumed to have waited as much per CPU time as
    /// is [`Usual`], in this interval or before. In a tree with several threads only some may wait at a time: see
    /// [`Interval::waiting`]. A wait that began before the previous reading may be known only now.
    pub(super) fn add(&mut self, Moment { now, stopped, .. }: Moment, seen: ThreadTimes, cpu: Nanos) {
        let (before, stopped_before) = self.seen;
        self.seen = (now, stopped);
        let span = (now - before - (stopped - stopped_before)).0 as f64;
        let ran = cpu.max(seen.cpu).0 as f64;
        let runnable = self.usual.now + seen.runnable > 0;
        self.usual.add(span, ran, seen.runnable);
        let unseen = self.usual.waiting((cpu - seen.cpu).0 as f64);
        let now = Interval { span, delay: (seen.run_delay - seen.run_delay_before).0 as f64, ran, runnable };
        let mut waited = now.waiting(self.cpus);
        let threads = seen.active.max(1) as f64;
        waited += self.add_delay(seen.run_delay_before.0 as f64, threads, |interval| interval.runnable);
        if self.intervals.len() == MOST_INTERVALS {
            self.intervals.pop_front();
        }
        self.intervals.push_back(now);
        waited += self.add_delay(unseen, threads, |_| true);
        if let Ok(waiting) = &mut self.waiting {
            *waiting += Nanos(waited as u64);
        }
    }

    /// Adds a run delay to the latest intervals that are `possible` and in which that many threads have room for it. The
    /// rest is older than the remembered intervals, was counted already, or was sleep: Linux 6.18 sometimes reports the
    /// whole sleep of a thread as its run delay. Returns by how much that increases the waiting.
    fn add_delay(&mut self, mut delay: f64, threads: f64, possible: impl Fn(&Interval) -> bool) -> f64 {
        let mut waited = 0.0;
        for interval in self.intervals.iter_mut().rev().filter(|interval| possible(interval)) {
            if delay <= 0.0 {
                break;
            }
            let room = interval.span * threads - interval.delay - interval.ran;
            let part = delay.min(room.max(0.0));
            let filled = Interval { delay: interval.delay + part, ..*interval };
            waited += filled.waiting(self.cpus) - interval.waiting(self.cpus);
            *interval = filled;
            delay -= part;
        }
        waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steady_process::attended::Stops;

    const MS: u64 = 1_000_000;

    fn ms(time: u64) -> Nanos {
        Nanos(time * MS)
    }

    fn at(time: u64) -> Moment {
        Stops::default().at(ms(time))
    }

    fn did(cpu: u64, run_delay: u64) -> ThreadTimes {
        ThreadTimes { cpu: ms(cpu), run_delay: ms(run_delay), ..ThreadTimes::default() }
    }

    /// More CPUs than all tests have threads.
    const MANY: usize = 64;

    fn waited(cpu: u64, run_delay: u64, tree: u64) -> u64 {
        waited_on(MANY, cpu, run_delay, tree)
    }

    fn waited_on(cpus: usize, cpu: u64, run_delay: u64, tree: u64) -> u64 {
        let mut wall_clock = WallClock::new(ms(0), Ok(()), cpus);
        wall_clock.add(at(100), did(cpu, run_delay), ms(tree));
        wall_clock.waiting().clone().unwrap().0 / MS
    }

    #[test]
    fn the_wait_of_one_thread_counts_in_full() {
        assert_eq!(waited(50, 50, 50), 50);
        assert_eq!(waited(20, 10, 20), 10, "it slept the rest of the time");
        assert_eq!(waited(100, 0, 100), 0);
        assert_eq!(waited(0, 0, 0), 0, "all threads slept");
    }

    #[test]
    fn a_wait_across_two_readings_counts_in_both_intervals() {
        let mut wall_clock = WallClock::new(ms(0), Ok(()), MANY);
        wall_clock.add(at(100), ThreadTimes { runnable: 1, ..did(4, 5) }, ms(4));
        wall_clock.add(at(200), ThreadTimes { run_delay_before: ms(90), ..did(4, 186) }, ms(4));
        assert_eq!(wall_clock.waiting(), &Ok(ms(5 + 186)));
        // Time in which it slept earlier did not become waiting.
        wall_clock.add(at(300), did(0, 0), ms(0));
        wall_clock.add(at(400), did(10, 90), ms(10));
        assert_eq!(wall_clock.waiting(), &Ok(ms(5 + 186 + 90)));
    }

    /// Readings shortly after one another: the kernel reports the wait of 89 ms after the fourth.
    #[test]
    fn a_wait_across_several_readings_counts_in_all_intervals() {
        let mut wall_clock = WallClock::new(ms(0), Ok(()), MANY);
        let waits = ThreadTimes { runnable: 1, ..did(0, 0) };
        wall_clock.add(at(60), ThreadTimes { runnable: 1, ..did(1, 0) }, ms(1));
        wall_clock.add(at(75), waits, ms(0));
        wall_clock.add(at(90), waits, ms(0));
        wall_clock.add(at(110), ThreadTimes { run_delay_before: ms(70), ..did(1, 89) }, ms(1));
        assert_eq!(wall_clock.waiting(), &Ok(ms(89)));
        assert_eq!(wall_clock.counted(at(110)), ms(21));
    }

    #[test]
    fn a_sleep_that_the_kernel_reports_as_a_wait_counts_as_wall_time() {
        let mut wall_clock = WallClock::new(ms(0), Ok(()), MANY);
        wall_clock.add(at(100), did(1, 0), ms(1));
        wall_clock.add(at(200), did(0, 0), ms(0));
        wall_clock.add(at(300), did(0, 0), ms(0));
        wall_clock.add(at(310), ThreadTimes { run_delay_before: ms(290), ..did(1, 299) }, ms(1));
        assert_eq!(wall_clock.waiting(), &Ok(ms(9)));
    }

    #[test]
    fn several_threads_wait_in_proportion_to_run_delay() {
        assert_eq!(waited(100, 300, 100), 75, "four threads run one after another");
        assert_eq!(waited(200, 0, 200), 0);
        assert_eq!(waited(100, 900, 100), 90, "never more than the wall time");
    }

    /// What counts is at least the wall time that the CPU time needs.
    #[test]
    fn the_cpu_time_of_all_cpus_counts() {
        assert_eq!(waited_on(1, 100, 300, 100), 0, "one of the threads always ran");
        assert_eq!(waited_on(2, 50, 400, 50), 75, "on two CPUs, 50 ms of CPU time need 25 ms");
        assert_eq!(waited_on(1, 50, 50, 50), 50, "one thread");
    }

    /// Processes of 20 ms that run for a quarter of that time, one after another. Readings see one of them waiting.
    #[test]
    fn threads_that_ended_unseen_wait_like_those_at_the_readings() {
        let mut wall_clock = WallClock::new(ms(0), Ok(()), MANY);
        let one = ThreadTimes { runnable: 1, active: 1, ..ThreadTimes::default() };
        wall_clock.add(at(0), one, ms(0));
        wall_clock.add(at(100), one, ms(25));
        wall_clock.add(at(200), one, ms(25));
        wall_clock.add(at(300), ThreadTimes::default(), ms(25));
        assert_eq!(wall_clock.waiting(), &Ok(ms(225)));
        // Processes that mostly sleep: no reading sees a runnable thread.
        wall_clock.add(at(400), ThreadTimes::default(), ms(25));
        assert_eq!(wall_clock.waiting(), &Ok(ms(225 + 50)), "300 ms of runnable threads, and 100 ms of CPU time");
    }

    #[test]
    fn stops_and_waiting_do_not_count() {
        let (mut wall_clock, mut stops) = (WallClock::new(ms(1_000), Ok(()), MANY), Stops::default());
        stops.stop(ms(1_100));
        stops.stop(ms(1_200));
        assert_eq!(wall_clock.counted(stops.at(ms(1_500))), ms(100));
        stops.go_on(ms(1_600));
        let later = stops.at(ms(1_700));
        assert_eq!((wall_clock.counted(later), later.stopped), (ms(200), ms(500)));
        wall_clock.add(later, did(100, 1_000), ms(100));
        assert!(wall_clock.waiting().clone().unwrap() <= ms(200), "stopped time is not waiting");
    }

    #[test]
    fn without_statistics_all_time_counts() {
        let mut wall_clock = WallClock::new(ms(0), Err(Absent::because("no")), MANY);
        wall_clock.add(at(100), did(50, 50), ms(50));
        assert_eq!((wall_clock.counted(at(100)), wall_clock.waiting().is_err()), (ms(100), true));
    }
}
