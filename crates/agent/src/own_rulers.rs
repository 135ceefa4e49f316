//! The agent's own rulers, which no version of a service influences, and the load of the host. One thread reads them at
//! random moments, and keeps its CPU time below a fixed share of one CPU by its own CPU clock.

use std::collections::BTreeMap;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::record::AgentRulers;
use steady_linux::activity::KernelCounters;
use steady_linux::{Root, clock, procfs};
use steady_model::{Absent, HostSecond, Reading, ReleaseRulerRow, RequestRuler, RulerSums};
use steady_preload::rulers;
use steady_workloads::Random;

use crate::table::Now;
use crate::time::{Clocks, SECOND, Stop};

/// The largest share of one CPU that the thread may use.
pub(crate) const CPU_LIMIT: f64 = 0.005;
/// The share that the pace aims at: below the limit, so that one expensive second does not exceed it.
const CPU_TARGET: f64 = 0.0047;
/// Readings of each ruler per second, if the target allows it.
const READINGS: f64 = 21.5;
/// The fewest readings of each ruler per second, even if they exceed the target.
const FEWEST: f64 = 0.5;
/// Readings of each ruler that are discarded at the start, because they load the code into the caches.
const WARMING: usize = 3;
/// The weight of the newest second in the smoothed share of CPU time.
const NEWEST: f64 = 0.2;
/// Once in this number of rounds of readings, the thread reads the number of running tasks.
const ROUNDS_PER_LOAD: u64 = 2;

/// Readings that have not been fetched yet.
#[derive(Debug, Default)]
struct Gathered {
    rulers: BTreeMap<(u64, RequestRuler), RulerSums>,
    seconds: Vec<HostSecond>,
    status: Option<Reading<AgentRulers>>,
}

/// The thread that reads the rulers, and the readings that wait to be fetched.
pub(crate) struct OwnRulers {
    gathered: Arc<Mutex<Gathered>>,
    thread: JoinHandle<()>,
}

impl OwnRulers {
    /// Starts the thread; `ahead` is added to seconds of the monotonic clock to get seconds since 1970.
    pub(crate) fn start(ahead: i64, seed: u64, stop: Arc<Stop>) -> io::Result<OwnRulers> {
        let gathered = Arc::new(Mutex::new(Gathered::default()));
        let theirs = Arc::clone(&gathered);
        let thread = thread::Builder::new().spawn(move || ReadLoop::new(ahead, seed).read(&theirs, &stop))?;
        Ok(OwnRulers { gathered, thread })
    }

    /// Removes and returns the readings since the last call.
    pub(crate) fn fetch(&self) -> (Vec<ReleaseRulerRow>, Vec<HostSecond>) {
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        let rulers = mem::take(&mut gathered.rulers).into_iter();
        let row = |((second, ruler), sums)| ReleaseRulerRow { second, host: 0, process: 0, version: None, ruler, sums };
        (rulers.map(row).collect(), mem::take(&mut gathered.seconds))
    }

    /// Returns the rate and the CPU share of the last second; not available in the first second, or on a machine
    /// without rulers.
    pub(crate) fn status(&self) -> Reading<AgentRulers> {
        let gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        gathered.status.clone().unwrap_or_else(|| Err(Absent::because("the first second is not over")))
    }

    /// Waits until the thread has ended; its end must have been requested through [`Stop`].
    pub(crate) fn join(self) {
        // An error means that the thread panicked, so it has ended too.
        let _ = self.thread.join();
    }
}

/// The state that only the thread uses.
struct ReadLoop {
    clocks: Clocks,
    ahead: i64,
    random: Random,
    root: Root,
    pace: Pace,
    second: u64,
    snapshot: KernelCounters,
    cpus: u32,
    /// The sum of readings of the number of running tasks in this second, and the number of readings.
    running: (f64, u64),
    counts: [u64; RequestRuler::ALL.len()],
}

