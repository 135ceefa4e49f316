//! Estimates waits for futexes by sampling all threads. Time is divided into intervals; each sample is at a random
//! moment of its interval and represents it, the last one until the end of the command. Watchers record each watched wait before it starts, so a sample can tell
//! watched waits from others.

use std::collections::HashMap;
use std::mem::{self, offset_of};
use std::path::PathBuf;

use rand::rngs::OsRng;
use rand::{Rng, SeedableRng, TryRngCore};
use rand_chacha::ChaCha12Rng;
use steady_linux::{Root, procfs, tree};
use steady_model::{Absent, Nanos, Reading};
use steady_preload::area::{Process, THREADS, Thread};
use steady_process::attended::{Moment, members};

use super::area::{Bytes, Entry, place_at, places, tables};
use super::program::why_unwatched;
use crate::record::FutexWaits;

/// Samples may use at most one part in so many of the time.
const COST_SHARE: u64 = 300;
/// The same for the first samples, until there are [`MIN_SAMPLES`], so that a short command has an estimate.
const COST_SHARE_AT_FIRST: u64 = 30;
/// Shortest and longest interval of a sample.
const SHORTEST: Nanos = Nanos(1_000_000);
const LONGEST: Nanos = Nanos(100_000_000);
/// At first, an interval is one part in so many of the time since the start.
const ELAPSED_SHARE: u64 = 64;
/// Minimum number of samples for an estimate.
const MIN_SAMPLES: u64 = 8;

/// Samples the threads of a command.
pub(super) struct Futexes {
    root: Root,
    coins: ChaCha12Rng,
    began: Nanos,
    /// Start and end of the interval of the next sample.
    interval: (Nanos, Nanos),
    /// When the next sample is due.
    pub(super) due: Nanos,
    /// The newest sample and the start of its interval. Its end is known when the next sample is taken.
    newest: Option<(Nanos, Found)>,
    samples: Vec<Sample>,
    refused: Option<Absent>,
    /// Seconds of unwatched waits, by the path of the program and whether the watcher was loaded into it.
    unwatched: HashMap<(PathBuf, bool), f64>,
    /// Seconds of unwatched waits, by process ID and thread ID.
    threads: HashMap<(i32, i32), f64>,
    live: LiveThreads,
    /// For each watched process that was found: when a later sample did not find it any more.
    gone: HashMap<i32, Option<Nanos>>,
}

/// One sample: numbers of threads that waited for a futex.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Length of its interval, in seconds.
    interval: f64,
    waiting: u32,
    /// Of these, threads whose wait is not watched.
    other: u32,
}

/// The waits that a sample found.
#[derive(Default)]
struct Found {
    waiting: u32,
    /// Process ID and thread ID of each thread whose wait is not watched.
    other: Vec<(i32, i32)>,
    /// For each process with such a thread: the path of its program, whether the watcher was loaded into it, and the
    /// number of these threads.
    programs: Vec<(PathBuf, bool, u32)>,
}

impl Futexes {
    pub(super) fn new(began: Nanos) -> Self {
        let seed = OsRng.try_next_u64().unwrap_or(began.0);
        let mut new = Futexes {
            root: Root::default(),
            coins: ChaCha12Rng::seed_from_u64(seed),
            began,
            interval: (began, began),
            due: began,
            newest: None,
            samples: vec![],
            refused: None,
            unwatched: HashMap::new(),
            threads: HashMap::new(),
            live: LiveThreads::default(),
            gone: HashMap::new(),
        };
        new.plan(began, SHORTEST);
        new
    }

    /// Plans the next sample: at a random moment of the interval of `length` that starts at `from`.
    fn plan(&mut self, from: Nanos, length: Nanos) {
        self.interval = (from, from + length);
        self.due = from + Nanos(self.coins.random_range(0..length.0.max(1)));
    }

