//! The runner of real rows: one crowd for each.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use steady_linux::{clock, process};
use steady_model::{LoadPlan, LoadRow, LoadWork, Machine, Nanos, Reading};

use super::client::Crowd;
use super::poll_cost::poll_cost;
use super::protocol::Setup;
use super::rulers::RowRulers;
use super::runner::{LoadError, LoadRunner};
use super::watch::{Watcher, of_others};
use steady_rulers::Rulers;

/// Runs the rows of a plan on this machine.
pub(crate) struct CrowdRunner {
    epoch: Nanos,
    plan: LoadPlan,
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
    pub(crate) fn start(plan: &LoadPlan, machine: &Machine, interrupt: Option<OwnedFd>) -> io::Result<Self> {
        if let Some(cpus) = &plan.cpus {
            process::keep_to(cpus)?;
        }
        let below = matches!(plan.work, LoadWork::Command { .. });
        let watcher = Watcher::new(plan.seed, machine.usable_cpus(), machine.online.clone(), below);
        let epoch = clock::monotonic();
        Ok(CrowdRunner { epoch, plan: plan.clone(), watcher, rulers: None, interrupt })
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
        Setup { work: self.plan.work.clone(), procs, cpus: self.plan.cpus.clone(), seed: self.plan.seed }
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
        Ok(LoadRow {
            procs,
            started: finished.fired - self.epoch,
            elapsed,
            runs: finished.runs,
            cpus: seen.cpus,
            // The counters are read when the crowd has seen all of them off.
            others_cpu: of_others(seen.busy, finished.ours + own + finished.after),
            own_cpu: Ok(own),
            activity: seen.activity,
            rulers: self.rulers.as_mut().map(RowRulers::readings).unwrap_or_default(),
        })
    }
}
