//! A simulated machine behind [`LoadRunner`], on which load experiments run without time passing.

use steady_model::{Absent, Activity, Nanos, Outcome, Reading};

use super::experiment::{LoadError, LoadRunner};
use crate::{LoadRow, LoadRun, LoadWork};

/// A simulated machine whose speed at every number of processes is known.
pub struct SimulatedMachine {
    work: LoadWork,
    /// Number of its cores.
    pub cores: u32,
    /// Number of its logical CPUs.
    pub logical_cpus: u32,
    /// Share that a second thread adds to the work of a core: 0.2 for 20 %.
    pub second_thread: f64,
    /// Work per second of CPU time of a process with its own core.
    pub rate: f64,
    /// The error of rows with at least this number of processes.
    pub fails: Option<(u32, LoadError)>,
    /// Interrupts the experiment after this number of rows.
    pub interrupt_after: Option<usize>,
    now: f64,
    rows: usize,
}

impl SimulatedMachine {
    /// Returns a machine with 4 cores of 2 threads that does `work`.
    pub fn new(work: LoadWork) -> Self {
        SimulatedMachine {
            work,
            cores: 4,
            logical_cpus: 8,
            second_thread: 0.2,
            rate: 1e6,
            fails: None,
            interrupt_after: None,
            now: 0.0,
            rows: 0,
        }
    }

    /// Returns the mean speed of running processes, relative to a process with its own core.
    fn speed(&self, procs: u32) -> f64 {
        let shared = (1.0 + self.second_thread) / 2.0;
        let running = procs.min(self.logical_cpus);
        let sharing = f64::from(2 * running.saturating_sub(self.cores));
        1.0 - (1.0 - shared) * sharing / f64::from(running)
    }

    /// Returns the CPU time and the work of a process, and its CPU time beyond the limit.
    fn one(&self, speed: f64, stretch: f64) -> (f64, f64, Reading<Nanos>) {
        let unlimited = || Err(Absent::because("the work has no CPU time limit"));
        match &self.work {
            LoadWork::Hash { cpu_time, poll } => {
                let limit = cpu_time.seconds();
                let every = poll.map(Nanos::seconds);
                let cpu = every.map_or(limit, |every| (limit * stretch / every).ceil() * every / stretch);
                (cpu, cpu * self.rate * speed, Ok(Nanos::from_seconds(cpu - limit)))
            }
            LoadWork::Sum { work } => (*work as f64 / (self.rate * speed), *work as f64, unlimited()),
            LoadWork::Command { .. } => (1.0 / (self.rate * speed), 1.0, unlimited()),
        }
    }
}

impl LoadRunner for SimulatedMachine {
    fn poll_cost(&mut self, every: Nanos) -> Reading<f64> {
        Ok(1e-5 / every.seconds())
    }

    fn row(&mut self, procs: u32, _: &mut dyn FnMut(Nanos)) -> Result<LoadRow, LoadError> {
        if let Some((_, error)) = self.fails.as_ref().filter(|(from, _)| procs >= *from) {
            return Err(error.clone());
        }
        if self.interrupt_after.is_some_and(|rows| self.rows >= rows) {
            return Err(LoadError::Interrupted);
        }
        let stretch = f64::from(procs.max(self.logical_cpus)) / f64::from(self.logical_cpus);
        let (cpu, work, overshoot) = self.one(self.speed(procs), stretch);
        let wall = Nanos::from_seconds(cpu * stretch);
        let run = LoadRun {
            user: Nanos::from_seconds(cpu),
            system: Nanos::ZERO,
            wall,
            run_delay: Ok(wall - Nanos::from_seconds(cpu)),
            work: work.round() as u64,
            overshoot,
            outcome: Outcome::Exited(0),
            left_behind: 0,
        };
        let started = Nanos::from_seconds(self.now);
        self.now += wall.seconds();
        self.rows += 1;
        let absent = || Err(Absent::because("the machine is simulated"));
        let activity =
            Activity { busy_ratio: absent(), steal_ratio: absent(), pressure: absent(), throttled_ratio: absent() };
        Ok(LoadRow {
            runs: vec![run; procs as usize],
            own_cpu: Ok(Nanos::ZERO),
            ..LoadRow::new(procs, started, wall, activity)
        })
    }
}