    /// Takes a sample. If the call is late, the interval extends until now.
    pub(super) fn sample(&mut self, moment: Moment, area: &impl Bytes) {
        let found = if moment.is_stopped { Found::default() } else { self.find(area, moment.now) };
        self.add(found, moment.now);
    }

    fn add(&mut self, found: Found, now: Nanos) {
        let (from, until) = self.interval;
        self.add_newest(from);
        self.newest = Some((from, found));
        self.interval.1 = until.max(now);
    }

    /// Adds the newest sample, whose interval ends at `until`.
    fn add_newest(&mut self, until: Nanos) {
        let Some((from, found)) = self.newest.take() else { return };
        let interval = (until - from).seconds();
        for thread in &found.other {
            *self.threads.entry(*thread).or_default() += interval;
        }
        for (path, watched, threads) in found.programs {
            *self.unwatched.entry((path, watched)).or_default() += f64::from(threads) * interval;
        }
        let other = u32::try_from(found.other.len()).unwrap_or(u32::MAX);
        self.samples.push(Sample { interval, waiting: found.waiting, other });
        self.merge();
    }

    /// Plans the next sample, after one that used `cost` of CPU time.
    pub(super) fn plan_next(&mut self, now: Nanos, cost: Nanos) {
        let from = self.interval.1.max(now);
        let passed = Nanos((from - self.began).0 / ELAPSED_SHARE);
        let is_enough = self.taken() >= MIN_SAMPLES;
        let share = if is_enough { COST_SHARE } else { COST_SHARE_AT_FIRST };
        let length = passed.clamp(SHORTEST, LONGEST).max(Nanos(cost.0.saturating_mul(share)));
        self.plan(from, length);
    }

    fn taken(&self) -> u64 {
        self.samples.len() as u64 + u64::from(self.newest.is_some())
    }

    /// Finds the threads that wait for a futex now, and the processes that have ended.
    fn find(&mut self, area: &impl Bytes, now: Nanos) -> Found {
        let mut found = Found::default();
        for end in self.gone.values_mut() {
            *end = end.or(Some(now));
        }
        for pid in members(None) {
            let threads = tree::threads(&self.root, &[pid]);
            self.live.update(area, pid);
            // A process that has ended, and was not waited for yet, has no program.
            let program = || std::fs::read_link(self.root.path(&format!("/proc/{pid}/exe")));
            if self.live.knows(pid) && program().is_ok() {
                self.gone.insert(pid, None);
            }
            let mut unwatched = 0;
            for &thread in &threads {
                let before = self.live.is_waiting(area, pid, thread);
                match procfs::waits_for_futex(&self.root, pid, thread) {
                    Ok(true) => {
                        found.waiting += 1;
                        // A watched wait may have started or ended between the two readings.
                        if !before && !self.live.is_waiting(area, pid, thread) {
                            unwatched += 1;
                            found.other.push((pid, thread));
                        }
                    }
                    Ok(false) => {}
                    Err(why) => self.refused = self.refused.take().or(Some(why)),
                }
            }
            if unwatched > 0
                && let Ok(path) = program()
            {
                found.programs.push((path, self.live.knows(pid), unwatched));
            }
        }
        found
    }

    /// Ends the last interval at the end of the command.
    pub(super) fn end(&mut self, ended: Nanos) {
        self.add_newest(ended);
    }

    /// Returns when watched processes were found to have ended, by process ID.
    pub(super) fn gone(&self) -> HashMap<u32, Nanos> {
        self.gone.iter().filter_map(|(pid, end)| Some((u32::try_from(*pid).ok()?, (*end)?))).collect()
    }

    /// Returns the estimated time of unwatched waits, by process ID and thread ID.
    pub(super) fn of_threads(&self) -> HashMap<(u32, u32), Nanos> {
        let number = |id: i32| u32::try_from(id).unwrap_or_default();
        let each = self.threads.iter();
        each.map(|((pid, tid), seconds)| ((number(*pid), number(*tid)), Nanos::from_seconds(*seconds))).collect()
    }

