//! Runs the benchmarks of a suite on this machine.

use std::os::fd::OwnedFd;

use steady_compare::{CommandRunner, again};
use steady_feature::Failure;
use steady_linux::activity::KernelCounters;
use steady_linux::{Root, clock};
use steady_model::{Activity, Effort, Layout, Metric, MetricInput, MetricSource, Nanos, Outcome, Plan, Run, Seed};
use steady_process::runner::{BlockSpec, RunError, RunSpec, Runner, Start, how};

use crate::adapter::{Amount, Input};
use crate::run::{Machine, Side, Stop};
use crate::suite::Suite;

/// The programs of a suite, run by a launcher.
pub(crate) struct SuiteMachine<'a> {
    suite: &'a mut Suite,
    readable: &'a OwnedFd,
    /// The plan of the launcher. Each benchmark has two commands, that of the old build first.
    plan: Plan,
    runner: Option<CommandRunner<'a>>,
    began: Nanos,
    counters: KernelCounters,
    blocks: u64,
}

/// The options of the runs.
pub(crate) struct RunOptions {
    /// The maximum duration of one process.
    pub(crate) timeout: Nanos,
    /// The CPUs to use, if not all.
    pub(crate) cpus: Option<Vec<usize>>,
    /// The metrics of the harness. The one that decides is the first.
    pub(crate) metrics: Vec<MetricSource>,
}

impl<'a> SuiteMachine<'a> {
    pub(crate) fn new(suite: &'a mut Suite, options: RunOptions, readable: &'a OwnedFd) -> Self {
        let plan = Plan {
            metrics: options.metrics,
            metric_input: match suite.adapter.input {
                Input::Stdout => MetricInput::Stdout,
                Input::Stderr => MetricInput::Stderr,
                Input::File => MetricInput::File(suite.result()),
            },
            timeout: Some(options.timeout),
            cpus: options.cpus,
            layout: Some(Layout::Turns),
            metric: Some(Metric::Wall),
            // The budget is not that of a single run.
            ..Plan::new(vec![], Effort::Pairs(1), Seed(0))
        };
        SuiteMachine {
            suite,
            readable,
            plan,
            runner: None,
            began: clock::monotonic(),
            counters: KernelCounters::read(&Root::default()),
            blocks: 0,
        }
    }

    /// The load of the machine since the start.
    pub(crate) fn activity(&self) -> Activity {
        self.counters.until(&KernelCounters::read(&Root::default()))
    }

    fn start(&mut self) -> Result<(), Failure> {
        let readable = self.readable.try_clone().map_err(|error| Failure::Own(error.to_string()))?;
        let own = |error: RunError| Failure::Own(error.to_string());
        self.runner = Some(CommandRunner::start(&self.plan, None, Some(readable), None).map_err(own)?);
        Ok(())
    }

    /// Why a run of a command failed, with the last lines that it prints if it runs once more.
    fn failed(&self, side: Side, command: usize, outcome: &Outcome) -> Stop {
        let build = &self.suite.builds[side as usize].build.name;
        let printed = match (outcome, self.readable.try_clone()) {
            (Outcome::TimedOut, _) => "; --timeout allows longer runs".to_owned(),
            (_, Ok(interrupt)) => again::printed(&self.plan, command, outcome, self.suite.workspace(), interrupt),
            // The failure itself is reported in any case.
            (_, Err(_)) => String::new(),
        };
        Stop::Failed(format!("a run in {build} {}{printed}", how(outcome)))
    }
}

impl Machine for SuiteMachine<'_> {
    fn draw(&mut self) -> Result<(), Stop> {
        self.suite.draw().map_err(|failure| match failure {
            Failure::Interrupted(_) => Stop::Interrupted,
            failure => Stop::Lost(failure),
        })
    }

    fn now(&self) -> Nanos {
        clock::monotonic() - self.began
    }

    fn prepare(&mut self, amounts: &[Amount]) -> Result<(), Failure> {
        let mut commands = Vec::with_capacity(2 * self.suite.entries.len());
        for (entry, amount) in self.suite.entries.iter().zip(amounts) {
            for build in [Side::Old, Side::New] {
                commands.push(self.suite.command(entry, build as usize, *amount));
            }
        }
        self.runner = None;
        self.plan.commands = commands;
        self.start()
    }

    fn run(&mut self, benchmark: usize, builds: &[(Side, u32)]) -> Result<Vec<Run>, Stop> {
        if self.runner.is_none() {
            self.start().map_err(Stop::Lost)?;
        }
        let Some(runner) = &mut self.runner else { return Err(Stop::Interrupted) };
        let run = |&(side, padding): &(Side, u32)| RunSpec { command: 2 * benchmark + side as usize, seat: 0, padding };
        let runs = builds.iter().map(run).collect();
        let spec =
            BlockSpec { number: Some(self.blocks), layout: Layout::Turns, runs, start: Start::Usual, draw: None };
        self.blocks += 1;
        let mut ended = vec![];
        let ran = runner.run(&[spec], &mut |block| ended.extend(block.runs));
        let side = |command: usize| if command.is_multiple_of(2) { Side::Old } else { Side::New };
        match ran {
            Ok(()) => {}
            Err(RunError::Interrupted) => return Err(Stop::Interrupted),
            Err(RunError::NoValue { command, why }) => {
                let build = &self.suite.builds[side(command) as usize].build.name;
                let printed =
                    if why.printed.is_empty() { String::new() } else { format!("; it ends with:\n{}", why.printed) };
                return Err(Stop::Failed(format!(
                    "a run in {build} has no value of '{}': {}{printed}",
                    why.metric, why.reason
                )));
            }
            Err(RunError::CannotStart { command, reason }) => {
                self.runner = None;
                let build = &self.suite.builds[side(command) as usize].build.name;
                return Err(Stop::Failed(format!("a run in {build} could not be started: {reason}")));
            }
            Err(error) => {
                // The next run starts another launcher.
                self.runner = None;
                return Err(Stop::Failed(error.to_string()));
            }
        }
        match ended.iter().find(|run| !run.succeeded(&self.plan.failures)) {
            Some(run) => Err(self.failed(side(run.command), run.command, &run.outcome)),
            None => Ok(ended),
        }
    }
}
