//! Runs the benchmarks of a suite on this machine.

use std::fs;
use std::os::fd::OwnedFd;

use steady_compare::{CommandRunner, again};
use steady_feature::Failure;
use steady_linux::activity::KernelCounters;
use steady_linux::{Root, clock};
use steady_model::{Activity, Effort, Layout, Metric, MetricInput, MetricSource, Nanos, Outcome, Plan, Run, Seed};
use steady_process::Extractor;
use steady_process::runner::{BlockSpec, RunError, RunSpec, Runner, Start, how};

use crate::adapter::{Adapter, Amount, Input};
use crate::run::{Machine, Side, Stop};
use crate::suite::Suite;

/// The programs of a suite, run by a launcher.
pub(crate) struct SuiteMachine<'a> {
    suite: &'a mut Suite,
    readable: &'a OwnedFd,
    /// The plan of the launcher. Each benchmark has two commands, that of the old build first. With [`Shared`] processes,
    /// there are only the two commands of the next processes.
    plan: Plan,
    /// If a process can run several benchmarks.
    shared: Option<Shared>,
    runner: Option<CommandRunner<'a>>,
    began: Nanos,
    counters: KernelCounters,
    blocks: u64,
}

/// What processes with several benchmarks need. Their results are not found by the launcher, which knows one result for
/// each process.
struct Shared {
    /// The metrics, and the times that a benchmark took: wall time and CPU time.
    values: Vec<(String, Extractor)>,
    amount: Option<Amount>,
    /// The number of processes with several benchmarks, since the last one with a result, that had none.
    in_vain: u32,
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

impl Shared {
    fn new(options: &RunOptions) -> Result<Self, String> {
        let times =
            ["wall-time[s]", "cpu-time[s]"].map(|text| text.parse().map_err(|error| format!("{text}: {error}")));
        let times: Vec<MetricSource> = times.into_iter().collect::<Result<_, _>>()?;
        let extractor = |source: &MetricSource| Ok::<_, String>((source.name.clone(), Extractor::new(source)?));
        Ok(Shared {
            values: options.metrics.iter().chain(&times).map(extractor).collect::<Result<_, _>>()?,
            amount: None,
            in_vain: 0,
        })
    }

    /// Whether processes with several benchmarks have results. If not, each benchmark has a process of its own.
    fn succeeds(&self) -> bool {
        self.in_vain < 2
    }

