//! Waits for futexes, as looks at the threads find them: each look stands for a stretch of time, and is somewhere in it, by
//! chance. Who waits for what is watched is noted by the watchers before they wait.

use std::collections::HashMap;
use std::mem::offset_of;
use std::path::PathBuf;

use rand::rngs::OsRng;
use rand::{Rng, SeedableRng, TryRngCore};
use rand_chacha::ChaCha12Rng;
use steady_linux::{Root, procfs, tree};
use steady_model::{Absent, Nanos, Reading};
use steady_preload::area::{Process, THREADS, Thread};
use steady_process::attended::{Moment, members};

use super::area::{Bytes, Entry, place_at, places, tables};
use super::program::why_unseen;
use crate::record::FutexWaits;

/// Looks may cost this share of the time.
const SHARE: u64 = 300;
/// The shortest stretch that a look stands for, and the longest.
const SHORTEST: Nanos = Nanos(1_000_000);
const LONGEST: Nanos = Nanos(100_000_000);
/// In the beginning a stretch is this part of the time that has passed.
const PART: u64 = 64;
/// With fewer looks nothing is said.
const FEWEST: u64 = 8;

/// Looks at a tree.
pub(super) struct Futexes {
    root: Root,
    coins: ChaCha12Rng,
    began: Nanos,
    /// The stretch that the next look stands for.
    stretch: (Nanos, Nanos),
    /// When to look next.
    pub(super) due: Nanos,
    looks: Vec<Look>,
    refused: Option<Absent>,
    /// Programs whose waits are no watched ones.
    unseen: HashMap<(PathBuf, bool), f64>,
    /// Such waits of each thread, by the numbers of its process and its own, in seconds.
    threads: HashMap<(i32, i32), f64>,
    live: Live,
}

/// What one look found.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// How long a time it stands for, in seconds.
    stretch: f64,
    waiting: u32,
    other: u32,
}

impl Futexes {
    pub(super) fn new(began: Nanos) -> Self {
        let seed = OsRng.try_next_u64().unwrap_or(began.0);
        let mut new = Futexes {
            root: Root::default(),
            coins: ChaCha12Rng::seed_from_u64(seed),
            began,
            stretch: (began, began),
            due: began,
            looks: vec![],
            refused: None,
            unseen: HashMap::new(),
            threads: HashMap::new(),
            live: Live::default(),
        };
        new.plan(began, SHORTEST);
        new
    }

    /// Has the next look stand for the time until `length` after this one's end, at any moment of it.
    fn plan(&mut self, from: Nanos, length: Nanos) {
        self.stretch = (from, from + length);
        self.due = from + Nanos(self.coins.random_range(0..length.0.max(1)));
    }

    /// Looks. Called late, it stands for the time until now.
    pub(super) fn look(&mut self, moment: Moment, area: &impl Bytes) {
        let (waiting, other) = if moment.is_stopped { (0, 0) } else { self.count(area) };
        let (from, until) = self.stretch;
        let until = until.max(moment.now);
        self.looks.push(Look { stretch: (until - from).seconds(), waiting, other });
        self.merge();
    }

    /// Plans the next look, after one that took so much CPU time.
    pub(super) fn go_on(&mut self, now: Nanos, cost: Nanos) {
        let from = self.stretch.1.max(now);
        let passed = Nanos((from - self.began).0 / PART);
        let length = passed.clamp(SHORTEST, LONGEST).max(Nanos(cost.0.saturating_mul(SHARE)));
        self.plan(from, length);
    }

    /// Threads that wait for futexes now, and how many of them for none that is watched.
    fn count(&mut self, area: &impl Bytes) -> (u32, u32) {
        let (mut waiting, mut other) = (0, 0);
        for pid in members(None) {
            let threads = tree::threads(&self.root, &[pid]);
            self.live.update(area, pid);
            let mut unseen = 0;
            for &thread in &threads {
                let before = self.live.is_waiting(area, pid, thread);
                match procfs::waits_for_futex(&self.root, pid, thread) {
                    Ok(true) => {
                        waiting += 1;
                        // It may have begun or ended between the two looks.
                        if !before && !self.live.is_waiting(area, pid, thread) {
                            unseen += 1;
                            *self.threads.entry((pid, thread)).or_default() += self.length();
                        }
                    }
                    Ok(false) => {}
                    Err(why) => self.refused = self.refused.take().or(Some(why)),
                }
            }
            other += unseen;
            if unseen > 0 {
                self.note(pid, unseen);
            }
        }
        (waiting, other)
    }

    fn note(&mut self, pid: i32, threads: u32) {
        let Ok(path) = std::fs::read_link(self.root.path(&format!("/proc/{pid}/exe"))) else { return };
        let length = self.length();
        *self.unseen.entry((path, self.live.knows(pid))).or_default() += f64::from(threads) * length;
    }

    /// How long a time this look stands for, in seconds.
    fn length(&self) -> f64 {
        (self.stretch.1 - self.stretch.0).seconds()
    }

    /// How long each thread was seen to wait for futexes that belong to nothing watched.
    pub(super) fn of_threads(&self) -> HashMap<(u32, u32), Nanos> {
        let number = |id: i32| u32::try_from(id).unwrap_or_default();
        let each = self.threads.iter();
        each.map(|((pid, tid), seconds)| ((number(*pid), number(*tid)), Nanos::from_seconds(*seconds))).collect()
    }

