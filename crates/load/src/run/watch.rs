//! Samples the machine while a row runs: how busy each CPU is, on which CPUs the processes of the row are runnable, and
//! the CPU time of everything else. Its own cost is small and is measured.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;
use steady_linux::procfs::{self, SchedstatReader};
use steady_linux::{Root, clock};
use steady_model::{Absent, Activity, Nanos, Reading, Seed};

use super::counters::Counters;
use crate::CpuUse;

/// Pause before the first sample of a row, and the usual maximum. Each pause is twice as long as the one before.
const FIRST_PAUSE: Nanos = Nanos(10_000_000);
const PAUSE: Nanos = Nanos(100_000_000);
/// Longest pause if samples are expensive, or if the row hardly gets a CPU.
const LONGEST_PAUSE: Nanos = Nanos(2_000_000_000);

/// Maximum share of the CPU time of the row that samples may cost; expensive samples are rarer.
const COST_RATIO: f64 = 0.0005;

/// Maximum number of processes in a sample; each sample chooses them at random.
const MAX_SAMPLED: usize = 64;

/// Number of these processes whose CPU time is read.
const CPU_TIME_READ: usize = 8;

/// Samples rows; holds what stays the same from row to row.
pub(super) struct Watcher {
    root: Root,
    /// Number of CPUs that can be used at full speed.
    usable_cpus: f64,
    /// The CPUs that are online.
    online: Vec<usize>,
    /// Whether descendants of the workers do the work, not the workers themselves.
    below: bool,
    schedstat: Reading<SchedstatReader>,
    generator: ChaCha12Rng,
}

/// The samples of one row.
pub(super) struct RowWatch<'a> {
    watcher: &'a mut Watcher,
    pids: &'a [i32],
    begun: Counters,
    /// CPU clock of this process at the start.
    own: Nanos,
    /// When the work started, or is about to start.
    started: Nanos,
    /// Approximate CPU time of the row at the last sample.
    cpu_time: Nanos,
    pause: Nanos,
    /// Number of samples that found a process of the row alive, and for each CPU, how many found one runnable on it.
    samples: u32,
    found: BTreeMap<usize, u32>,
}

/// The results for a row, without those that only its leader knows.
pub(super) struct RowResults {
    pub(super) cpus: Vec<CpuUse>,
    /// CPU time of all processes on the machine.
    pub(super) busy: Reading<Nanos>,
    /// CPU time of this process.
    pub(super) own: Nanos,
    pub(super) activity: Activity,
}

impl Watcher {
    pub(super) fn new(seed: Seed, usable_cpus: f64, online: Vec<usize>, below: bool) -> Self {
        let root = Root::default();
        let schedstat = SchedstatReader::new(&root);
        Watcher { root, usable_cpus, online, below, schedstat, generator: ChaCha12Rng::seed_from_u64(seed.0) }
    }

    /// Starts a row. Call this when all of `pids` are ready, before they start their work.
    pub(super) fn begin<'a>(&'a mut self, pids: &'a [i32]) -> RowWatch<'a> {
        let begun = Counters::read(&self.root);
        RowWatch {
            watcher: self,
            pids,
            begun,
            own: clock::process_cpu(),
            started: clock::monotonic(),
            cpu_time: Nanos::ZERO,
            pause: FIRST_PAUSE,
            samples: 0,
            found: BTreeMap::new(),
        }
    }
}

impl RowWatch<'_> {
    /// Returns the pause before the next sample.
    pub(super) fn pause(&self) -> Nanos {
        self.pause
    }

    /// Returns the time since the start of the row.
    pub(super) fn passed(&self) -> Nanos {
        clock::monotonic() - self.started
    }

    /// Returns the approximate CPU time of the row at the last sample.
    pub(super) fn cpu_time(&self) -> Nanos {
        self.cpu_time
    }

    /// Samples on which CPUs the processes of the row are runnable.
    pub(super) fn sample(&mut self) {
        let before = clock::thread_cpu();
        let most = MAX_SAMPLED.min(self.pids.len());
        let chosen = rand::seq::index::sample(&mut self.watcher.generator, self.pids.len(), most);
        let pids: Vec<i32> = chosen.iter().map(|index| self.pids[index]).collect();
        let (alive, on) = self.watcher.runnable_on(&pids);
        self.samples += u32::from(alive);
        for cpu in on {
            *self.found.entry(cpu).or_default() += 1;
        }
        let passed = clock::monotonic() - self.started;
        self.cpu_time = self.watcher.cpu_time(&pids, self.pids.len(), passed);
        let cost = (clock::thread_cpu() - before).seconds();
        // At the rate at which the row uses CPU time now.
        let affordable = passed.seconds() / self.cpu_time.seconds().max(1e-9) * cost / COST_RATIO;
        let affordable = Nanos::from_seconds(affordable).min(LONGEST_PAUSE);
        self.pause = Nanos(2 * self.pause.0).min(PAUSE).max(affordable);
    }

    /// Ends the row. The function returned takes the length of the row and returns the results.
    pub(super) fn end(self) -> impl FnOnce(Nanos) -> RowResults {
        let own = clock::process_cpu() - self.own;
        let ended = Counters::read(&self.watcher.root);
        let online = self.watcher.online.clone();
        let RowWatch { begun, samples, found, .. } = self;
        move |elapsed| {
            let passed = begun.until(&ended, elapsed);
            let cpu_use = |cpu: &usize| CpuUse {
                cpu: *cpu,
                busy_ratio: passed.busy_ratio(*cpu),
                ours_ratio: share_of_samples(found.get(cpu).copied().unwrap_or(0), samples),
            };
            let cpus = online.iter().map(cpu_use).collect();
            RowResults { cpus, busy: passed.busy(), own, activity: passed.activity }
        }
    }
}

