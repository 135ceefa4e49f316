//! Suites on a simulated machine, for the tests and for the bench of suites.
#![allow(dead_code, reason = "no user of this module needs all of it")]

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use steady_bench::{
    Amount, Choices, Compared, ErrorRate, Event, FailedRun, LogWriter, Machine, Measured, NoRuns, Sampling, Side, Stop,
    SuiteRecord, judged, measure,
};
use steady_feature::Failure;
use steady_model::{Absent, Activity, Ending, Layout, Nanos, Run, Seed, Timestamp, Verdict};
use steady_process::runner::{BlockSpec, RunSpec, Runner, Start};
use steady_process::simulated::{Conditions, SimulatedMachine};

/// Load that comes and goes, with some runs that take much longer.
pub(crate) const LOADED: Conditions = Conditions {
    noise: 0.02,
    hit_per_mille: 20,
    bursts: Some((1.5, 1.5, 1.6)),
    second_start: 0.003,
    ..Conditions::QUIET
};

/// The usual time that a process takes to start, in seconds.
const START_UP: f64 = 0.003;

/// How much longer a slow run takes, if the runs of a benchmark have two modes.
pub(crate) const SLOW: f64 = 1.5;

/// A suite whose true costs are known.
pub(crate) struct SimulatedSuite {
    /// The time of an iteration of each benchmark in the old build, in seconds.
    pub(crate) each: Vec<f64>,
    /// The time in the new build, as a factor.
    pub(crate) factors: Vec<f64>,
    /// The time for each iteration of a benchmark that the harness does not measure, in seconds.
    pub(crate) untimed: Vec<f64>,
    /// A benchmark that fails after this number of runs.
    pub(crate) fails: Option<(usize, u64)>,
    /// The only build in which it fails, if not in both.
    pub(crate) fails_in: Option<Side>,
    /// The number of runs after which the user interrupts.
    pub(crate) interrupted: Option<u64>,
    /// The largest relative effect of a memory layout on a benchmark.
    pub(crate) layout_effect: f64,
    /// The shares of slow runs of each benchmark in the old and in the new build, if its runs have two modes. A slow run
    /// takes [`SLOW`] times as long.
    pub(crate) modes: Vec<[f64; 2]>,
    /// The number of times that both builds were linked again.
    pub(crate) draws: u64,
    /// The number of times after which they cannot be linked again.
    pub(crate) draws_max: Option<u64>,
    /// Why the measuring ended early.
    pub(crate) lost: Option<Failure>,
    /// Whether a process can run several benchmarks.
    pub(crate) is_shared: bool,
    /// The time that a process takes to start, in seconds.
    pub(crate) start_up: f64,
    /// A benchmark with which a process of several has no results.
    pub(crate) ends_others: Option<usize>,
    /// The number of processes so far.
    pub(crate) processes: u64,
    /// The lines of the log.
    pub(crate) log: Vec<String>,
    machine: SimulatedMachine,
    /// Which runs are slow.
    slow: ChaCha12Rng,
    iterations: Vec<f64>,
    runs: Vec<u64>,
}

impl SimulatedSuite {
    /// Creates a suite of `count` benchmarks, whose iterations take from 100 ns to 1 ms.
    pub(crate) fn new(count: usize, conditions: Conditions, seed: u64) -> Self {
        let each = |at: usize| 1e-7 * 10f64.powf(4.0 * at as f64 / count as f64);
        SimulatedSuite {
            each: (0..count).map(each).collect(),
            factors: vec![1.0; count],
            untimed: vec![0.0; count],
            fails: None,
            fails_in: None,
            interrupted: None,
            layout_effect: 0.0,
            modes: vec![],
            draws: 0,
            draws_max: None,
            lost: None,
            is_shared: false,
            start_up: START_UP,
            ends_others: None,
            processes: 0,
            log: vec![],
            machine: SimulatedMachine::new(&[], conditions, seed),
            slow: ChaCha12Rng::seed_from_u64(seed),
            iterations: vec![1.0; count],
            runs: vec![0; count],
        }
    }

    /// The factor by which the present memory layout changes the time of a command.
    fn layout(&self, command: usize) -> f64 {
        let mut generator = ChaCha12Rng::seed_from_u64(1000 * self.draws + command as u64);
        1.0 + self.layout_effect * generator.random_range(-1.0..1.0)
    }

    /// Measures and evaluates the suite.
    pub(crate) fn measured(&mut self, record: &SuiteRecord) -> Result<SuiteRecord, Failure> {
        let choices = Choices {
            budget: record.budget_seconds,
            seed: record.seed,
            sampling: Sampling { time: Nanos(30_000_000), sample: Nanos(500_000), least: 3 },
            counts_iterations: true,
            time_metric: Some(0),
            draws: record.draws,
            timeout: Nanos::from_seconds(60.0),
        };
        let count = self.each.len();
        let names: Vec<String> = (0..count).map(|at| format!("benchmark {at}")).collect();
        let mut writer = LogWriter::new(record, &names, choices.counts_iterations);
        let (mut lost, mut log) = (None, vec![]);
        let Measured { courses, ending, needed } = measure(record, count, &choices, self, &mut |event| match event {
            Event::Lost(failure) => lost = Some(failure),
            event => log.extend(writer.lines(event)),
        })?;
        self.lost = lost;
        let mut record = SuiteRecord { ending, elapsed_seconds: self.now(), ..record.clone() };
        for (name, course) in names.iter().zip(courses) {
            record.add(name, course, needed);
        }
        log.push(LogWriter::last(&record));
        self.log = log;
        Ok(judged(record))
    }
}

