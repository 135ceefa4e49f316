//! A process tree while it runs: CPU time of its processes, and how long its threads waited for a CPU.

use std::collections::HashMap;
use std::io;

use steady_model::{Nanos, Reading};

use crate::procfs::{self, SchedstatReader, number};
use crate::{Root, sys};

/// CPU time of processes: their own threads, and the children that they waited for. The kernel reports the children's
/// time in whole ticks, so the sum can be too small by up to two ticks per process. Processes that have ended count as
/// zero.
///
/// `processes` must have parents before their children, as [`procfs::descendants`] does. If a process waits for a child
/// between the readings of both, the child's time is then missed; otherwise it would count twice.
pub fn cpu_time(root: &Root, processes: &[i32]) -> Nanos {
    let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let of_children = |pid: i32| {
        let text = root.read(&format!("/proc/{pid}/stat"))?;
        parse_ticks_of_children(&text).map(|ticks| Nanos(ticks.saturating_mul(tick)))
    };
    let each =
        processes.iter().map(|&pid| of_children(pid).unwrap_or_default() + own_cpu_time(pid).unwrap_or_default());
    each.sum()
}

/// CPU time of a process's own threads, including threads that have ended, in nanoseconds.
///
/// # Errors
/// The error of clock_gettime(2): the process has ended.
pub fn own_cpu_time(pid: i32) -> io::Result<Nanos> {
    sys::process_cpu_time(pid)
}

/// Parses user plus system time of the children that a process waited for, in ticks, from `/proc/PID/stat`.
fn parse_ticks_of_children(text: &str) -> Reading<u64> {
    let after = text.rsplit_once(')').map_or("", |(_, after)| after);
    // These are fields 16 and 17. The first field after the name is number 3.
    let mut fields = after.split_ascii_whitespace().skip(16 - 3);
    let user: u64 = number(fields.next(), "user time of children in process status")?;
    let system: u64 = number(fields.next(), "system time of children in process status")?;
    Ok(user.saturating_add(system))
}

/// Thread ids of all threads of `processes`.
pub fn threads(root: &Root, processes: &[i32]) -> Vec<i32> {
    processes.iter().flat_map(|pid| root.numbered(&format!("/proc/{pid}/task")).unwrap_or_default()).collect()
}

/// What threads did since the previous reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTimes {
    /// Time on a CPU.
    pub cpu: Nanos,
    /// Time spent runnable, waiting for a CPU.
    pub run_delay: Nanos,
    /// Part of `run_delay` from before the previous reading. The kernel reports a wait only when it has ended.
    pub run_delay_before: Nanos,
    /// Number of threads that now run or wait for a CPU.
    pub runnable: usize,
    /// Number of threads that are runnable now, or ran or waited since the previous reading.
    pub active: usize,
}

/// Reads the scheduling statistics of a tree's threads repeatedly.
///
/// The kernel adds a wait to `run_delay` when the wait ends. A thread that was runnable at two readings and did not run
/// in between waited all that time. The second reading counts that time. When the kernel adds the whole wait later,
/// only the rest is counted.
#[derive(Debug)]
pub struct ThreadWatch {
    root: Root,
    reader: SchedstatReader,
    before: HashMap<i32, Seen>,
    /// Time of the previous reading.
    at: Nanos,
}

/// State of a thread at the previous reading.
#[derive(Clone, Copy, Debug)]
struct Seen {
    cpu: Nanos,
    run_delay: Nanos,
    /// Time since which the thread has been runnable without running.
    waits_since: Option<Nanos>,
    /// Part of that wait that has been counted.
    counted: Nanos,
}

/// Minimum time without progress that counts as waiting. A thread's CPU time may be reported as of the last tick, so a
/// shorter time without progress may be running time.
const MIN_WAIT: Nanos = Nanos(20_000_000);

