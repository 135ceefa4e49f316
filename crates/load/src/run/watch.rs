//! What the machine does while a row runs: how busy each CPU is, which of them run the row's processes, and what
//! everything else takes. It costs little, and says how much.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;
use steady_linux::procfs::{self, SchedstatReader};
use steady_linux::{Root, clock};
use steady_model::{Absent, Activity, Nanos, Reading, Seed};

use super::counters::Counters;
use crate::CpuUse;

/// How long to wait for the first look at a row's processes, and how long at most between two: in between, each pause
/// is twice as long as the one before.
const FIRST_PAUSE: Nanos = Nanos(10_000_000);
const PAUSE: Nanos = Nanos(100_000_000);
/// Where looks are expensive, or the row hardly gets a CPU: still often enough to be of use.
const LONGEST_PAUSE: Nanos = Nanos(2_000_000_000);

/// The share of the row's CPU time that looks may cost: where they cost more, they are rarer.
const COST_RATIO: f64 = 0.0005;

/// A look goes to no more processes than this, drawn again each time.
const LOOKED_AT: usize = 64;

/// So many of them are asked for the CPU time that they have used.
const ASKED: usize = 8;

/// What does not change from row to row.
pub(super) struct Watcher {
    root: Root,
    /// CPUs' worth of time that there is.
    usable_cpus: f64,
    /// The CPUs that are online.
    online: Vec<usize>,
    /// Whether the work is that of processes below the crowd's workers, not of the workers themselves.
    below: bool,
    schedstat: Reading<SchedstatReader>,
    generator: ChaCha12Rng,
}

/// A row that is watched.
pub(super) struct Watch<'a> {
    watcher: &'a mut Watcher,
    pids: &'a [i32],
    begun: Counters,
    /// This process's CPU clock at the beginning.
    own: Nanos,
    /// When they set off, or soon will.
    set_off: Nanos,
    /// CPU time that the row has taken by the last look, about.
    taken: Nanos,
    pause: Nanos,
    /// Looks that found a process of the row alive, and how many of them found one running on each CPU.
    looks: u32,
    found: BTreeMap<usize, u32>,
}

/// What was seen of a row, but for what only its crowd can tell.
pub(super) struct Seen {
    pub(super) cpus: Vec<CpuUse>,
    /// CPU time that the machine's CPUs were in use, by anybody.
    pub(super) busy: Reading<Nanos>,
    /// CPU time that this process used.
    pub(super) own: Nanos,
    pub(super) activity: Activity,
}

impl Watcher {
    pub(super) fn new(seed: Seed, usable_cpus: f64, online: Vec<usize>, below: bool) -> Self {
        let root = Root::default();
        let schedstat = SchedstatReader::new(&root);
        Watcher { root, usable_cpus, online, below, schedstat, generator: ChaCha12Rng::seed_from_u64(seed.0) }
    }

    /// Begins to watch; to be called when all of `pids` are ready and before they set off.
    pub(super) fn begin<'a>(&'a mut self, pids: &'a [i32]) -> Watch<'a> {
        let begun = Counters::read(&self.root);
        Watch {
            watcher: self,
            pids,
            begun,
            own: clock::process_cpu(),
            set_off: clock::monotonic(),
            taken: Nanos::ZERO,
            pause: FIRST_PAUSE,
            looks: 0,
            found: BTreeMap::new(),
        }
    }
}