    /// Keeps the list short: of very many, two that follow each other become one.
    fn merge(&mut self) {
        const MOST: usize = 1 << 16;
        if self.looks.len() < MOST {
            return;
        }
        let pairs = self.looks.chunks_exact(2).map(|pair| Look {
            stretch: pair[0].stretch + pair[1].stretch,
            // One of the two by turns, for a mean would be no count.
            ..pair[0]
        });
        self.looks = pairs.collect();
    }

    /// What they found.
    pub(super) fn finish(&self) -> Reading<FutexWaits> {
        let looks = self.looks.len() as u64;
        if let Some(why) = &self.refused {
            return Err(why.clone());
        }
        if looks < FEWEST {
            return Err(Absent::because(format!("it ended before it was looked at {FEWEST} times")));
        }
        let sum = |count: fn(&Look) -> u32| self.looks.iter().map(|look| look.stretch * f64::from(count(look))).sum();
        let mut unseen: Vec<_> = self.unseen.iter().collect();
        unseen.sort_by(|one, other| other.1.total_cmp(one.1));
        let unwatched = unseen
            .into_iter()
            .map(|((path, watched), _)| format!("{}: {}", path.display(), why_unseen(path, *watched)));
        Ok(FutexWaits {
            wait_seconds: Nanos::from_seconds(sum(|look| look.waiting)),
            other_seconds: Nanos::from_seconds(sum(|look| look.other)),
            other_off_by_seconds: Nanos::from_seconds(2.0 * standard_error(&self.looks)),
            looks,
            unwatched_programs: unwatched.collect(),
        })
    }
}

/// The standard error of the other waits. How much the number of threads varies within a stretch is taken from how much it differs
/// between neighbours, which is no less.
fn standard_error(looks: &[Look]) -> f64 {
    let differences = looks.windows(2).map(|pair| {
        let stretch = pair[1].stretch.max(pair[0].stretch);
        let difference = f64::from(pair[1].other) - f64::from(pair[0].other);
        stretch * stretch * difference * difference / 2.0
    });
    differences.sum::<f64>().sqrt()
}

/// Where the threads of processes are in the area.
#[derive(Default)]
pub(super) struct Live {
    /// The newest place of each process.
    places: HashMap<i32, Known>,
    seen: u32,
}

#[derive(Default)]
struct Known {
    place: u32,
    threads: HashMap<i32, usize>,
    seen: usize,
}

impl Live {
    /// Takes note of places and threads that are new since it was asked last.
    pub(super) fn update(&mut self, area: &impl Bytes, pid: i32) {
        let (there, _) = places(area);
        // One that is being taken has no number yet, and is looked at again.
        while self.seen < there {
            let pid = Entry::read::<Process>(area, place_at(self.seen)).u32(offset_of!(Process, pid));
            if pid == 0 {
                break;
            }
            self.places.insert(pid as i32, Known { place: self.seen, ..Known::default() });
            self.seen += 1;
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

    /// Whether a thread waits for something that is watched.
    pub(super) fn is_waiting(&self, area: &impl Bytes, pid: i32, tid: i32) -> bool {
        let found = self.places.get(&pid).and_then(|known| Some((known.place, *known.threads.get(&tid)?)));
        found.is_some_and(|(place, number)| {
            let thread = thread(area, place, number);
            let time = |at: usize| thread.u64(at);
            time(offset_of!(Thread, waits_since)) != 0 && time(offset_of!(Thread, waited_until)) == 0
        })
    }

    /// Whether the watcher is in a process.
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

    fn of(others: impl Iterator<Item = u32>) -> Vec<Look> {
        others.map(|other| Look { stretch: 0.01, waiting: other, other }).collect()
    }

    #[test]
    fn what_never_changes_has_no_error() {
        assert_eq!(standard_error(&of([2; 50].into_iter())), 0.0);
    }

    #[test]
    fn the_error_is_that_of_drawing_by_chance() {
        // A thread waits half of its time, in short waits: each look finds it waiting or not, as a coin falls.
        let mut coins = ChaCha12Rng::seed_from_u64(7);
        let mut off = 0;
        for _ in 0..1_000 {
            let looks = of((0..200).map(|_| u32::from(coins.random_bool(0.5))));
            let told: f64 = looks.iter().map(|look| look.stretch * f64::from(look.other)).sum();
            off += u32::from((told - 1.0).abs() > 2.0 * standard_error(&looks));
        }
        assert!((20..90).contains(&off), "about one in twenty is farther off: {off}");
    }

    #[test]
    fn looks_are_bounded() {
        let mut futexes = Futexes::new(Nanos(1));
        futexes.looks = of((0..(1 << 16)).map(|_| 1));
        futexes.merge();
        assert_eq!(futexes.looks.len(), 1 << 15);
        let total: f64 = futexes.looks.iter().map(|look| look.stretch).sum();
        assert!((total - 655.36).abs() < 1e-6, "{total}");
        assert!(Futexes::new(Nanos(1)).finish().is_err(), "nobody looked");
    }
}