impl ThreadWatch {
    /// Makes a watch, or returns the reason if there is no `/proc` or the kernel keeps no such statistics. `known` is
    /// the id of a process that exists and has run.
    pub fn new(root: &Root, known: i32) -> Reading<Self> {
        let reader = SchedstatReader::new(root)?;
        reader.read(known)?;
        Ok(ThreadWatch { root: root.clone(), reader, before: HashMap::new(), at: Nanos::ZERO })
    }

    /// Returns what `threads` did from the previous reading until `now`. For a new thread, this is everything since its
    /// creation. What a thread did between the previous reading and its end is missing.
    pub fn look(&mut self, threads: &[i32], now: Nanos) -> ThreadTimes {
        let mut seen = HashMap::with_capacity(threads.len());
        let mut sum = ThreadTimes::default();
        for &thread in threads {
            // A thread that has never run has no statistics yet.
            let (cpu, run_delay) = self.reader.read(thread).map(|read| (read.cpu, read.run_delay)).unwrap_or_default();
            // A thread id that is used again starts from zero.
            let before = self.before.get(&thread).filter(|before| before.cpu <= cpu && before.run_delay <= run_delay);
            let (did, after) = self.compare(thread, before.copied(), cpu, run_delay, now);
            sum.cpu += did.cpu;
            sum.run_delay += did.run_delay;
            sum.run_delay_before += did.run_delay_before;
            sum.runnable += did.runnable;
            sum.active += did.active;
            seen.insert(thread, after);
        }
        (self.before, self.at) = (seen, now);
        sum
    }

    /// Total time that the threads of the last reading have waited for a CPU since their creation, including waits that
    /// have not ended.
    pub fn waited(&self) -> Nanos {
        self.before.values().map(|seen| seen.run_delay + seen.counted).sum()
    }

    /// Returns what one thread did, and the state to remember.
    fn compare(
        &self,
        thread: i32,
        before: Option<Seen>,
        cpu: Nanos,
        run_delay: Nanos,
        now: Nanos,
    ) -> (ThreadTimes, Seen) {
        let nothing = Seen { cpu: Nanos::ZERO, run_delay: Nanos::ZERO, waits_since: None, counted: Nanos::ZERO };
        let last = before.unwrap_or(nothing);
        let ran = (last.cpu, last.run_delay) != (cpu, run_delay);
        let runnable = self.is_runnable(thread);
        let waits_since = runnable.then(|| last.waits_since.filter(|_| !ran).unwrap_or(now));
        let waited = waits_since.map(|since| now - since).filter(|waited| *waited >= MIN_WAIT).unwrap_or_default();
        // Do not count again what was already counted of this wait before the kernel added it.
        let booked = (run_delay - last.run_delay) - last.counted;
        let fresh = waited - if ran { Nanos::ZERO } else { last.counted };
        let counted = if ran { waited } else { last.counted.max(waited) };
        let (cpu_since, run_delay_since) = (cpu - last.cpu, booked + fresh);
        // A new thread did everything since the previous reading.
        let since = before.map_or(Nanos(u64::MAX), |_| now - self.at);
        let run_delay_before = (cpu_since + run_delay_since - since).min(run_delay_since);
        let active = usize::from(runnable || cpu_since + run_delay_since > Nanos::ZERO);
        let did = ThreadTimes {
            cpu: cpu_since,
            run_delay: run_delay_since,
            run_delay_before,
            runnable: usize::from(runnable),
            active,
        };
        (did, Seen { cpu, run_delay, waits_since, counted })
    }

