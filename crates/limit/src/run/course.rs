//! The time on the wall, as the wall limit counts it: less the time in which the command was stopped, and less what it
//! spent waiting for a CPU.

use steady_linux::tree::Doings;
use steady_model::{Absent, Nanos, Reading};
use steady_process::attended::Moment;

/// A command's time so far.
#[derive(Clone, Debug)]
pub(super) struct Course {
    started: Nanos,
    waiting: Reading<Nanos>,
    /// When the waiting was looked at last, and how long it had been stopped by then.
    seen: (Nanos, Nanos),
    /// Waiting per CPU time of the threads that were seen last.
    ratio: f64,
    /// What the threads did up to the last look.
    last: Interval,
}

/// What the threads of a tree did from one look to the next, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    /// Wall time.
    span: f64,
    /// Waiting of all threads.
    delay: f64,
    /// CPU time of all threads.
    ran: f64,
}

impl Interval {
    /// The part of the wall time that counts as waiting: the share that waiting has of the threads' waiting and running, and never
    /// more than all threads' waiting together.
    fn waiting(self) -> f64 {
        if self.delay > 0.0 { self.delay.min(self.span * self.delay / (self.delay + self.ran)) } else { 0.0 }
    }
}

impl Course {
    /// Begins now; `waiting` says whether waiting can be told at all.
    pub(super) fn new(started: Nanos, waiting: Result<(), Absent>) -> Self {
        let waiting = waiting.map(|()| Nanos::ZERO);
        Course { started, waiting, seen: (started, Nanos::ZERO), ratio: 0.0, last: Interval::default() }
    }

    /// For how long it waited for a CPU, as of the last look.
    pub(super) fn waiting(&self) -> &Reading<Nanos> {
        &self.waiting
    }

    /// The time that counts towards the wall limit. Where waiting cannot be told, all counts that was not stopped.
    pub(super) fn counted(&self, moment: Moment) -> Nanos {
        moment.now - self.started - moment.stopped - self.waiting.clone().unwrap_or_default()
    }

    /// Adds what threads of the tree did since the look before, in which the whole tree used `cpu`.
    ///
    /// A process that ended in between was not seen to wait: it is taken to have waited as much for its CPU time as those
    /// that were seen. Of a tree with several threads only part may have waited at a time: see [`Interval::waiting`]. A wait that
    /// began before the previous look, and is known only now, is added to what was counted then.
    pub(super) fn look(&mut self, Moment { now, stopped, .. }: Moment, seen: Doings, cpu: Nanos) {
        let (before, stopped_before) = self.seen;
        self.seen = (now, stopped);
        if seen.cpu > Nanos::ZERO {
            self.ratio = seen.run_delay.0 as f64 / seen.cpu.0 as f64;
        }
        let unseen = (cpu - seen.cpu).0 as f64;
        let known_late = Interval { delay: self.last.delay + seen.run_delay_before.0 as f64, ..self.last };
        let now = Interval {
            span: (now - before - (stopped - stopped_before)).0 as f64,
            delay: (seen.run_delay - seen.run_delay_before).0 as f64 + unseen * self.ratio,
            ran: cpu.max(seen.cpu).0 as f64,
        };
        if let Ok(waiting) = &mut self.waiting {
            *waiting += Nanos((known_late.waiting() - self.last.waiting() + now.waiting()) as u64);
        }
        self.last = now;
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

    /// A moment of a command that was never stopped.
    fn at(time: u64) -> Moment {
        Stops::default().at(ms(time))
    }

    fn did(cpu: u64, run_delay: u64) -> Doings {
        Doings { cpu: ms(cpu), run_delay: ms(run_delay), ..Doings::default() }
    }

    fn waited(cpu: u64, run_delay: u64, tree: u64) -> u64 {
        let mut course = Course::new(ms(0), Ok(()));
        course.look(at(100), did(cpu, run_delay), ms(tree));
        course.waiting().clone().unwrap().0 / MS
    }

    #[test]
    fn one_thread_waits_as_long_as_it_waits() {
        assert_eq!(waited(50, 50, 50), 50);
        assert_eq!(waited(20, 10, 20), 10, "and slept otherwise");
        assert_eq!(waited(100, 0, 100), 0);
        assert_eq!(waited(0, 0, 0), 0, "all asleep");
    }

    #[test]
    fn a_wait_over_two_looks_counts_in_both() {
        let mut course = Course::new(ms(0), Ok(()));
        course.look(at(100), did(4, 5), ms(4));
        course.look(at(200), Doings { run_delay_before: ms(90), ..did(4, 186) }, ms(4));
        assert_eq!(course.waiting(), &Ok(ms(5 + 186)));
        // What it slept before did not become waiting.
        course.look(at(300), did(0, 0), ms(0));
        course.look(at(400), did(10, 90), ms(10));
        assert_eq!(course.waiting(), &Ok(ms(5 + 186 + 90)));
    }

    #[test]
    fn several_threads_wait_by_their_share() {
        assert_eq!(waited(100, 300, 100), 75, "four threads on one CPU");
        assert_eq!(waited(200, 0, 200), 0);
        assert_eq!(waited(100, 900, 100), 90, "never more than there is");
    }

    #[test]
    fn those_that_were_not_seen_wait_as_the_others() {
        assert_eq!(waited(10, 10, 50), 50);
        let mut course = Course::new(ms(0), Ok(()));
        course.look(at(100), did(50, 50), ms(50));
        course.look(at(200), Doings::default(), ms(50));
        assert_eq!(course.waiting(), &Ok(ms(100)), "as those that were seen last");
    }

    #[test]
    fn neither_stops_nor_waiting_count() {
        let (mut course, mut stops) = (Course::new(ms(1_000), Ok(())), Stops::default());
        stops.stop(ms(1_100));
        stops.stop(ms(1_200));
        assert_eq!(course.counted(stops.at(ms(1_500))), ms(100));
        stops.go_on(ms(1_600));
        let later = stops.at(ms(1_700));
        assert_eq!((course.counted(later), later.stopped), (ms(200), ms(500)));
        course.look(later, did(100, 1_000), ms(100));
        assert!(course.waiting().clone().unwrap() <= ms(200), "what was stopped did not wait");
    }

    #[test]
    fn without_statistics_all_counts() {
        let mut course = Course::new(ms(0), Err(Absent::because("no")));
        course.look(at(100), did(50, 50), ms(50));
        assert_eq!((course.counted(at(100)), course.waiting().is_err()), (ms(100), true));
    }
}
