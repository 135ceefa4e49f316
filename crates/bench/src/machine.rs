//! Runs the benchmarks of a suite on this machine.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;

use steady_compare::{CommandRunner, again};
use steady_feature::Failure;
use steady_linux::activity::KernelCounters;
use steady_linux::{Root, clock};
use steady_model::{Activity, Effort, Layout, Metric, MetricInput, MetricSource, Nanos, Outcome, Plan, Run, Seed};
use steady_process::Extractor;
use steady_process::runner::{BlockSpec, RunError, RunSpec, Runner, Start, how};
use steady_render::units::time_setting;

use crate::adapter::{Adapter, Amount, Input};
use crate::record::Side;
use crate::run::{FailedRun, Machine, NoRuns, Stop};
use crate::suite::Suite;

/// The programs of a suite, run by a launcher.
pub(crate) struct SuiteMachine<'a> {
    suite: &'a mut Suite,
    readable: &'a OwnedFd,
    /// The plan of the launcher. Each benchmark has two commands, that of the old build first. With [`Shared`]
    /// processes, there are only the two commands of the next processes.
    plan: Plan,
    /// Whether the maximum duration of a process follows from the budget.
    is_timeout_of_budget: bool,
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
    metrics: Vec<(String, Extractor)>,
    /// The times that a benchmark took: wall time and CPU time.
    times: [Extractor; 2],
    amount: Option<Amount>,
}

/// The options of the runs.
pub(crate) struct RunOptions {
    /// The maximum duration of one process.
    pub(crate) timeout: Nanos,
    /// Whether it follows from the budget.
    pub(crate) is_timeout_of_budget: bool,
    /// The CPUs to use, if not all.
    pub(crate) cpus: Option<Vec<usize>>,
    /// The metrics of the harness. The one that decides is the first.
    pub(crate) metrics: Vec<MetricSource>,
}

impl Shared {
    /// The beginnings of the lines with the times that a benchmark took.
    const TIMES: [&str; 2] = ["steady: wall-time ", "steady: cpu-time "];

    fn new(options: &RunOptions) -> Result<Self, String> {
        let extractor = |source: &MetricSource| Ok::<_, String>((source.name.clone(), Extractor::new(source)?));
        let time = |text: &str| Extractor::new(&text.parse().map_err(|error| format!("{text}: {error}"))?);
        Ok(Shared {
            metrics: options.metrics.iter().map(extractor).collect::<Result<_, _>>()?,
            times: [time("wall-time[s]")?, time("cpu-time[s]")?],
            amount: None,
        })
    }

    /// A run with the metrics that its process wrote about a benchmark, and with the times, if there are any.
    ///
    /// # Errors
    /// The name of a metric without a value, and the reason.
    fn part(&self, run: &Run, written: &str) -> Result<Part, (&str, String)> {
        let is_time = |line: &&str| Self::TIMES.iter().any(|time| line.starts_with(time));
        let (times, others): (Vec<&str>, Vec<&str>) = written.lines().partition(is_time);
        let (times, others) = (times.join("\n"), others.join("\n"));
        let values = self.metrics.iter().map(|(name, metric)| match metric.value(others.as_bytes()) {
            Ok(value) => Ok(value),
            Err(why) => Err((name.as_str(), why)),
        });
        let run = Run { values: values.collect::<Result<_, _>>()?, ..run.clone() };
        let time = |time: &Extractor| time.value(times.as_bytes()).map(Nanos::from_seconds).ok();
        Ok(match self.times.each_ref().map(time) {
            [Some(wall), Some(user)] => Part { run: Run { wall, user, system: Nanos::ZERO, ..run }, has_times: true },
            _ => Part { run, has_times: false },
        })
    }
}

/// The run of one benchmark of a process.
struct Part {
    run: Run,
    /// Whether the times are those of the benchmark. Otherwise they are those of the process.
    has_times: bool,
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
            is_timeout_of_budget: options.is_timeout_of_budget,
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

