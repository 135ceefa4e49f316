//! The runner of real rows: one crowd for each; and what a sleeping thread costs that wakes now and then to look at its process's CPU
//! clock.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;

use steady_linux::{clock, process};
use steady_model::{Absent, Machine, Nanos, Reading, Seed};

use super::client::Crowd;
use super::experiment::{LoadError, LoadRunner};
use super::protocol::Setup;
use super::rulers::RowRulers;
use super::watch::{Watcher, of_others};
use super::worker::{POLLER_STACK_BYTES, sleep_and_look};
use crate::{LoadPlan, LoadRow, LoadWork};
use steady_rulers::Rulers;

/// How often a sleeping thread is woken to measure it, and at which interval at most: a wake-up costs what it costs, so that the cost
/// of rarer ones is scaled from these.
const WAKE_UPS: u64 = 50;
const INTERVAL: Nanos = Nanos(10_000_000);

/// Runs the rows of a plan on this machine.
pub(crate) struct CrowdRunner {
    epoch: Nanos,
    plan: LoadPlan,
    seed: Seed,
    watcher: Watcher,
    rulers: Option<RowRulers>,
    interrupt: Option<OwnedFd>,
}

impl CrowdRunner {
    /// Keeps this thread to the plan's CPUs, for what it reads is to be of those. Rows stop when `interrupt` becomes
    /// readable.
    ///
    /// # Errors
    /// Where this process may not choose its CPUs.
    pub(crate) fn start(
        plan: &LoadPlan,
        seed: Seed,
        machine: &Machine,
        interrupt: Option<OwnedFd>,
    ) -> io::Result<Self> {
        if let Some(cpus) = &plan.cpus {
            process::keep_to(cpus)?;
        }
        let below = matches!(plan.work, LoadWork::Command { .. });
        let watcher = Watcher::new(seed, machine.usable_cpus(), machine.online.clone(), below);
        let epoch = clock::monotonic();
        Ok(CrowdRunner { epoch, plan: plan.clone(), seed, watcher, rulers: None, interrupt })
    }

    /// Reads these rulers while rows run. They are to be made once this runner keeps to its CPUs.
    pub(crate) fn read_rulers(&mut self, rulers: Rulers) {
        self.rulers = Some(RowRulers::new(rulers));
    }

    /// The rulers, with all that they have read.
    pub(crate) fn rulers(&mut self) -> Option<&mut Rulers> {
        self.rulers.as_mut().map(RowRulers::rulers)
    }

    fn setup(&self, procs: u32) -> Setup {
        Setup { work: self.plan.work.clone(), procs, cpus: self.plan.cpus.clone(), seed: self.seed }
    }
}

impl LoadRunner for CrowdRunner {
    fn poll_cost(&mut self, every: Nanos) -> Reading<f64> {
        poll_cost(every)
    }

    fn row(&mut self, procs: u32, looked: &mut dyn FnMut(Nanos)) -> Result<LoadRow, LoadError> {
        let setup = self.setup(procs);
        let interrupt = self.interrupt.as_ref().map(AsFd::as_fd);
        let mut crowd = Crowd::start(&setup, interrupt)?;
        let pids = std::mem::take(&mut crowd.pids);
        let mut watch = self.watcher.begin(&pids);
        if let Some(rulers) = &mut self.rulers {
            rulers.begin();
        }
        crowd.fire()?;
        while !crowd.has_an_end(interrupt, watch.pause())? {
            watch.look();
            looked(watch.passed());
            if let Some(rulers) = &mut self.rulers {
                rulers.read(watch.taken());
            }
        }
        let seen = watch.end();
        let finished = crowd.finished()?;
        let elapsed = finished.ended - finished.fired;
        let seen = seen(elapsed);
        let own = seen.own + finished.own;
        let row = LoadRow::new(procs, finished.fired - self.epoch, elapsed, seen.activity);
        Ok(LoadRow {
            runs: finished.runs,
            cpus: seen.cpus,
            // The counters are read when the crowd has seen all of them off.
            others_cpu: of_others(seen.busy, finished.ours + own + finished.after),
            own_cpu: Ok(own),
            rulers: self.rulers.as_mut().map(RowRulers::readings).unwrap_or_default(),
            ..row
        })
    }
}

/// CPU time per second of such a thread, by its own CPU clock. What the kernel does for it in interrupts, a microsecond
/// or so each time, is not in that clock.
pub(super) fn poll_cost(every: Nanos) -> Reading<f64> {
    let interval = every.min(INTERVAL);
    let poller = thread::Builder::new().stack_size(POLLER_STACK_BYTES).spawn(move || {
        sleep_and_look(interval);
        let before = clock::thread_cpu();
        for _ in 0..WAKE_UPS {
            sleep_and_look(interval);
        }
        clock::thread_cpu() - before
    });
    let absent = |why: String| Absent::because(format!("no thread to measure it with: {why}"));
    let used = poller.map_err(|error| absent(error.to_string()))?.join().map_err(|_| absent("it broke off".into()))?;
    Ok(used.seconds() / WAKE_UPS as f64 / every.seconds())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rarer_looks_cost_less() {
        let (often, rarely) = (poll_cost(Nanos(1_000_000)).unwrap(), poll_cost(Nanos(1_000_000_000)).unwrap());
        assert!(rarely > 0.0 && rarely < often, "{rarely} {often}");
    }
}