impl ReadLoop {
    fn new(ahead: i64, seed: u64) -> ReadLoop {
        let (root, clocks) = (Root::default(), Clocks::default());
        let now = Now { monotonic: clocks.monotonic(), ahead };
        ReadLoop {
            snapshot: KernelCounters::read(&root),
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
        for round in 0_u64.. {
            let order = self.order();
            for ruler in order {
                let now = self.clocks.monotonic();
                // After a delay, missed readings are skipped: catching up would put many at the same moment.
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
            if round.is_multiple_of(ROUNDS_PER_LOAD) {
                self.read_load();
            }
        }
    }

    /// Returns the rulers in random order.
    fn order(&mut self) -> [RequestRuler; RequestRuler::ALL.len()] {
        let mut order = RequestRuler::ALL;
        for last in (1..order.len()).rev() {
            order.swap(last, self.random.between(0, last as u64) as usize);
        }
        order
    }

    /// Draws the time until the next reading, in nanoseconds: uniform between 0.5 and 1.5 times the mean.
    fn gap(&mut self) -> u64 {
        let mean = SECOND as f64 / (self.pace.readings * RequestRuler::ALL.len() as f64);
        self.random.between((mean / 2.0) as u64, (mean * 1.5) as u64)
    }

    fn read_one(&mut self, ruler: RequestRuler, now: Now, gathered: &Mutex<Gathered>) {
        let Some(took) = rulers::run(ruler.index()) else { return };
        self.counts[ruler.index()] += 1;
        let log = (took.max(1) as f64).ln();
        let mut gathered = gathered.lock().unwrap_or_else(PoisonError::into_inner);
        *gathered.rulers.entry((now.second(), ruler)).or_default() +=
            RulerSums { readings: 1, log, log_squared: log * log };
    }

    /// Reads how many tasks run or wait for a CPU, other than this one.
    fn read_load(&mut self) {
        if let Ok(load) = procfs::load_average(&self.root) {
            self.running = (self.running.0 + load.runnable.saturating_sub(1) as f64, self.running.1 + 1);
        }
    }

    /// Ends the current second: stores the load of the host, sets the pace of the next second, and updates the status.
    fn close_second(&mut self, now: Now, gathered: &Mutex<Gathered>) {
        let later = KernelCounters::read(&self.root);
        let activity = self.snapshot.until(&later);
        let (running, readings) = mem::take(&mut self.running);
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
            running: (readings > 0).then(|| running / readings as f64),
        };
        (self.snapshot, self.second) = (later, now.second());
        let seconds = self.pace.close(now.monotonic, clock::thread_cpu().0);
        let counts = mem::take(&mut self.counts);
        let per_second = RequestRuler::ALL.into_iter().filter(|ruler| counts[ruler.index()] > 0);
        let per_second = per_second.map(|ruler| (ruler, counts[ruler.index()] as f64 / seconds)).collect::<Vec<_>>();
        let status = if per_second.is_empty() {
            Err(Absent::because("steady has no rulers for this CPU architecture"))
        } else {
            Ok(AgentRulers { per_second, cpu_ratio: self.pace.ratio, cpu_limit_ratio: CPU_LIMIT })
        };
        let mut gathered = gathered.lock().unwrap_or_else(PoisonError::into_inner);
        gathered.seconds.push(row);
        gathered.status = Some(status);
    }
}

fn online(root: &Root) -> u32 {
    procfs::cpu_times(root).map_or(0, |times| times.each.len() as u32)
}

/// The rate of readings, adjusted each second so that the thread stays below its share of CPU time.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Readings of each ruler per second.
    readings: f64,
    /// The share of one CPU that the thread used, smoothed over the last seconds.
    ratio: f64,
    /// The time of the last adjustment, in nanoseconds of the monotonic clock.
    since: u64,
    /// CPU time of the thread at the last adjustment, in nanoseconds.
    cpu: u64,
    /// Whether there was an adjustment before.
    is_known: bool,
}

impl Pace {
    fn new(now: u64, cpu: u64) -> Pace {
        Pace { readings: READINGS, ratio: 0.0, since: now, cpu, is_known: false }
    }

    /// Adjusts the rate, about once a second. `now` is the time and `cpu` the thread's CPU time, in nanoseconds.
    /// Returns the time since the last adjustment in seconds.
    fn close(&mut self, now: u64, cpu: u64) -> f64 {
        let elapsed = now.saturating_sub(self.since).max(1) as f64;
        let ratio = cpu.saturating_sub(self.cpu) as f64 / elapsed;
        // The first second includes the readings of the warm-up, which are not typical.
        self.ratio = if self.is_known { self.ratio + NEWEST * (ratio - self.ratio) } else { ratio.min(CPU_TARGET) };
        (self.since, self.cpu, self.is_known) = (now, cpu, true);
        let worst = self.ratio.max(ratio).max(1e-9);
        let slower = self.readings * CPU_TARGET / worst;
        self.readings = slower.min(self.readings * 1.1).clamp(FEWEST, READINGS);
        elapsed / SECOND as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates some seconds in which a reading of all rulers takes `cost_us` microseconds. Returns the final rate,
    /// and the CPU share over the last ten seconds.
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
    fn the_pace_stays_below_the_limit() {
        let (readings, share) = after(60, 150.0);
        assert!(readings == READINGS && share < CPU_LIMIT, "{readings} {share}");
        let (readings, share) = after(60, 1_500.0);
        assert!((2.0..4.0).contains(&readings) && share < CPU_LIMIT, "{readings} {share}");
    }

    #[test]
    fn the_pace_recovers_after_expensive_seconds() {
        let mut pace = Pace::new(0, 0);
        let mut cpu = 0;
        for second in 1..=200 {
            cpu += (pace.readings * if second < 20 { 2_000_000.0 } else { 150_000.0 }) as u64;
            pace.close(second * SECOND, cpu);
        }
        assert_eq!(pace.readings, READINGS);
    }
}