impl Watcher {
    /// Estimates the CPU time of `all` processes from some of them; `passed` is the time since the start of the work.
    /// The CPU time of commands is known only after they have ended, so for them this is an upper bound.
    fn cpu_time(&self, chosen: &[i32], all: usize, passed: Nanos) -> Nanos {
        let most = passed.seconds() * self.usable_cpus.min(all as f64);
        let used = |pid: &i32| Some(self.schedstat.as_ref().ok()?.read(*pid).ok()?.cpu.seconds());
        let used: Vec<f64> = chosen.iter().take(if self.below { 0 } else { CPU_TIME_READ }).filter_map(used).collect();
        let mean = used.iter().sum::<f64>() / used.len() as f64;
        // If no process could be read, the mean is NaN, and `min` returns the upper bound.
        Nanos::from_seconds(most.min(mean * all as f64))
    }

    /// Returns whether any process of the row is alive, and the CPUs on which a process that does the work is runnable.
    /// The state `R` of proc_pid_stat(5) does not tell a process that runs from one that waits for its CPU.
    fn runnable_on(&self, pids: &[i32]) -> (bool, Vec<usize>) {
        let stat = |pid: &i32| procfs::process_stat(&self.root, *pid).ok();
        let mut on = Vec::new();
        let mut alive = false;
        for pid in pids {
            let own = stat(pid);
            alive |= own.is_some_and(|stat| stat.state != 'Z');
            let working = match self.below {
                true => procfs::descendants(&self.root, *pid).unwrap_or_default().iter().filter_map(stat).collect(),
                false => Vec::from_iter(own),
            };
            on.extend(working.iter().filter(|stat| stat.state == 'R').map(|stat| stat.cpu));
        }
        on.sort_unstable();
        on.dedup();
        (alive, on)
    }
}

fn share_of_samples(found: u32, samples: u32) -> Reading<f64> {
    match samples {
        0 => Err(Absent::because("the row ended before the first sample")),
        samples => Ok(f64::from(found) / f64::from(samples)),
    }
}

/// Subtracts the CPU time of the row and of `steady` from the time that CPUs were in use. Ticks are coarser than the
/// other times, so the difference is at least 0.
pub(super) fn of_others(busy: Reading<Nanos>, known: Nanos) -> Reading<Nanos> {
    busy.map(|busy| busy - known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_others_is_never_negative() {
        assert_eq!(of_others(Ok(Nanos(100)), Nanos(50)), Ok(Nanos(50)));
        assert_eq!(of_others(Ok(Nanos(100)), Nanos(110)), Ok(Nanos(0)));
        assert!(of_others(Err(Absent::because("too short")), Nanos(1)).is_err());
    }

    #[test]
    fn a_short_row_has_no_shares() {
        let mut watcher = Watcher::new(Seed(1), 2.0, vec![0], false);
        let results = watcher.begin(&[]).end()(Nanos(1_000_000));
        assert!(results.busy.is_err() && results.activity.busy_ratio.is_err() && results.activity.steal_ratio.is_err());
        assert!(results.cpus.iter().all(|cpu| cpu.busy_ratio.is_err() && cpu.ours_ratio.is_err()));
    }

    #[test]
    fn this_process_is_found_on_its_cpu() {
        let own = std::process::id() as i32;
        let mut watcher = Watcher::new(Seed(1), 1e9, (0..4096).collect(), false);
        let pids = [own];
        let mut watch = watcher.begin(&pids);
        for _ in 0..3 {
            watch.sample();
        }
        assert!(watch.cpu_time() > Nanos::ZERO && watch.pause() <= LONGEST_PAUSE);
        let results = watch.end()(Nanos(1_000_000_000));
        // /proc describes the main thread, which may not be the thread of the test.
        let ours: f64 = results.cpus.iter().filter_map(|cpu| cpu.ours_ratio.clone().ok()).sum();
        assert!(ours <= 1.0, "{ours}");
        assert!(results.cpus.iter().all(|cpu| cpu.ours_ratio.is_ok()));
    }
}
