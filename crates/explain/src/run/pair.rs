//! The experiment on two commands: pairs of runs that follow each other, then runs of each command that are only
//! counted.

use steady_compare::run::{CompareContext, CompareError, Event, compare};
use steady_costs::prices::Prices;
use steady_model::{Absent, Activity, Block, Ending, Hook, Layout, Moment, Nanos, Plan, Reading};
use steady_process::runner::{BlockSpec, RunError, Runner, Traits};
use steady_rulers::Pace;
use steady_stats::MIN_PAIRS;

use crate::judge::{evaluated_pairs, judged_pair};
use crate::record::{Counts, ExplainPairRecord};

/// Number of counted runs of each command: enough to see whether counts vary.
pub const COUNTED_RUNS: usize = 3;

/// Instruments and prices for explaining a difference.
#[derive(Clone, Debug)]
pub struct Means {
    /// Prices of events on this machine.
    pub prices: Prices,
    /// Reads the arithmetic ruler. Returns the CPU time of one step, in seconds.
    pub ruler: fn() -> f64,
}

/// A step of the experiment, for the progress on a terminal.
#[derive(Debug)]
pub enum Step {
    /// An event of the pairs.
    Pairs(Event),
    /// A counted run begins, one of `2 * COUNTED_RUNS`.
    Counting {
        /// Number of counted runs of both commands that have ended.
        ended: usize,
    },
}

/// Runs a command and counts its processes, threads, programs and system calls.
pub trait Counter {
    /// Runs a command of the plan once, to its end.
    ///
    /// # Errors
    /// [`RunError::Interrupted`], or an error if the helper process fails. If the run cannot be counted, the reading is
    /// absent.
    fn count(&mut self, command: usize) -> Result<Reading<Counts>, RunError>;

    /// Sources of the counts, one string each.
    fn sources(&self) -> Vec<String>;
}

/// Runs the pairs, then the counted runs if there are enough pairs for intervals, and evaluates them.
///
/// Pairs run as in a comparison, but always in turns: the times of duets are not the commands' own. The whole budget is
/// spent, with one look at the end. Each line has its own interval, and no early end suits all of them.
///
/// # Errors
/// The errors of [`compare`]. An interruption after the first pair is no error: it ends the pairs, and the counts are
/// absent.
pub fn explain_pair<R: Runner>(
    plan: &Plan,
    setting: CompareContext,
    means: Means,
    runner: &mut R,
    counter: Reading<&mut dyn Counter>,
    events: &mut dyn FnMut(Step),
) -> Result<ExplainPairRecord, CompareError> {
    let plan = Plan { layout: Some(Layout::Turns), ..plan.clone() };
    let duets = Err(Absent::because("only runs that follow each other show their own times"));
    let setting = CompareContext { one_look: true, duets, ..setting };
    let mut paced = Paced { runner, ruler: means.ruler, pace: Pace::default() };
    let record = compare(&plan, setting, &mut paced, &mut |event| events(Step::Pairs(event)))?;
    let alu = paced.pace.throughout();
    let (counted, sources) = match counter {
        _ if record.ending == Ending::Interrupted => (absent("the experiment was interrupted before"), vec![]),
        Err(why) => (absent(&why.0), vec![]),
        // Without intervals there is no difference to explain, and runs that took too long for pairs take even longer
        // under a tracer.
        Ok(_) if evaluated_pairs(&record) < MIN_PAIRS => {
            (absent("there were too few pairs for an interval, so no runs were counted"), vec![])
        }
        Ok(counter) => (counted(counter, events)?, counter.sources()),
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
        alu,
        prices: means.prices,
    }))
}

/// A runner that reads the clock rate between runs, while nothing is measured.
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

/// Counts runs of both commands alternately.
fn counted(counter: &mut dyn Counter, events: &mut dyn FnMut(Step)) -> Result<[Reading<Vec<Counts>>; 2], RunError> {
    let mut all = [Ok(Vec::new()), Ok(Vec::new())];
    for round in 0..COUNTED_RUNS {
        for (command, counts) in all.iter_mut().enumerate() {
            events(Step::Counting { ended: 2 * round + command });
            match counter.count(command) {
                Ok(Ok(count)) => counts.iter_mut().for_each(|counts| counts.push(count.clone())),
                Ok(Err(why)) => *counts = Err(why),
                // The pairs are complete, so they are reported without the counts.
                Err(RunError::Interrupted) => return Ok(absent("the experiment was interrupted before")),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(all)
}
