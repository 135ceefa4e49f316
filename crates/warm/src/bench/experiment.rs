//! The experiment. First, each program is launched once to see that it ends. Then there are runs, in which each program
//! has a session of every mode, in random order. Then there are counted sessions.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use steady_model::{Absent, CounterScope, Ending, Host, Nanos, Reading, Timestamp};
use steady_process::launcher::PADDING_MAX;
use thiserror::Error;

use crate::plan::Bench;
use crate::record::{BenchKind, BenchProgram, BenchRecord, BenchSession, BenchTrial, LaunchMode, confidence};

/// Counted sessions of each mode: at least this many, and at least one for each `COUNTED_OF` timed sessions.
const COUNTED: u32 = 3;
const COUNTED_OF: u32 = 20;

/// The environment of the experiment, for its record.
#[derive(Clone, Debug)]
pub struct Context {
    /// The host it runs on.
    pub host: Host,
    /// The time of day at the start.
    pub started: Timestamp,
    /// The git revision of the working directory.
    pub revision: Reading<String>,
    /// The scope in which instructions and cycles can be counted, or why they cannot.
    pub counters: Reading<CounterScope>,
}

/// Progress: a session has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Number of sessions that have ended.
    pub done: u32,
    /// Number of sessions in the plan.
    pub of: u32,
    /// The index of the program that was launched last.
    pub program: usize,
}

/// The result of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// The measurements; complete sessions only.
    pub record: BenchRecord,
    /// Why the experiment ended early, if it did.
    pub stopped: Option<BenchError>,
}

/// The number of counted sessions of each program and mode.
fn counted(bench: &Bench) -> u32 {
    COUNTED.max(bench.plan.runs / COUNTED_OF)
}

/// The number of sessions of an experiment, of all programs and modes.
pub(crate) fn sessions(bench: &Bench) -> u32 {
    bench.programs.len() as u32 * (1 + LaunchMode::ALL.len() as u32 * (bench.plan.runs + counted(bench)))
}

/// Runs the experiment that `bench` describes. If it ends early, the record has what was measured so far.
pub fn measure<L: SessionLauncher>(
    bench: &Bench,
    context: Context,
    launcher: &mut L,
    events: &mut dyn FnMut(Event),
) -> Done {
    let (counted, of) = (counted(bench), sessions(bench));
    let mut experiment = Experiment {
        bench,
        launcher,
        coins: ChaCha12Rng::seed_from_u64(bench.seed.0),
        trials: vec![Err(Absent::because("the bench was interrupted before it was launched")); bench.programs.len()],
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
        started: context.started,
        elapsed_seconds: elapsed,
        host: context.host,
        revision: context.revision,
        counters: context.counters,
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
            // This session is discarded, because its cost includes pages that are read for the first time.
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

    /// Runs a session of each mode, in random order.
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
            // After a failed session the program has no result. Means of its other sessions could mislead.
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

/// The parameters of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionOrder {
    /// The index of the program in the plan.
    pub program: usize,
    /// How the program is launched.
    pub mode: LaunchMode,
    /// How often the program is launched.
    pub count: u32,
    /// Padding of the environment, in bytes.
    pub padding: u32,
    /// Whether events are counted. If so, times are not used.
    pub counted: bool,
}

/// Why an experiment ends early.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BenchError {
    /// The user interrupted it.
    #[error("interrupted")]
    Interrupted,
    /// The stage ended, or could not be set up.
    #[error("the process that launches programs was lost: {0}")]
    Lost(String),
}

/// A launcher of sessions.
pub trait SessionLauncher {
    /// Runs a session. There is no result, but a reason, if the program cannot be launched or does not end. The second
    /// value says why there was no snapshot, if a reason is known.
    ///
    /// # Errors
    /// See [`BenchError`].
    fn session(&mut self, order: SessionOrder) -> Result<Reading<(BenchSession, Option<String>)>, BenchError>;

    /// Time since the start of the experiment.
    fn now(&self) -> Nanos;
}
