//! The experiment: every program launched once, to see that it ends; then runs in which each has a session of every mode,
//! in random order; then sessions that are counted.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use steady_model::{Absent, CounterScope, Ending, Host, Nanos, Reading, Timestamp};
use steady_process::launcher::PADDING_MAX;
use thiserror::Error;

use crate::plan::Bench;
use crate::record::{BenchKind, BenchProgram, BenchRecord, BenchSession, BenchTrial, LaunchMode, confidence};

/// So many sessions of each mode are counted, and one more for so many that are timed.
const COUNTED: u32 = 3;
const COUNTED_OF: u32 = 20;

/// What an experiment is told of the machine.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The machine.
    pub host: Host,
    /// The time of day.
    pub started: Timestamp,
    /// The git revision of the directory that it is started in.
    pub revision: Reading<String>,
    /// Whose instructions and cycles can be counted, or why none.
    pub counters: Reading<CounterScope>,
}

/// What happens while an experiment runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// How many sessions are over.
    pub done: u32,
    /// How many there are to be.
    pub of: u32,
    /// Which program was launched last.
    pub program: usize,
}

/// What came of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// What was measured.
    pub record: BenchRecord,
    /// What ended it early.
    pub stopped: Option<BenchError>,
}

/// Runs the experiment that `bench` describes. Whatever ends it, what was measured is in the record.
pub fn measure<L: SessionLauncher>(
    bench: &Bench,
    setting: Setting,
    launcher: &mut L,
    events: &mut dyn FnMut(Event),
) -> Done {
    let counted = COUNTED.max(bench.plan.runs / COUNTED_OF);
    let of = bench.programs.len() as u32 * (1 + LaunchMode::ALL.len() as u32 * (bench.plan.runs + counted));
    let mut experiment = Experiment {
        bench,
        launcher,
        coins: ChaCha12Rng::seed_from_u64(bench.seed.0),
        trials: vec![Err(Absent::because("it was interrupted before")); bench.programs.len()],
        done: 0,
        of,
        events,
    };
    let stopped = experiment.all(counted).err();
    let elapsed = experiment.launcher.now();
    let interrupted = stopped == Some(BenchError::Interrupted);
    let programs = bench.programs.iter().cloned().zip(experiment.trials);
    let record = BenchRecord {
        kind: BenchKind::Bench,
        seed: bench.seed,
        started: setting.started,
        elapsed_seconds: elapsed,
        host: setting.host,
        revision: setting.revision,
        counters: setting.counters,
        programs: programs.map(|(command, trial)| BenchProgram::new(command, trial)).collect(),
        confidence: confidence(),
        plan: bench.plan.clone(),
        ending: if interrupted { Ending::Interrupted } else { Ending::Spent },
    };
    Done { record, stopped }
}

struct Experiment<'a, L> {
    bench: &'a Bench,
    launcher: &'a mut L,
    coins: ChaCha12Rng,
    trials: Vec<Reading<BenchTrial>>,
    done: u32,
    of: u32,
    events: &'a mut dyn FnMut(Event),
}

impl<L: SessionLauncher> Experiment<'_, L> {
    fn all(&mut self, counted: u32) -> Result<(), BenchError> {
        for program in 0..self.bench.programs.len() {
            // Its cost is that of pages read for the first time: it is not kept.
            let tried = self.session(program, LaunchMode::Normal, 1, false)?;
            self.trials[program] = tried.map(|_| BenchTrial::default());
        }
        for _ in 0..self.bench.plan.runs {
            for program in self.shuffled(self.bench.programs.len()) {
                self.run(program)?;
            }
        }
        for _ in 0..counted {
            for program in self.shuffled(self.bench.programs.len()) {
                for mode in self.modes() {
                    if self.trials[program].is_err() {
                        self.done += 1;
                        continue;
                    }
                    let session = self.session(program, mode, self.bench.plan.count, true)?;
                    self.keep(program, session, |trial, session| trial.push_counted(session));
                }
            }
        }
        Ok(())
    }

    /// A session of each mode; kept only where all were made.
    fn run(&mut self, program: usize) -> Result<(), BenchError> {
        let mut sessions = Vec::with_capacity(LaunchMode::ALL.len());
        for mode in self.modes() {
            if self.trials[program].is_err() {
                self.done += 1;
                continue;
            }
            let session = self.session(program, mode, self.bench.plan.count, false)?;
            self.keep(program, session, |_, session| sessions.push(session));
        }
        if let Ok(trial) = &mut self.trials[program] {
            trial.push_run(sessions);
        }
        Ok(())
    }

    fn keep(
        &mut self,
        program: usize,
        session: Reading<(BenchSession, Option<String>)>,
        put: impl FnOnce(&mut BenchTrial, BenchSession),
    ) {
        match (session, &mut self.trials[program]) {
            (Ok((session, refusal)), Ok(trial)) => {
                trial.refusal = trial.refusal.take().or(refusal);
                put(trial, session);
            }
            // A program that ended before and does not now is not one to be told of by the others' means.
            (Err(absent), trial) => *trial = Err(absent),
            (Ok(_), Err(_)) => {}
        }
    }

    fn session(
        &mut self,
        program: usize,
        mode: LaunchMode,
        count: u32,
        counted: bool,
    ) -> Result<Reading<(BenchSession, Option<String>)>, BenchError> {
        let padding = self.coins.random_range(0..PADDING_MAX);
        let made = self.launcher.session(SessionOrder { program, mode, count, padding, counted })?;
        self.done += 1;
        (self.events)(Event { done: self.done, of: self.of, program });
        Ok(made)
    }

    fn modes(&mut self) -> [LaunchMode; LaunchMode::ALL.len()] {
        let mut modes = LaunchMode::ALL;
        modes.shuffle(&mut self.coins);
        modes
    }

    fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        order.shuffle(&mut self.coins);
        order
    }
}

/// A session to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionOrder {
    /// Which program of the plan.
    pub program: usize,
    /// How it is launched.
    pub mode: LaunchMode,
    /// How often.
    pub count: u32,
    /// How much the environment is padded, in bytes.
    pub padding: u32,
    /// Whether events are counted, and nothing timed.
    pub counted: bool,
}

/// Why there are no more sessions.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BenchError {
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The process that makes them ended, or could not be set up.
    #[error("the process that launches programs was lost: {0}")]
    Lost(String),
}

/// Something that makes sessions.
pub trait SessionLauncher {
    /// Makes one; absent where the program cannot be launched, or does not end. Beside it why there is no snapshot, where
    /// there was none and a reason is told.
    ///
    /// # Errors
    /// See [`BenchError`].
    fn session(&mut self, order: SessionOrder) -> Result<Reading<(BenchSession, Option<String>)>, BenchError>;

    /// The experiment's clock.
    fn now(&self) -> Nanos;
}
