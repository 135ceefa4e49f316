//! Runs rows on this machine, each with a leader, and measures the cost of a polling thread.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;

use steady_linux::{clock, process};
use steady_model::{Absent, Machine, Nanos, Reading, Seed};

use super::client::Leader;
use super::experiment::{LoadError, LoadRunner};
use super::protocol::Setup;
use super::rulers::RowRulers;
use super::watch::{Watcher, of_others};
use super::worker::{POLLER_STACK_BYTES, sleep_and_read_clock};
use crate::{LoadPlan, LoadRow, LoadWork};
use steady_rulers::Rulers;

/// Number of wake-ups for the measurement of a polling thread, and their maximum interval. The cost of a wake-up does
/// not depend on the interval, so the cost of longer intervals is computed from these.
const WAKE_UPS: u64 = 50;
const INTERVAL: Nanos = Nanos(10_000_000);

/// Runs the rows of a plan on this machine.
pub(crate) struct MachineRunner {
    epoch: Nanos,
    plan: LoadPlan,
    seed: Seed,
    watcher: Watcher,
    rulers: Option<RowRulers>,
    interrupt: Option<OwnedFd>,
}

impl MachineRunner {
    /// Restricts this thread to the CPUs of the plan, so that its rulers read the same CPUs. Rows stop when `interrupt`
    /// becomes readable.
    ///
    /// # Errors
    /// This process cannot be restricted to these CPUs.
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
        Ok(MachineRunner { epoch, plan: plan.clone(), seed, watcher, rulers: None, interrupt })
    }

    /// Reads these rulers while rows run. Create them after this runner, which selects the CPUs.
    pub(crate) fn read_rulers(&mut self, rulers: Rulers) {
        self.rulers = Some(RowRulers::new(rulers));
    }

    /// Returns the rulers, with all their readings.
    pub(crate) fn rulers(&mut self) -> Option<&mut Rulers> {
        self.rulers.as_mut().map(RowRulers::rulers)
    }

    fn setup(&self, procs: u32) -> Setup {
        Setup { work: self.plan.work.clone(), procs, cpus: self.plan.cpus.clone(), seed: self.seed }
    }
}

impl LoadRunner for MachineRunner {
    fn poll_cost(&mut self, every: Nanos) -> Reading<f64> {
        poll_cost(every)
    }

    fn row(&mut self, procs: u32, progress: &mut dyn FnMut(Nanos)) -> Result<LoadRow, LoadError> {
        let setup = self.setup(procs);
        let interrupt = self.interrupt.as_ref().map(AsFd::as_fd);
        let mut leader = Leader::start(&setup, interrupt)?;
        let pids = std::mem::take(&mut leader.pids);
        let mut watch = self.watcher.begin(&pids);
        if let Some(rulers) = &mut self.rulers {
            rulers.begin();
        }
        leader.start_work()?;
        while !leader.wait_for_end(interrupt, watch.pause())? {
            watch.sample();
            progress(watch.passed());
            if let Some(rulers) = &mut self.rulers {
                rulers.read(watch.cpu_time());
            }
        }
        let results = watch.end();
        let finished = leader.finished()?;
        let elapsed = finished.ended - finished.fired;
        let results = results(elapsed);
        let own = results.own + finished.own;
        let row = LoadRow::new(procs, finished.fired - self.epoch, elapsed, results.activity);
        Ok(LoadRow {
            runs: finished.runs,
            cpus: results.cpus,
            // The counters are read after the leader has reaped all workers.
            others_cpu: of_others(results.busy, finished.ours + own + finished.after),
            own_cpu: Ok(own),
            rulers: self.rulers.as_mut().map(RowRulers::readings).unwrap_or_default(),
            ..row
        })
    }
}

/// Measures the CPU time per second of a polling thread, by its own CPU clock. This clock does not include the work of
/// the kernel in interrupts, about a microsecond each time.
pub(super) fn poll_cost(every: Nanos) -> Reading<f64> {
    let interval = every.min(INTERVAL);
    let poller = thread::Builder::new().stack_size(POLLER_STACK_BYTES).spawn(move || {
        sleep_and_read_clock(interval);
        let before = clock::thread_cpu();
        for _ in 0..WAKE_UPS {
            sleep_and_read_clock(interval);
        }
        clock::thread_cpu() - before
    });
    let absent = |why: String| Absent::because(format!("the thread that measures it failed: {why}"));
    let used = poller.map_err(|error| absent(error.to_string()))?.join().map_err(|_| absent("it panicked".into()))?;
    Ok(used.seconds() / WAKE_UPS as f64 / every.seconds())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_intervals_cost_less() {
        let (often, rarely) = (poll_cost(Nanos(1_000_000)).unwrap(), poll_cost(Nanos(1_000_000_000)).unwrap());
        assert!(rarely > 0.0 && rarely < often, "{rarely} {often}");
    }
}