    fn is_runnable(&self, thread: i32) -> bool {
        procfs::process_stat(&self.root, thread).is_ok_and(|stat| stat.state == 'R')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::trees::tree;

    #[test]
    fn time_of_children_is_fields_16_and_17() {
        let text = "100 (a) b) S 7 1 1 0 -1 4194304 105 0 0 0 11 12 13 14 20 0 1 0 89344\n";
        assert_eq!(parse_ticks_of_children(text), Ok(27));
        for broken in
            ["", "1 (a", "1 (a) S 7 1 1 0 -1 4194304 105 0 0 0 11 12 13", "1 (a) S 1 2 3 4 5 6 7 8 9 1 2 3 x y"]
        {
            assert!(parse_ticks_of_children(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn own_time_grows_with_work() {
        let pid = std::process::id() as i32;
        let before = cpu_time(&Root::default(), &[pid]);
        let started = clock::thread_cpu();
        while clock::thread_cpu() - started < Nanos(10_000_000) {}
        let after = cpu_time(&Root::default(), &[pid]);
        assert!(after - before > Nanos(5_000_000), "{before:?} {after:?}");
        assert_eq!(cpu_time(&Root::default(), &[i32::MAX >> 4]), Nanos::ZERO);
        assert!(!threads(&Root::default(), &[pid]).is_empty());
    }

    #[test]
    fn first_reading_counts_everything_then_differences() {
        let mut watch = ThreadWatch::new(&tree("vm"), 100).unwrap();
        let first = watch.look(&[100, 999], Nanos(0));
        assert_eq!(
            first,
            ThreadTimes { cpu: Nanos(398_184), run_delay: Nanos(51_577), active: 1, ..ThreadTimes::default() }
        );
        assert_eq!(watch.look(&[], Nanos(1)), ThreadTimes::default());
        assert_eq!(watch.look(&[100], Nanos(2)), first, "a thread that was not read before is new");
        assert!(ThreadWatch::new(&tree("vm"), 101).is_err());
        assert!(ThreadWatch::new(&tree("missing"), 1).is_err());
    }

    const MS: u64 = 1_000_000;

    /// Waiting time of an always runnable thread per reading, in ms. Each reading is (now, CPU time, run delay).
    fn waits(inputs: &[(u64, u64, u64)]) -> Vec<u64> {
        readings(inputs).iter().map(|did| did.run_delay.0 / MS).collect()
    }

    /// Results of the readings of an always runnable thread.
    fn readings(inputs: &[(u64, u64, u64)]) -> Vec<ThreadTimes> {
        let folder = std::env::temp_dir().join(format!("steady-tree-{}-{}", std::process::id(), inputs.len()));
        let process = folder.join("proc/7");
        std::fs::create_dir_all(&process).unwrap();
        let stat = format!("7 (x) R 1 {}\n", "0 ".repeat(40));
        std::fs::write(process.join("stat"), stat).unwrap();
        std::fs::write(process.join("schedstat"), "1 1 1\n").unwrap();
        let mut watch = ThreadWatch::new(&Root::at(&folder), 7).unwrap();
        let seen = inputs.iter().map(|(now, cpu, delay)| {
            std::fs::write(process.join("schedstat"), format!("{} {} 1\n", cpu * MS, delay * MS)).unwrap();
            watch.look(&[7], Nanos(now * MS))
        });
        let seen = seen.collect();
        std::fs::remove_dir_all(folder).unwrap();
        seen
    }

    #[test]
    fn a_wait_counts_once_and_before_it_ends() {
        assert_eq!(waits(&[(0, 5, 0), (100, 5, 0), (200, 5, 0), (300, 9, 290)]), [0, 100, 100, 90]);
        assert_eq!(
            waits(&[(0, 5, 0), (10, 5, 0), (19, 5, 0), (100, 80, 3), (110, 80, 3)]),
            [0, 0, 0, 3, 0],
            "shorter than a tick is not waiting"
        );
        assert_eq!(waits(&[(0, 5, 0), (100, 5, 0), (200, 9, 180)]), [0, 100, 80]);
        assert_eq!(waits(&[(0, 5, 0), (100, 55, 50)]), [0, 50], "as the kernel reports it");
        assert_eq!(waits(&[(0, 5, 0), (100, 9, 80), (200, 9, 80), (300, 13, 250)]), [0, 80, 100, 70]);
    }

    #[test]
    fn waits_from_before_the_previous_reading_are_reported() {
        let before = |inputs| readings(inputs).iter().map(|did| did.run_delay_before.0 / MS).collect::<Vec<_>>();
        assert_eq!(before(&[(0, 5, 0), (100, 9, 5), (200, 13, 191), (300, 17, 275)]), [0, 0, 90, 0]);
    }
}