    /// A run of one benchmark of a process, from what the process wrote about it.
    ///
    /// # Errors
    /// The name of a value that is missing, and the reason.
    fn part(&self, run: &Run, written: &str) -> Result<Run, (&str, String)> {
        let values = self.values.iter().map(|(name, value)| match value.value(written.as_bytes()) {
            Ok(value) => Ok(value),
            Err(why) => Err((name.as_str(), why)),
        });
        let mut values = values.collect::<Result<Vec<f64>, _>>()?;
        let cpu = values.pop().map_or(Nanos::ZERO, Nanos::from_seconds);
        let wall = values.pop().map_or(Nanos::ZERO, Nanos::from_seconds);
        Ok(Run { wall, user: cpu, system: Nanos::ZERO, values, ..run.clone() })
    }
}

impl<'a> SuiteMachine<'a> {
    pub(crate) fn new(suite: &'a mut Suite, options: RunOptions, readable: &'a OwnedFd) -> Result<Self, Failure> {
        let shared = suite.adapter.takes_names().then(|| Shared::new(&options)).transpose();
        let shared = shared.map_err(|why| Failure::Usage(format!("metrics: {why}")))?;
        let plan = Plan {
            metrics: if shared.is_some() { vec![] } else { options.metrics },
            metric_input: match suite.adapter.input {
                Input::Stdout => MetricInput::Stdout,
                Input::Stderr => MetricInput::Stderr,
                Input::File => MetricInput::File(suite.workspace().join(RESULT)),
            },
            timeout: Some(options.timeout),
            cpus: options.cpus,
            layout: Some(Layout::Turns),
            metric: Some(Metric::Wall),
            // The budget is not that of a single run.
            ..Plan::new(vec![], Effort::Pairs(1), Seed(0))
        };
        Ok(SuiteMachine {
            suite,
            readable,
            plan,
            shared,
            runner: None,
            began: clock::monotonic(),
            counters: KernelCounters::read(&Root::default()),
            blocks: 0,
        })
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

    /// Runs commands of the plan, each with a padding of its environment in bytes, one after the other. Some may have failed.
    ///
    /// # Errors
    /// The inner one is the reason why the commands could not be run, as a clause.
    fn processes(&mut self, commands: &[(usize, u32)]) -> Result<Result<Vec<Run>, String>, Stop> {
        if self.runner.is_none() {
            self.start().map_err(Stop::Lost)?;
        }
        let Some(runner) = &mut self.runner else { return Err(Stop::Interrupted) };
        let run = |&(command, padding): &(usize, u32)| RunSpec { command, seat: 0, padding };
        let runs = commands.iter().map(run).collect();
        let spec =
            BlockSpec { number: Some(self.blocks), layout: Layout::Turns, runs, start: Start::Usual, draw: None };
        self.blocks += 1;
        let mut ended = vec![];
        match runner.run(&[spec], &mut |block| ended.extend(block.runs)) {
            Ok(()) => {}
            Err(RunError::Interrupted) => return Err(Stop::Interrupted),
            Err(RunError::NoValue { command, why }) => {
                let printed =
                    if why.printed.is_empty() { String::new() } else { format!("; it ends with:\n{}", why.printed) };
                return Ok(Err(self.without_value(command, &why.metric, &why.reason, &printed)));
            }
            Err(RunError::CannotStart { command, reason }) => {
                self.runner = None;
                return Ok(Err(format!("a run in {} could not be started: {reason}", self.build(command))));
            }
            Err(error) => {
                // The next run starts another launcher.
                self.runner = None;
                return Ok(Err(error.to_string()));
            }
        }
        Ok(Ok(ended))
    }

    /// Returns the reason why one of these runs failed, as a clause.
    fn failure<'b>(&self, runs: impl IntoIterator<Item = &'b Run>) -> Option<String> {
        let failed = runs.into_iter().find(|run| !run.succeeded(&self.plan.failures))?;
        Some(self.failed(failed.command, &failed.outcome))
    }

    /// Runs a benchmark whose results the launcher finds.
    fn own_process(&mut self, benchmark: usize, builds: &[(Side, u32)]) -> Result<Result<Vec<Run>, String>, Stop> {
        let command = |&(side, padding): &(Side, u32)| (2 * benchmark + side as usize, padding);
        let ended = self.processes(&builds.iter().map(command).collect::<Vec<_>>())?;
        Ok(ended.and_then(|runs| self.failure(&runs).map_or(Ok(runs), Err)))
    }

    /// The name of the build that a command belongs to.
    fn build(&self, command: usize) -> &str {
        &self.suite.builds[command % 2].build.name
    }

    fn without_value(&self, command: usize, metric: &str, reason: &str, printed: &str) -> String {
        format!("a run in {} has no value of '{metric}': {reason}{printed}", self.build(command))
    }

    /// Why a run of a command failed.
    fn failed(&self, command: usize, outcome: &Outcome) -> String {
        let printed = match outcome {
            Outcome::TimedOut => "; --timeout allows longer runs".to_owned(),
            outcome => self.printed(command, outcome),
        };
        format!("a run in {} {}{printed}", self.build(command), how(outcome))
    }

    /// The last lines that a command prints if it runs once more.
    fn printed(&self, command: usize, outcome: &Outcome) -> String {
        // The failure itself is reported in any case.
        let Ok(interrupt) = self.readable.try_clone() else { return String::new() };
        again::printed(&self.plan, command, outcome, self.suite.workspace(), interrupt)
    }

