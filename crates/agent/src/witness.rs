//! The agent's own rulers, which no version can move, and the host's state: one thread that reads them at random moments, within
//! a share of one CPU by its own CPU clock.

use std::collections::BTreeMap;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::record::AgentRulers;
use steady_linux::activity::Snapshot;
use steady_linux::{Root, clock, procfs};
use steady_model::{Absent, HostSecond, Reading, ReleaseRulerRow, RequestRuler, RulerSums};
use steady_preload::rulers;
use steady_workloads::Random;

use crate::table::Now;
use crate::time::{Clocks, SECOND, Stop};

/// The most that the thread may take of one CPU.
pub(crate) const CPU_LIMIT: f64 = 0.005;
/// What it aims at, so that a bad second does not take it beyond.
const CPU_AIM: f64 = 0.0047;
/// Readings of each ruler a second, where that is within the aim.
const READINGS: f64 = 21.5;
/// The fewest, however dear they are.
const FEWEST: f64 = 0.5;
/// Readings before any is kept: the code has to be fetched once.
const WARMING: usize = 3;
/// How much a second counts in what the rulers are said to take.
const NEWEST: f64 = 0.2;
/// Every so many rounds of readings it is seen how many tasks run.
const ROUNDS_A_LOOK: u64 = 2;

/// What was read and has not been fetched.
#[derive(Debug, Default)]
struct Gathered {
    rulers: BTreeMap<(u64, RequestRuler), RulerSums>,
    seconds: Vec<HostSecond>,
    told: Option<Reading<AgentRulers>>,
}

/// The thread.
pub(crate) struct Witness {
    gathered: Arc<Mutex<Gathered>>,
    thread: JoinHandle<()>,
}

impl Witness {
    /// Begins; `ahead` leads to seconds since 1970.
    pub(crate) fn begin(ahead: i64, seed: u64, stop: Arc<Stop>) -> io::Result<Witness> {
        let gathered = Arc::new(Mutex::new(Gathered::default()));
        let theirs = Arc::clone(&gathered);
        let thread = thread::Builder::new().spawn(move || Reader::new(ahead, seed).read(&theirs, &stop))?;
        Ok(Witness { gathered, thread })
    }

    /// What was read since it was asked last.
    pub(crate) fn fetch(&self) -> (Vec<ReleaseRulerRow>, Vec<HostSecond>) {
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        let rulers = mem::take(&mut gathered.rulers).into_iter();
        let row = |((second, ruler), sums)| ReleaseRulerRow { second, host: 0, process: 0, version: None, ruler, sums };
        (rulers.map(row).collect(), mem::take(&mut gathered.seconds))
    }

    /// How it goes.
    pub(crate) fn told(&self) -> Reading<AgentRulers> {
        let gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        gathered.told.clone().unwrap_or_else(|| Err(Absent::because("the first second is not over")))
    }

    /// Waits for its end, which was asked for.
    pub(crate) fn join(self) {
        // One that panicked has ended too.
        let _ = self.thread.join();
    }
}

/// What the thread knows.
struct Reader {
    clocks: Clocks,
    ahead: i64,
    random: Random,
    root: Root,
    pace: Pace,
    second: u64,
    snapshot: Snapshot,
    cpus: u32,
    running: (f64, u64),
    counts: [u64; RequestRuler::ALL.len()],
}

impl Reader {
    fn new(ahead: i64, seed: u64) -> Reader {
        let (root, clocks) = (Root::default(), Clocks::default());
        let now = Now { monotonic: clocks.monotonic(), ahead };
        Reader {
            snapshot: Snapshot::take(&root),
            cpus: online(&root),
            second: now.second(),
            random: Random::new(seed),
            pace: Pace::new(now.monotonic, clock::thread_cpu().0),
            running: (0.0, 0),
            counts: [0; RequestRuler::ALL.len()],
            root,
            clocks,
            ahead,
        }
    }

    fn read(mut self, gathered: &Mutex<Gathered>, stop: &Stop) {
        for ruler in RequestRuler::ALL {
            for _ in 0..WARMING {
                let _ = rulers::run(ruler.index());
            }
        }
        let mut next = self.clocks.monotonic();
        for turn in 0_u64.. {
            let order = self.order();
            for ruler in order {
                let now = self.clocks.monotonic();
                // One that was held up does not catch up: that would be many at the same moment.
                next = next.max(now.saturating_sub(SECOND / 20)) + self.gap();
                if stop.wait(Duration::from_nanos(next.saturating_sub(now))) {
                    return;
                }
                let now = Now { monotonic: self.clocks.monotonic(), ahead: self.ahead };
                if now.second() != self.second {
                    self.close_second(now, gathered);
                }
                self.read_one(ruler, now, gathered);
            }
            if turn.is_multiple_of(ROUNDS_A_LOOK) {
                self.look();
            }
        }
    }

    /// The rulers in random order.
    fn order(&mut self) -> [RequestRuler; RequestRuler::ALL.len()] {
        let mut order = RequestRuler::ALL;
        for last in (1..order.len()).rev() {
            order.swap(last, self.random.between(0, last as u64) as usize);
        }
        order
    }