    /// Runs commands of the plan, each with a padding of its environment in bytes, one after the other. Some may have
    /// failed.
    ///
    /// # Errors
    /// The inner one says why the commands could not be run.
    fn processes(&mut self, commands: &[(usize, u32)]) -> Result<Result<Vec<Run>, FailedRun>, Stop> {
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
                let why = format!("a run in {} could not be started: {reason}", self.build(command));
                return Ok(Err(FailedRun::of(command, why)));
            }
            Err(error) => {
                // The next run starts another launcher.
                self.runner = None;
                return Ok(Err(FailedRun { side: None, why: error.to_string(), remedy: None }));
            }
        }
        Ok(Ok(ended))
    }

    /// Returns why one of these runs failed.
    fn failure<'b>(&self, runs: impl IntoIterator<Item = &'b Run>) -> Option<FailedRun> {
        let mut failed = runs.into_iter().filter(|run| !run.succeeded(&self.plan.failures));
        let first = failed.next()?;
        let failure = self.failed(first.command, &first.outcome);
        let are_both = failed.any(|run| run.command != first.command);
        Some(FailedRun { side: failure.side.filter(|_| !are_both), ..failure })
    }

    /// Runs a benchmark whose results the launcher finds.
    fn own_process(&mut self, benchmark: usize, builds: &[(Side, u32)]) -> Result<Result<Vec<Run>, FailedRun>, Stop> {
        self.suite.renew(benchmark, builds.iter().map(|&(side, _)| side)).map_err(Stop::Lost)?;
        let command = |&(side, padding): &(Side, u32)| (2 * benchmark + side as usize, padding);
        let ended = self.processes(&builds.iter().map(command).collect::<Vec<_>>())?;
        Ok(ended.and_then(|runs| self.failure(&runs).map_or(Ok(runs), Err)))
    }

    /// The name of the build that a command belongs to.
    fn build(&self, command: usize) -> &str {
        &self.suite.builds[command % 2].build.name
    }

    fn without_value(&self, command: usize, metric: &str, reason: &str, printed: &str) -> FailedRun {
        FailedRun::of(
            command,
            format!("a run in {} has no value of '{metric}': {reason}{printed}", self.build(command)),
        )
    }

    /// Why a run of a command failed.
    fn failed(&self, command: usize, outcome: &Outcome) -> FailedRun {
        let (build, limit) = (self.build(command), self.plan.timeout.unwrap_or_default());
        let why = format!("a run in {build} {}", ended(outcome, limit));
        match outcome {
            // Load can make a run of either build slow, so this is no failure of the build.
            Outcome::TimedOut if self.is_timeout_of_budget => FailedRun {
                side: None,
                why: format!("a run in {build} took longer than {}, a quarter of the budget", time_setting(limit)),
                remedy: Some("use a larger --budget"),
            },
            Outcome::TimedOut => {
                FailedRun { remedy: Some("--timeout allows longer runs"), ..FailedRun::of(command, why) }
            }
            outcome => FailedRun::of(command, why + &self.printed(command, outcome)),
        }
    }

    /// The last lines that a command prints if it runs once more.
    fn printed(&self, command: usize, outcome: &Outcome) -> String {
        // The failure itself is reported in any case.
        let Ok(interrupt) = self.readable.try_clone() else { return String::new() };
        again::printed(&self.plan, command, outcome, self.suite.workspace(), interrupt)
    }

    /// Runs benchmarks in one process of each of these builds. Returns each run, which may have failed, and what it
    /// wrote.
    fn shared_processes(
        &mut self,
        benchmarks: &[usize],
        builds: &[(Side, u32)],
    ) -> Result<Result<Vec<(Run, String)>, FailedRun>, Stop> {
        let Some(Shared { amount: Some(amount), .. }) = self.shared else { return Ok(Ok(vec![])) };
        let sides = [Side::Old, Side::New].map(|side| side as usize);
        let files = sides.map(|side| self.suite.workspace().join(format!("{RESULT}-{side}")));
        let command = |side: usize| self.suite.command(benchmarks, side, amount, &files[side]);
        self.plan.commands = sides.map(command).to_vec();
        self.runner = None;
        for file in &files {
            // Results of an earlier run must not be taken for those of this one.
            match fs::remove_file(file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    let why = format!("'{}' cannot be removed: {error}", file.display());
                    return Ok(Err(FailedRun { side: None, why, remedy: None }));
                }
                Ok(()) | Err(_) => {}
            }
        }
        let commands: Vec<(usize, u32)> = builds.iter().map(|&(side, padding)| (side as usize, padding)).collect();
        let written = |run: Run| {
            let bytes = fs::read(&files[run.command]).unwrap_or_default();
            (run, String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(self.processes(&commands)?.map(|runs| runs.into_iter().map(written).collect()))
    }

    /// Runs several benchmarks in one process of each of these builds. Those without complete results are unknown.
    fn together(
        &mut self,
        benchmarks: &[usize],
        builds: &[(Side, u32)],
    ) -> Result<Vec<Result<Vec<Run>, NoRuns>>, Stop> {
        let ended = self.shared_processes(benchmarks, builds)?.unwrap_or_default();
        let ended: Vec<_> = ended.iter().map(|(run, written)| (run, Adapter::parts(written))).collect();
        let Some(shared) = &self.shared else { return Ok(vec![]) };
        let run = |(run, parts): &(&Run, BTreeMap<&str, &str>), name: &str| {
            let part = shared.part(run, parts.get(name)?).ok()?;
            part.has_times.then_some(part.run)
        };
        let runs = |&benchmark: &usize| {
            let name = self.suite.entries[benchmark].own_name.as_str();
            let runs: Vec<Run> = ended.iter().filter_map(|process| run(process, name)).collect();
            if runs.len() == builds.len() { Ok(runs) } else { Err(NoRuns::Unknown) }
        };
        Ok(benchmarks.iter().map(runs).collect())
    }

    /// Runs a benchmark in a process of its own of each of these builds.
    fn alone(&mut self, benchmark: usize, builds: &[(Side, u32)]) -> Result<Result<Vec<Run>, FailedRun>, Stop> {
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
            shared.part(&run, part).map(|part| part.run).map_err(|(metric, why)| {
                let printed = self.printed(run.command, &run.outcome);
                self.without_value(run.command, metric, &why, &printed)
            })
        };
        Ok(ended.into_iter().map(with_values).collect())
    }
}

impl FailedRun {
    /// A failed run of a command. Even commands are of the old build.
    fn of(command: usize, why: String) -> Self {
        let side = if command.is_multiple_of(2) { Side::Old } else { Side::New };
        FailedRun { side: Some(side), why, remedy: None }
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
        self.shared.is_some() && programs(one) == programs(other)
    }

    fn run(&mut self, benchmarks: &[usize], builds: &[(Side, u32)]) -> Result<Vec<Result<Vec<Run>, NoRuns>>, Stop> {
        let one = match benchmarks {
            [one] if self.shared.is_some() => self.alone(*one, builds)?,
            [one] => self.own_process(*one, builds)?,
            _ => return self.together(benchmarks, builds),
        };
        Ok(vec![one.map_err(NoRuns::Failed)])
    }
}

/// How a run or a step ended that had this time limit, as the end of a sentence.
pub(crate) fn ended(outcome: &Outcome, limit: Nanos) -> String {
    match outcome {
        Outcome::TimedOut => format!("{} of {}", how(outcome), time_setting(limit)),
        outcome => how(outcome),
    }
}