    /// Bounds the list of samples: at its limit, merges each pair of neighbours.
    fn merge(&mut self) {
        const MOST: usize = 1 << 16;
        if self.samples.len() < MOST {
            return;
        }
        let pairs = self.samples.chunks_exact(2).map(|pair| Sample {
            interval: pair[0].interval + pair[1].interval,
            // The counts of the first one; a mean would be no integer.
            ..pair[0]
        });
        self.samples = pairs.collect();
    }

    /// Returns the estimate from all samples.
    pub(super) fn finish(&self) -> Reading<FutexWaits> {
        let samples = self.samples.len() as u64;
        if let Some(why) = &self.refused {
            return Err(why.clone());
        }
        if samples < MIN_SAMPLES {
            return Err(Absent::because(format!("the command ended before {MIN_SAMPLES} samples of its threads")));
        }
        let sum = |count: fn(&Sample) -> u32| {
            self.samples.iter().map(|sample| sample.interval * f64::from(count(sample))).sum()
        };
        let mut unwatched: Vec<_> = self.unwatched.iter().collect();
        unwatched.sort_by(|one, other| other.1.total_cmp(one.1));
        let unwatched = unwatched
            .into_iter()
            .map(|((path, watched), _)| format!("{}: {}", path.display(), why_unwatched(path, *watched)));
        Ok(FutexWaits {
            wait_seconds: Nanos::from_seconds(sum(|sample| sample.waiting)),
            other_seconds: Nanos::from_seconds(sum(|sample| sample.other)),
            other_off_by_seconds: Nanos::from_seconds(2.0 * standard_error(&self.samples)),
            looks: samples,
            unwatched_programs: unwatched.collect(),
        })
    }
}

/// Returns the standard error of the total time of unwatched waits. The variance within an interval is estimated from
/// differences between neighbouring samples, which does not underestimate it.
fn standard_error(samples: &[Sample]) -> f64 {
    let differences = samples.windows(2).map(|pair| {
        let interval = pair[1].interval.max(pair[0].interval);
        let difference = f64::from(pair[1].other) - f64::from(pair[0].other);
        interval * interval * difference * difference / 2.0
    });
    differences.sum::<f64>().sqrt()
}

/// Finds the entries of live threads in the area.
#[derive(Default)]
pub(super) struct LiveThreads {
    /// The newest place of each process ID.
    places: HashMap<i32, ThreadTable>,
    seen: u32,
    /// Places that have no process ID yet, because they are being allocated or their process could not use them.
    without_process: Vec<u32>,
}

#[derive(Default)]
struct ThreadTable {
    place: u32,
    threads: HashMap<i32, usize>,
    seen: usize,
}

impl LiveThreads {
    /// Reads the places and threads that were added since the last call.
    pub(super) fn update(&mut self, area: &impl Bytes, pid: i32) {
        let (there, _) = places(area);
        let mut new = mem::take(&mut self.without_process);
        new.extend(self.seen..there);
        self.seen = self.seen.max(there);
        for place in new {
            match Entry::read::<Process>(area, place_at(place)).u32(offset_of!(Process, pid)) {
                0 => self.without_process.push(place),
                pid => {
                    self.places.insert(pid as i32, ThreadTable { place, ..ThreadTable::default() });
                }
            }
        }
        let Some(known) = self.places.get_mut(&pid) else { return };
        let process = Entry::read::<Process>(area, place_at(known.place));
        let begun = (process.u32(offset_of!(Process, threads)) as usize).min(THREADS);
        while known.seen < begun {
            let tid = thread(area, known.place, known.seen).u32(offset_of!(Thread, tid));
            if tid == 0 {
                break;
            }
            known.threads.insert(tid as i32, known.seen);
            known.seen += 1;
        }
    }