    /// The time between two readings, evenly between half of what is usual and half more, in nanoseconds.
    fn gap(&mut self) -> u64 {
        let usual = SECOND as f64 / (self.pace.readings * RequestRuler::ALL.len() as f64);
        self.random.between((usual / 2.0) as u64, (usual * 1.5) as u64)
    }

    fn read_one(&mut self, ruler: RequestRuler, now: Now, gathered: &Mutex<Gathered>) {
        let Some(took) = rulers::run(ruler.index()) else { return };
        self.counts[ruler.index()] += 1;
        let log = (took.max(1) as f64).ln();
        let mut gathered = gathered.lock().unwrap_or_else(PoisonError::into_inner);
        *gathered.rulers.entry((now.second(), ruler)).or_default() +=
            RulerSums { readings: 1, log, log_squared: log * log };
    }

    /// Sees how many tasks run or want to, but for this one.
    fn look(&mut self) {
        if let Ok(load) = procfs::load_average(&self.root) {
            self.running = (self.running.0 + load.runnable.saturating_sub(1) as f64, self.running.1 + 1);
        }
    }

    /// The second that was open is over.
    fn close_second(&mut self, now: Now, gathered: &Mutex<Gathered>) {
        let later = Snapshot::take(&self.root);
        let activity = self.snapshot.until(&later);
        let (running, looks) = mem::take(&mut self.running);
        if now.second().is_multiple_of(60) {
            self.cpus = online(&self.root);
        }
        let row = HostSecond {
            second: self.second,
            host: 0,
            cpus: self.cpus,
            busy: activity.busy_ratio.ok(),
            steal: activity.steal_ratio.ok(),
            pressure: activity.pressure.ok(),
            running: (looks > 0).then(|| running / looks as f64),
        };
        (self.snapshot, self.second) = (later, now.second());
        let seconds = self.pace.close(now.monotonic, clock::thread_cpu().0);
        let counts = mem::take(&mut self.counts);
        let per_second = RequestRuler::ALL.into_iter().filter(|ruler| counts[ruler.index()] > 0);
        let per_second = per_second.map(|ruler| (ruler, counts[ruler.index()] as f64 / seconds)).collect::<Vec<_>>();
        let told = if per_second.is_empty() {
            Err(Absent::because("there are no rulers for this kind of machine"))
        } else {
            Ok(AgentRulers { per_second, cpu_ratio: self.pace.ratio, cpu_limit_ratio: CPU_LIMIT })
        };
        let mut gathered = gathered.lock().unwrap_or_else(PoisonError::into_inner);
        gathered.seconds.push(row);
        gathered.told = Some(told);
    }
}

fn online(root: &Root) -> u32 {
    procfs::cpu_times(root).map_or(0, |times| times.each.len() as u32)
}

/// How fast to read, so that the thread keeps within its share.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Readings of each ruler a second.
    readings: f64,
    /// The share of one CPU that was taken lately.
    ratio: f64,
    since: u64,
    cpu: u64,
    /// Whether a whole second has been seen.
    is_known: bool,
}

impl Pace {
    fn new(now: u64, cpu: u64) -> Pace {
        Pace { readings: READINGS, ratio: 0.0, since: now, cpu, is_known: false }
    }

    /// After about a second: how long it was, in seconds. What this thread has taken by now sets the pace.
    fn close(&mut self, now: u64, cpu: u64) -> f64 {
        let elapsed = now.saturating_sub(self.since).max(1) as f64;
        let ratio = cpu.saturating_sub(self.cpu) as f64 / elapsed;
        // The first second holds the warming.
        self.ratio = if self.is_known { self.ratio + NEWEST * (ratio - self.ratio) } else { ratio.min(CPU_AIM) };
        (self.since, self.cpu, self.is_known) = (now, cpu, true);
        let worst = self.ratio.max(ratio).max(1e-9);
        let slower = self.readings * CPU_AIM / worst;
        self.readings = slower.min(self.readings * 1.1).clamp(FEWEST, READINGS);
        elapsed / SECOND as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pace after seconds in which a reading of all rulers took so many microseconds, and the share of the last ten seconds.
    fn after(seconds: u64, cost_us: f64) -> (f64, f64) {
        let mut pace = Pace::new(0, 0);
        let (mut cpu, mut recent) = (0.0, 0.0);
        for second in 1..=seconds {
            let used = pace.readings * cost_us * 1_000.0;
            cpu += used;
            if second > seconds - 10 {
                recent += used / 10.0;
            }
            pace.close(second * SECOND, cpu as u64);
        }
        (pace.readings, recent / SECOND as f64)
    }

    #[test]
    fn the_pace_keeps_within_the_share() {
        let (readings, share) = after(60, 150.0);
        assert!(readings == READINGS && share < CPU_LIMIT, "{readings} {share}");
        let (readings, share) = after(60, 1_500.0);
        assert!((2.0..4.0).contains(&readings) && share < CPU_LIMIT, "{readings} {share}");
    }

    #[test]
    fn the_pace_comes_back() {
        let mut pace = Pace::new(0, 0);
        let mut cpu = 0;
        for second in 1..=200 {
            cpu += (pace.readings * if second < 20 { 2_000_000.0 } else { 150_000.0 }) as u64;
            pace.close(second * SECOND, cpu);
        }
        assert_eq!(pace.readings, READINGS);
    }
}
