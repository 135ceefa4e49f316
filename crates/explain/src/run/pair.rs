//! Two commands of which the difference is to be explained: pairs in turns, then runs of each that are only counted; why these
//! could not be run.

use steady_compare::run::{CompareError, Event, Setting, compare};
use steady_costs::prices::Prices;
use steady_model::{Absent, Activity, Block, Ending, Hook, Layout, Moment, Nanos, Plan, Reading};
use steady_process::runner::{BlockSpec, RunError, Runner, Traits};
use steady_rulers::Pace;

use crate::judge::judged_pair;
use crate::record::{Counts, ExplainPairRecord};

/// So many runs of each command are counted: enough to see whether they all do the same.
pub const COUNTED_RUNS: usize = 3;

/// What the difference is explained with.
#[derive(Clone, Debug)]
pub struct Means {
    /// What events cost here.
    pub prices: Prices,
    /// The length of the ticks by which user and system time are sampled; absent if both are exact.
    pub tick: Reading<Nanos>,
    /// Reads the arithmetic ruler now: CPU time of a step, in seconds.
    pub ruler: fn() -> f64,
}

/// Something that runs a command and counts what it makes: processes, threads, programs, system calls.
pub trait Counter {
    /// Runs a command of the plan once, to its end.
    ///
    /// # Errors
    /// [`RunError::Interrupted`], or a command that cannot be started. Where nothing can be counted, that is absent.
    fn count(&mut self, command: usize) -> Result<Reading<Counts>, RunError>;

    /// Where the counts come from, in words.
    fn sources(&self) -> Vec<String>;
}

/// Runs the pairs, then the counted runs, and judges them.
///
/// The pairs are made as those of a comparison, in turns only, for duets tell no true times; and the effort is spent whole
/// and looked at once, for each line has an interval of its own and no early end suits them all.
///
/// # Errors
/// As [`compare`]; an interruption after the first pair ends the pairs, and the counted runs are then absent.
pub fn explain_pair<R: Runner>(
    plan: &Plan,
    setting: Setting,
    means: Means,
    runner: &mut R,
    counter: Reading<&mut dyn Counter>,
    events: &mut dyn FnMut(Event),
) -> Result<ExplainPairRecord, CompareError> {
    let plan = Plan { layout: Some(Layout::Turns), ..plan.clone() };
    let duets = Err(Absent::because("times are told by turns alone"));
    let setting = Setting { one_look: true, duets, ..setting };
    let mut paced = Paced { runner, ruler: means.ruler, pace: Pace::default() };
    let record = compare(&plan, setting, &mut paced, events)?;
    let alu = paced.pace.throughout();
    let (counted, sources) = match counter {
        _ if record.ending == Ending::Interrupted => (absent("it was interrupted before"), vec![]),
        Err(why) => (absent(&why.0), vec![]),
        Ok(counter) => (counted(counter)?, counter.sources()),
    };
    Ok(judged_pair(ExplainPairRecord {
        record,
        pairs: 0,
        confidence: 0.0,
        lines: Vec::new(),
        missing: Vec::new(),
        notes: Vec::new(),
        sources,
        counted,
        tick_seconds: means.tick,
        alu,
        prices: means.prices,
    }))
}

/// A runner between whose runs the clock's rate is read, while nothing is measured.
struct Paced<'a, R> {
    runner: &'a mut R,
    ruler: fn() -> f64,
    pace: Pace,
}

impl<R: Runner> Runner for Paced<'_, R> {
    fn now(&self) -> Nanos {
        self.runner.now()
    }

    fn run(&mut self, blocks: &[BlockSpec], done: &mut dyn FnMut(Block)) -> Result<(), RunError> {
        let ran = self.runner.run(blocks, done);
        self.pace.note((self.ruler)());
        ran
    }

    fn probe(&mut self, block: &BlockSpec) -> Result<(Block, Vec<Traits>), RunError> {
        self.runner.probe(block)
    }

    fn draw(&mut self) -> Result<Nanos, RunError> {
        self.runner.draw()
    }

    fn hook(&mut self, hook: Hook, command: usize) -> Result<(), RunError> {
        self.runner.hook(hook, command)
    }

    fn activity(&self) -> Activity {
        self.runner.activity()
    }

    fn moment(&mut self) -> Moment {
        self.runner.moment()
    }
}

fn absent(why: &str) -> [Reading<Vec<Counts>>; 2] {
    [Err(Absent::because(why)), Err(Absent::because(why))]
}

/// Both commands' counts, in turns.
fn counted(counter: &mut dyn Counter) -> Result<[Reading<Vec<Counts>>; 2], RunError> {
    let mut all = [Ok(Vec::new()), Ok(Vec::new())];
    for _ in 0..COUNTED_RUNS {
        for (command, counts) in all.iter_mut().enumerate() {
            match counter.count(command) {
                Ok(Ok(count)) => counts.iter_mut().for_each(|counts| counts.push(count.clone())),
                Ok(Err(why)) => *counts = Err(why),
                // The pairs are whole: they are shown without the counts.
                Err(RunError::Interrupted) => return Ok(absent("it was interrupted before")),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(all)
}