impl Watch<'_> {
    /// How long to leave the row alone.
    pub(super) fn pause(&self) -> Nanos {
        self.pause
    }

    /// How long the row has run.
    pub(super) fn passed(&self) -> Nanos {
        clock::monotonic() - self.set_off
    }

    /// CPU time that the row had taken by the last look, about.
    pub(super) fn taken(&self) -> Nanos {
        self.taken
    }

    /// Looks which CPUs run the row's processes.
    pub(super) fn look(&mut self) {
        let before = clock::thread_cpu();
        let most = LOOKED_AT.min(self.pids.len());
        let drawn = rand::seq::index::sample(&mut self.watcher.generator, self.pids.len(), most);
        let pids: Vec<i32> = drawn.iter().map(|index| self.pids[index]).collect();
        let (alive, on) = self.watcher.places(&pids);
        self.looks += u32::from(alive);
        for cpu in on {
            *self.found.entry(cpu).or_default() += 1;
        }
        let passed = clock::monotonic() - self.set_off;
        self.taken = self.watcher.taken(&pids, self.pids.len(), passed);
        let cost = (clock::thread_cpu() - before).seconds();
        // At the row's present pace.
        let affordable = passed.seconds() / self.taken.seconds().max(1e-9) * cost / COST_RATIO;
        let affordable = Nanos::from_seconds(affordable).min(LONGEST_PAUSE);
        self.pause = Nanos(2 * self.pause.0).min(PAUSE).max(affordable);
    }

    /// What was seen, where the row took `elapsed`; to be called when it is over.
    pub(super) fn end(self) -> impl FnOnce(Nanos) -> Seen {
        let own = clock::process_cpu() - self.own;
        let ended = Counters::read(&self.watcher.root);
        let online = self.watcher.online.clone();
        let Watch { begun, looks, found, .. } = self;
        move |elapsed| {
            let passed = begun.until(&ended, elapsed);
            let cpu_use = |cpu: &usize| CpuUse {
                cpu: *cpu,
                busy_ratio: passed.busy_ratio(*cpu),
                ours_ratio: share_of_looks(found.get(cpu).copied().unwrap_or(0), looks),
            };
            let cpus = online.iter().map(cpu_use).collect();
            Seen { cpus, busy: passed.busy(), own, activity: passed.activity }
        }
    }
}

impl Watcher {
    /// The CPU time that `all` processes have used, about, by some that were drawn of them; `passed` since they set off.
    /// What commands use is only known once they have ended: for them, what they may have used.
    fn taken(&self, drawn: &[i32], all: usize, passed: Nanos) -> Nanos {
        let most = passed.seconds() * self.usable_cpus.min(all as f64);
        let used = |pid: &i32| Some(self.schedstat.as_ref().ok()?.read(*pid).ok()?.cpu.seconds());
        let used: Vec<f64> = drawn.iter().take(if self.below { 0 } else { ASKED }).filter_map(used).collect();
        let mean = used.iter().sum::<f64>() / used.len() as f64;
        // Without one that can be asked this is no number, and the other one is taken.
        Nanos::from_seconds(most.min(mean * all as f64))
    }

    /// Whether any of the row's processes is alive, and the CPUs that run one of those whose work it is.
    fn places(&self, pids: &[i32]) -> (bool, Vec<usize>) {
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

fn share_of_looks(found: u32, looks: u32) -> Reading<f64> {
    match looks {
        0 => Err(Absent::because("the row was over before it was looked at")),
        looks => Ok(f64::from(found) / f64::from(looks)),
    }
}

/// What is left of the time that CPUs were in use, less what is known to be not of others; ticks are coarser than what is taken away, so that less than nothing
/// may seem to be left.
pub(super) fn of_others(busy: Reading<Nanos>, known: Nanos) -> Reading<Nanos> {
    busy.map(|busy| busy - known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_have_what_is_left_and_never_less_than_nothing() {
        assert_eq!(of_others(Ok(Nanos(100)), Nanos(50)), Ok(Nanos(50)));
        assert_eq!(of_others(Ok(Nanos(100)), Nanos(110)), Ok(Nanos(0)));
        assert!(of_others(Err(Absent::because("too short")), Nanos(1)).is_err());
    }

    #[test]
    fn a_short_row_tells_no_shares_and_no_zeros() {
        let mut watcher = Watcher::new(Seed(1), 2.0, vec![0], false);
        let seen = watcher.begin(&[]).end()(Nanos(1_000_000));
        assert!(seen.busy.is_err() && seen.activity.busy_ratio.is_err() && seen.activity.steal_ratio.is_err());
        assert!(seen.cpus.iter().all(|cpu| cpu.busy_ratio.is_err() && cpu.ours_ratio.is_err()));
    }

    #[test]
    fn this_process_is_seen_where_it_runs() {
        let own = std::process::id() as i32;
        let mut watcher = Watcher::new(Seed(1), 1e9, (0..4096).collect(), false);
        let pids = [own];
        let mut watch = watcher.begin(&pids);
        for _ in 0..3 {
            watch.look();
        }
        assert!(watch.taken() > Nanos::ZERO && watch.pause() <= LONGEST_PAUSE);
        let seen = watch.end()(Nanos(1_000_000_000));
        // The thread that looks may not be the main thread, which is what /proc tells of.
        let ours: f64 = seen.cpus.iter().filter_map(|cpu| cpu.ours_ratio.clone().ok()).sum();
        assert!(ours <= 1.0, "{ours}");
        assert!(seen.cpus.iter().all(|cpu| cpu.ours_ratio.is_ok()));
    }
}