impl Machine for SimulatedSuite {
    fn now(&self) -> Nanos {
        let started = if self.is_shared { self.start_up * self.processes as f64 } else { 0.0 };
        self.machine.now() + Nanos(200_000_000 * self.draws) + Nanos::from_seconds(started)
    }

    fn prepare(&mut self, amounts: &[Amount]) -> Result<(), Failure> {
        let iterations = |amount: &Amount| (amount.samples * amount.iterations) as f64;
        self.iterations = amounts.iter().map(iterations).collect();
        // A process that is shared starts once.
        let start = if self.is_shared { 0.0 } else { self.start_up };
        let process =
            |at: usize, factor: f64| start + self.iterations[at] * (self.each[at] * factor + self.untimed[at]);
        let seconds = (0..self.each.len()).flat_map(|at| [process(at, 1.0), process(at, self.factors[at])]);
        self.machine.set_seconds(&seconds.collect::<Vec<_>>());
        Ok(())
    }

    fn draw(&mut self) -> Result<(), Stop> {
        if self.draws_max == Some(self.draws) {
            return Err(Stop::Lost(Failure::Own("no space left on device".to_owned())));
        }
        self.draws += 1;
        Ok(())
    }

    fn share_a_process(&self, _: usize, _: usize) -> bool {
        self.is_shared
    }

    fn run(&mut self, benchmarks: &[usize], builds: &[(Side, u32)]) -> Result<Vec<Result<Vec<Run>, NoRuns>>, Stop> {
        self.processes += builds.len() as u64;
        if benchmarks.len() > 1 && self.ends_others.is_some_and(|one| benchmarks.contains(&one)) {
            return Ok(vec![Err(NoRuns::Unknown); benchmarks.len()]);
        }
        let run = |&one: &usize| Ok(self.run_one(one, builds)?.map_err(NoRuns::Failed));
        benchmarks.iter().map(run).collect()
    }
}

impl SimulatedSuite {
    fn run_one(&mut self, benchmark: usize, builds: &[(Side, u32)]) -> Result<Result<Vec<Run>, FailedRun>, Stop> {
        self.runs[benchmark] += 1;
        let fails = self.fails.is_some_and(|(at, runs)| at == benchmark && self.runs[benchmark] > runs);
        let failing = builds.iter().map(|(side, _)| *side).find(|side| self.fails_in.is_none_or(|only| only == *side));
        if fails && failing.is_some() {
            let why = "it exited with status 1".to_owned();
            let are_both = self.fails_in.is_none() && builds.len() > 1;
            return Ok(Err(FailedRun { side: failing.filter(|_| !are_both), why, remedy: Some("try again") }));
        }
        if self.interrupted.is_some_and(|most| self.runs.iter().sum::<u64>() > most) {
            return Err(Stop::Interrupted);
        }
        let run = |&(side, padding): &(Side, u32)| RunSpec { command: 2 * benchmark + side as usize, seat: 0, padding };
        let spec = BlockSpec {
            number: Some(0),
            layout: Layout::Turns,
            runs: builds.iter().map(run).collect(),
            start: Start::Usual,
            draw: None,
        };
        let mut runs = vec![];
        self.machine.run(&[spec], &mut |block| runs.extend(block.runs)).map_err(|_| Stop::Interrupted)?;
        for run in &mut runs {
            // The harness measures the iterations only.
            let factor = if run.command % 2 == 1 { self.factors[benchmark] } else { 1.0 };
            let timed = self.each[benchmark] * factor;
            let layout = self.layout(run.command);
            let start = if self.is_shared { 0.0 } else { self.start_up };
            let whole = start / self.iterations[benchmark] + timed + self.untimed[benchmark];
            let share = timed / whole;
            let share_of_slow = self.modes.get(benchmark).map_or(0.0, |shares| shares[run.command % 2]);
            let mode = if self.slow.random_bool(share_of_slow) { SLOW } else { 1.0 };
            run.values = vec![run.cpu_time().seconds() * share / self.iterations[benchmark] * layout * mode];
        }
        Ok(Ok(runs))
    }
}

/// A record of a suite before it is measured.
pub(crate) fn record(benchmarks: usize, seconds: f64, seed: u64) -> SuiteRecord {
    let absent = || Err(Absent::because("simulated"));
    let build = |name: &str| steady_bench::Build { name: name.to_owned(), ..Default::default() };
    SuiteRecord {
        started: Timestamp(0),
        host: steady_compare::run::CompareContext::simulated(false).host,
        revision: Err(Absent::because("simulated")),
        harness: "go".to_owned(),
        old: build("v1"),
        new: build("v2"),
        seed: Seed(seed),
        budget_seconds: Nanos::from_seconds(seconds),
        resolution_ratio: 0.01,
        confidence: 0.95,
        error: ErrorRate::Family,
        fail_if: None,
        condition: None,
        require_verdict: false,
        metrics: vec!["time[s]".parse().unwrap()],
        draws: false,
        compared: Compared::Harness,
        suite: benchmarks,
        shard: None,
        benchmarks: vec![],
        unmeasured: vec![],
        activity: Activity {
            steal_ratio: absent(),
            pressure: absent(),
            busy_ratio: absent(),
            throttled_ratio: absent(),
        },
        elapsed_seconds: Nanos::ZERO,
        ending: Ending::Interrupted,
    }
}

/// The benchmarks with a verdict.
pub(crate) fn with(record: &SuiteRecord, verdict: Verdict) -> Vec<&str> {
    let some = record.benchmarks.iter().filter(|one| one.verdict == verdict && one.failed.is_none());
    some.map(|one| one.name.as_str()).collect()
}