    /// Runs benchmarks in one process of each of these builds. Returns each run, which may have failed, and what it wrote.
    fn shared_processes(
        &mut self,
        benchmarks: &[usize],
        builds: &[(Side, u32)],
    ) -> Result<Result<Vec<(Run, String)>, String>, Stop> {
        let Some(Shared { amount: Some(amount), .. }) = self.shared else { return Ok(Ok(vec![])) };
        let sides = [Side::Old, Side::New].map(|side| side as usize);
        let files = sides.map(|side| self.suite.workspace().join(format!("{RESULT}-{side}")));
        let command = |side: usize| self.suite.command(benchmarks, side, amount, &files[side]);
        self.plan.commands = sides.map(command).to_vec();
        self.runner = None;
        files.iter().for_each(|file| {
            // If it is still there, nothing can be written either, and the run has no results.
            let _ = fs::remove_file(file);
        });
        let commands: Vec<(usize, u32)> = builds.iter().map(|&(side, padding)| (side as usize, padding)).collect();
        let written = |run: Run| {
            let bytes = fs::read(&files[run.command]).unwrap_or_default();
            (run, String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(self.processes(&commands)?.map(|runs| runs.into_iter().map(written).collect()))
    }

    /// Runs benchmarks in one process of each of these builds. Returns the runs of each; `None` for those without results.
    fn together(&mut self, benchmarks: &[usize], builds: &[(Side, u32)]) -> Result<Vec<Option<Vec<Run>>>, Stop> {
        let ended = self.shared_processes(benchmarks, builds)?;
        let Some(shared) = &mut self.shared else { return Ok(vec![None; benchmarks.len()]) };
        shared.in_vain += 1;
        let Ok(ended) = ended else { return Ok(vec![None; benchmarks.len()]) };
        let ended: Vec<_> = ended.iter().map(|(run, written)| (run, Adapter::parts(written))).collect();
        let runs = |&benchmark: &usize| {
            let name = self.suite.entries[benchmark].own_name.as_str();
            ended.iter().map(|(run, parts)| shared.part(run, parts.get(name)?).ok()).collect::<Option<Vec<Run>>>()
        };
        let found: Vec<Option<Vec<Run>>> = benchmarks.iter().map(runs).collect();
        if found.iter().any(Option::is_some) {
            shared.in_vain = 0;
        }
        Ok(found)
    }

    /// Runs a benchmark in a process of its own of each of these builds.
    fn alone(&mut self, benchmark: usize, builds: &[(Side, u32)]) -> Result<Result<Vec<Run>, String>, Stop> {
        let ended = match self.shared_processes(&[benchmark], builds)? {
            Ok(ended) => ended,
            Err(why) => return Ok(Err(why)),
        };
        if let Some(why) = self.failure(ended.iter().map(|(run, _)| run)) {
            return Ok(Err(why));
        }
        let Some(shared) = &self.shared else { return Ok(Ok(vec![])) };
        let name = self.suite.entries[benchmark].own_name.as_str();
        let with_values = |(run, written): (Run, String)| {
            let part = Adapter::parts(&written).get(name).copied().unwrap_or(&written);
            shared.part(&run, part).map_err(|(value, why)| {
                let printed = self.printed(run.command, &run.outcome);
                self.without_value(run.command, value, &why, &printed)
            })
        };
        Ok(ended.into_iter().map(with_values).collect())
    }
}

/// The name of the file for results, in the private directory.
const RESULT: &str = "result";

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
        if let Some(shared) = &mut self.shared {
            // The time is the same for all of them.
            shared.amount = amounts.first().copied();
            return Ok(());
        }
        let file = self.suite.workspace().join(RESULT);
        let mut commands = Vec::with_capacity(2 * self.suite.entries.len());
        for (at, amount) in amounts.iter().enumerate() {
            for build in [Side::Old, Side::New] {
                commands.push(self.suite.command(&[at], build as usize, *amount, &file));
            }
        }
        self.runner = None;
        self.plan.commands = commands;
        self.start()
    }

    fn share_a_process(&self, one: usize, other: usize) -> bool {
        let programs = |at: usize| self.suite.entries[at].programs;
        self.shared.as_ref().is_some_and(Shared::succeeds) && programs(one) == programs(other)
    }

    fn run(&mut self, benchmarks: &[usize], builds: &[(Side, u32)]) -> Result<Vec<Result<Vec<Run>, String>>, Stop> {
        if self.shared.is_none() {
            return benchmarks.iter().map(|&one| self.own_process(one, builds)).collect();
        }
        let together = match benchmarks.len() {
            1 => vec![None],
            _ => self.together(benchmarks, builds)?,
        };
        // A benchmark without results runs alone, which shows why.
        let each = benchmarks.iter().zip(together);
        each.map(|(&one, runs)| runs.map_or_else(|| self.alone(one, builds), |runs| Ok(Ok(runs)))).collect()
    }
}