    /// Returns whether a thread is in a watched wait.
    pub(super) fn is_waiting(&self, area: &impl Bytes, pid: i32, tid: i32) -> bool {
        let found = self.places.get(&pid).and_then(|known| Some((known.place, *known.threads.get(&tid)?)));
        found.is_some_and(|(place, number)| {
            let thread = thread(area, place, number);
            let time = |at: usize| thread.u64(at);
            time(offset_of!(Thread, waits_since)) != 0 && time(offset_of!(Thread, waited_until)) == 0
        })
    }

    /// Returns whether the watcher is loaded in a process.
    pub(super) fn knows(&self, pid: i32) -> bool {
        self.places.contains_key(&pid)
    }
}

fn thread(area: &impl Bytes, place: u32, number: usize) -> Entry<'static> {
    let at = place_at(place) + tables::THREADS as u64 + (number * size_of::<Thread>()) as u64;
    Entry::read::<Thread>(area, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(others: impl Iterator<Item = u32>) -> Vec<Sample> {
        others.map(|other| Sample { interval: 0.01, waiting: other, other }).collect()
    }

    #[test]
    fn constant_counts_have_no_standard_error() {
        assert_eq!(standard_error(&of([2; 50].into_iter())), 0.0);
    }

    #[test]
    fn the_standard_error_is_that_of_random_sampling() {
        // A thread waits half of the time, in short waits: each sample finds it waiting with probability 0.5.
        let mut coins = ChaCha12Rng::seed_from_u64(7);
        let mut off = 0;
        for _ in 0..1_000 {
            let samples = of((0..200).map(|_| u32::from(coins.random_bool(0.5))));
            let estimate: f64 = samples.iter().map(|sample| sample.interval * f64::from(sample.other)).sum();
            off += u32::from((estimate - 1.0).abs() > 2.0 * standard_error(&samples));
        }
        assert!(
            (20..90).contains(&off),
            "about 5 % of the estimates are off by more than two standard errors: {off} of 1,000"
        );
    }

    #[test]
    fn a_short_command_has_enough_samples_even_if_they_are_expensive() {
        let mut futexes = Futexes::new(Nanos(1));
        let cost = Nanos::from_seconds(0.001);
        let mut now = Nanos(1);
        while now < Nanos::from_seconds(1.0) {
            futexes.samples.push(Sample { interval: 0.01, waiting: 1, other: 1 });
            futexes.plan_next(now, cost);
            now = futexes.interval.1;
        }
        let samples = futexes.samples.len() as u64;
        assert!((MIN_SAMPLES..=MIN_SAMPLES + 4).contains(&samples), "{samples}: then one each 0.3 s");
    }

    #[test]
    fn the_samples_represent_exactly_the_time_of_the_command() {
        for ended in [5_000_000, 40_000_000, 700_000_000] {
            let mut futexes = Futexes::new(Nanos::ZERO);
            let mut now = Nanos::ZERO;
            while futexes.due < Nanos(ended) {
                now = now.max(futexes.due);
                futexes.add(Found { waiting: 1, other: vec![(1, 2)], programs: vec![] }, now);
                futexes.plan_next(now, Nanos(100_000));
            }
            futexes.end(Nanos(ended));
            let waited = futexes.threads[&(1, 2)];
            assert!((waited - Nanos(ended).seconds()).abs() < 1e-9, "{waited} s of {ended} ns");
        }
    }

    #[test]
    fn the_number_of_samples_is_bounded() {
        let mut futexes = Futexes::new(Nanos(1));
        futexes.samples = of((0..(1 << 16)).map(|_| 1));
        futexes.merge();
        assert_eq!(futexes.samples.len(), 1 << 15);
        let total: f64 = futexes.samples.iter().map(|sample| sample.interval).sum();
        assert!((total - 655.36).abs() < 1e-6, "{total}");
        assert!(Futexes::new(Nanos(1)).finish().is_err(), "there is no sample");
    }
}
