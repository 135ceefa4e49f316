//! Measures a suite: calibrates the benchmarks, and then runs random pairs of each until it is decided or the budget is
//! spent. Benchmarks that are not decided share the rest of the budget, in equal parts of time.

mod choosing;
mod sharing;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use steady_feature::Failure;
use steady_model::{Absent, Ending, Nanos, Run, Seed, Verdict};
use steady_render::units::{round_time_up, time_option};
use steady_stats::{Schedule, Sequence};

use crate::adapter::{Amount, Sampling};
use crate::judge::{least, mean, rules, strictest};
use crate::record::{BenchLook, Benchmark, Samples, Side, SuiteRecord, Unmeasured};
use sharing::{Sharing, Starts, missing};

/// Why the measuring cannot go on.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// The user interrupted.
    Interrupted,
    /// Nothing can be run.
    Lost(Failure),
}

impl Stop {
    fn failure(self) -> Failure {
        match self {
            Stop::Lost(failure) => failure,
            Stop::Interrupted => Failure::Interrupted(0),
        }
    }
}

/// Why a benchmark has no runs.
#[derive(Clone, Debug, PartialEq)]
pub enum NoRuns {
    /// A run of it failed.
    Failed(FailedRun),
    /// The process that it shared with others has no complete results of it. Run alone, it shows why.
    Unknown,
}

/// A run that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedRun {
    /// The build that failed. `None` if both did, or if the failure is not that of a build.
    pub side: Option<Side>,
    /// The reason, as a clause.
    pub why: String,
    /// What helps unless only one build fails, as a clause.
    pub remedy: Option<&'static str>,
}

/// What the measuring needs: it runs benchmarks.
pub trait Machine {
    /// Time since the start, on a monotonic clock.
    fn now(&self) -> Nanos;

    /// Sets the amount of work of one run of each benchmark.
    ///
    /// # Errors
    /// Nothing can be run.
    fn prepare(&mut self, amounts: &[Amount]) -> Result<(), Failure>;

    /// Whether one process can run both benchmarks, one after the other.
    fn share_a_process(&self, one: usize, other: usize) -> bool;

    /// Runs benchmarks in these builds, one after the other, each with a padding of its environment in bytes. If there
    /// are several benchmarks, they share a process. Returns for each benchmark its runs in the order of the builds,
    /// which have values of all metrics.
    ///
    /// # Errors
    /// See [`Stop`].
    fn run(&mut self, benchmarks: &[usize], builds: &[(Side, u32)]) -> Result<Vec<Result<Vec<Run>, NoRuns>>, Stop>;

    /// Links both builds again, each in a random order of its functions.
    ///
    /// # Errors
    /// They cannot be built, or the user interrupted.
    fn draw(&mut self) -> Result<(), Stop>;
}

/// The choices of a suite that the measuring needs.
#[derive(Clone, Debug)]
pub struct Choices {
    /// The time after which the measuring ends.
    pub budget: Nanos,
    /// The seed of all random choices.
    pub seed: Seed,
    /// How long a process measures.
    pub sampling: Sampling,
    /// Whether the harness takes a number of iterations.
    pub counts_iterations: bool,
    /// The index of the metric that is the time of one iteration, if there is one.
    pub time_metric: Option<usize>,
    /// Whether both builds are linked again for each pair of a benchmark.
    pub draws: bool,
    /// The maximum duration of a process.
    pub timeout: Nanos,
}

/// A benchmark while it is measured.
#[derive(Clone, Debug)]
pub struct Course {
    /// The amount of work of one run; `None` if it could not be calibrated.
    pub amount: Option<Amount>,
    /// The amount of work of the next calibration run.
    calibrating: Amount,
    /// Why it is not measured, or no longer.
    pub stopped: Option<Stopped>,
    /// The pairs so far, in time order.
    pub samples: Samples,
    /// Whether a run is given a number of iterations.
    pub counts_iterations: bool,
    /// The looks so far.
    pub looks: Vec<BenchLook>,
    /// The time of its runs in a pair, without the start of their processes.
    per_pair: Nanos,
    /// The time of all its runs in pairs.
    own: Nanos,
    /// The same, with its share of the start of their processes.
    spent: Nanos,
    sharing: Sharing,
    schedule: Schedule,
    sequence: Sequence,
}

/// Why a benchmark is not measured, or no longer.
#[derive(Clone, Debug, PartialEq)]
pub enum Stopped {
    /// Its verdict is decided.
    Decided,
    /// A run failed.
    Failed {
        /// The reason, as a clause.
        why: String,
        /// The build whose run failed, if all runs of the other one succeeded.
        only_in: Option<Side>,
    },
    /// The budget does not suffice for it.
    NoTime,
}

/// An event of the measuring.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A calibration run of these benchmarks begins.
    Calibrating(Vec<usize>),
    /// The calibration has ended. These are the amounts of work of the benchmarks that are measured.
    Begun(Vec<Option<Amount>>),
    /// There is time for benchmarks that were left out. These are the amounts of work of the added ones.
    Added(Vec<Option<Amount>>),
    /// A pair of a benchmark has ended.
    Paired(usize, Samples),
    /// The pairs of a benchmark were evaluated.
    Looked(usize, BenchLook),
    /// A run of a benchmark failed: the reason as a clause, and the build if all runs of the other one succeeded. A
    /// later event about the same benchmark replaces this one.
    Failed(usize, String, Option<Side>),
    /// Both builds are linked again.
    Drawing,
    /// Nothing more can be run. The results so far are kept.
    Lost(Failure),
    /// A pair of these benchmarks begins: the share of the budget that is spent, and the number of benchmarks that are
    /// decided or failed.
    Measuring(Vec<usize>, f64, usize),
}

/// The result of measuring a suite.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The benchmarks, in the order of the suite.
    pub courses: Vec<Course>,
    /// Why the measuring ended.
    pub ending: Ending,
    /// The budget that a whole suite needs at least, if this one was too small for a part of it.
    pub needed: Option<Nanos>,
}

/// Measures the suite of `count` benchmarks that `record` describes.
///
/// # Errors
/// Nothing can be run, or the user interrupted before the first pair.
pub fn measure(
    record: &SuiteRecord,
    count: usize,
    choices: &Choices,
    machine: &mut dyn Machine,
    events: &mut dyn FnMut(Event),
) -> Result<Measured, Failure> {
    let level = strictest(record.confidence, record.suite.max(count));
    let course = || Course {
        amount: None,
        calibrating: choices.sampling.first(),
        stopped: None,
        samples: Samples::default(),
        counts_iterations: choices.counts_iterations,
        looks: vec![],
        per_pair: Nanos::ZERO,
        own: Nanos::ZERO,
        spent: Nanos::ZERO,
        sharing: Sharing::default(),
        schedule: Schedule::new(),
        sequence: Sequence::new(rules(record, level), 1),
    };
    let mut measuring = Measuring {
        record,
        least: least(level).max(Schedule::FIRST_LOOK_PAIRS),
        level,
        choices,
        machine,
        events,
        generator: ChaCha12Rng::seed_from_u64(choices.seed.0),
        courses: (0..count).map(|_| course()).collect(),
        began: Nanos::ZERO,
        starts: Starts::default(),
        drawing: Nanos::ZERO,
        round: vec![],
    };
    let all: Vec<usize> = (0..count).collect();
    let until = Nanos::from_seconds(choices.budget.seconds() * choosing::CALIBRATION_SHARE);
    measuring.calibrate(&all, until).and_then(|()| measuring.draw()).map_err(Stop::failure)?;
    measuring.choose(&all);
    let needed = measuring.needed();
    measuring.machine.prepare(&measuring.amounts())?;
    let begun = measuring.measured(&all);
    (measuring.events)(Event::Begun(begun));
    measuring.began = measuring.machine.now();
    if choices.draws {
        measuring.begin_round(choices.budget - measuring.began);
    }
    let ending = measuring.pairs()?;
    Ok(Measured { courses: measuring.courses, ending, needed })
}

impl SuiteRecord {
    /// Adds a benchmark after it was measured. It is not evaluated yet. `needed` is the budget that would suffice for
    /// the whole suite.
    pub fn add(&mut self, name: &str, course: Course, needed: Option<Nanos>) {
        let name = name.to_owned();
        let (failed, only_in) = match course.stopped {
            Some(Stopped::Failed { why, only_in }) => (Some(why), only_in),
            Some(Stopped::NoTime) => {
                let reason = match needed {
                    _ if self.ending == Ending::Interrupted => "the measuring was interrupted before".to_owned(),
                    Some(needed) => {
                        let budget = time_option(round_time_up(needed.seconds()));
                        let what = match self.shard {
                            Some(_) => "the benchmarks of this part",
                            None => "all selected benchmarks",
                        };
                        format!(
                            "the budget is too small: the least number of pairs of {what} needs about --budget {budget}"
                        )
                    }
                    None => "the budget is too small".to_owned(),
                };
                let unmeasured = Unmeasured::because(name, reason);
                return self.unmeasured.push(Unmeasured { needed_budget_seconds: needed, ..unmeasured });
            }
            Some(Stopped::Decided) | None => (None, None),
        };
        let pairs = course.samples.len();
        if let (Some(reason), 0) = (&failed, pairs) {
            let unmeasured = Unmeasured::because(name, reason.clone());
            return self.unmeasured.push(Unmeasured { failed_only_in: only_in, ..unmeasured });
        }
        let Some(amount) = course.amount else { return };
        let benchmark = Benchmark::before(&name, amount, course.counts_iterations, course.samples);
        self.benchmarks.push(Benchmark {
            failed,
            failed_only_in: only_in,
            looks: course.looks,
            unshared: course.sharing.is_alone(),
            ..benchmark
        });
    }
}

impl Benchmark {
    /// A benchmark before it is evaluated.
    pub(crate) fn before(name: &str, amount: Amount, counts_iterations: bool, samples: Samples) -> Self {
        let none = || Absent::because("it was not evaluated");
        Benchmark {
            name: name.to_owned(),
            samples_per_run: amount.samples,
            iterations: counts_iterations.then_some(amount.iterations),
            measured_seconds: amount.time,
            unshared: false,
            failed: None,
            failed_only_in: None,
            verdict: Verdict::Undecided,
            condition: None,
            change: Err(none()),
            interval: Err(none()),
            mean: None,
            pairs: samples.len(),
            time_factor: None,
            medians: vec![],
            cpu: Err(none()),
            looks: vec![],
            samples: Some(samples),
        }
    }
}

struct Measuring<'a> {
    record: &'a SuiteRecord,
    /// The least number of pairs that can decide a benchmark.
    least: usize,
    /// The level at which benchmarks are tested while they are measured.
    level: f64,
    choices: &'a Choices,
    machine: &'a mut dyn Machine,
    events: &'a mut dyn FnMut(Event),
    generator: ChaCha12Rng,
    courses: Vec<Course>,
    /// The time at which the calibration ended.
    began: Nanos,
    starts: Starts,
    /// The time to link both builds again, if they are.
    drawing: Nanos,
    /// With draws: the benchmarks whose pairs of this draw have not been run yet.
    round: Vec<usize>,
}

impl Measuring<'_> {
    /// The amount of work of one run of each benchmark.
    fn amounts(&self) -> Vec<Amount> {
        self.courses.iter().map(|course| course.amount.unwrap_or(course.calibrating)).collect()
    }

    /// The amounts of work of those of these benchmarks that are measured.
    fn measured(&self, benchmarks: &[usize]) -> Vec<Option<Amount>> {
        let measured = |(at, course): (usize, &Course)| {
            course.amount.filter(|_| course.stopped.is_none() && benchmarks.contains(&at))
        };
        self.courses.iter().enumerate().map(measured).collect()
    }

    fn padding(&mut self) -> u32 {
        self.generator.random_range(0..steady_process::launcher::PADDING_MAX)
    }

    /// Runs pairs until all benchmarks are decided, or the budget is spent.
    fn pairs(&mut self) -> Result<Ending, Failure> {
        loop {
            let next = self.next().and_then(|next| {
                if next.is_empty() {
                    return self.add_left_out();
                }
                self.pair(next)?;
                self.add_left_out()?;
                Ok(true)
            });
            match next {
                Ok(true) => {}
                Ok(false) => {
                    let is_open = self.courses.iter().any(|course| course.stopped.is_none());
                    self.final_looks(1.0, true);
                    return Ok(if is_open { Ending::Spent } else { Ending::Decided });
                }
                Err(stop) if self.courses.iter().all(|course| course.samples.len() == 0) => return Err(stop.failure()),
                // What was measured so far is reported.
                Err(Stop::Lost(failure)) => {
                    (self.events)(Event::Lost(failure));
                    self.final_looks(1.0, true);
                    return Ok(Ending::Interrupted);
                }
                // The user may have interrupted because of the progress, so these looks are like any others.
                Err(Stop::Interrupted) => {
                    self.final_looks(self.fraction(), false);
                    return Ok(Ending::Interrupted);
                }
            }
        }
    }

    /// Runs a pair of processes with these benchmarks. A benchmark that fails is not measured any more.
    fn pair(&mut self, benchmarks: Vec<usize>) -> Result<(), Stop> {
        let is_done = |course: &&Course| matches!(course.stopped, Some(Stopped::Decided | Stopped::Failed { .. }));
        let done = self.courses.iter().filter(is_done).count();
        let spent = self.fraction();
        (self.events)(Event::Measuring(benchmarks.clone(), spent, done));
        let began = self.machine.now();
        let new_first = self.generator.random();
        let sides = if new_first { [Side::New, Side::Old] } else { [Side::Old, Side::New] };
        let builds = sides.map(|side| (side, self.padding()));
        let results = self.machine.run(&benchmarks, &builds)?;
        let took = (self.machine.now() - began).seconds();
        // Each benchmark is charged its share of the time of the processes. The time of one without a result is not
        // that of the others.
        let least = self.choices.sampling.time;
        let own = |runs: &[Run]| runs.iter().map(|run| run.wall.max(least).seconds()).sum::<f64>();
        let all: f64 = results.iter().flatten().map(|runs| own(runs)).sum();
        let is_complete = results.iter().all(Result::is_ok);
        if is_complete {
            self.starts.add(2, took, all);
        }
        let took = if is_complete { took } else { all };
        let (together, missing) = (benchmarks.len(), missing(&results));
        for (&benchmark, result) in benchmarks.iter().zip(results) {
            match result {
                Ok(runs) => {
                    if missing == 0 {
                        self.courses[benchmark].sharing.succeed(together);
                    }
                    let own = own(&runs);
                    self.courses[benchmark].own += Nanos::from_seconds(own);
                    self.add(benchmark, new_first, &runs, Nanos::from_seconds(took * own / all));
                }
                Err(NoRuns::Failed(failed)) => self.fail(benchmark, failed)?,
                Err(NoRuns::Unknown) => self.courses[benchmark].sharing.miss(together, missing),
            }
        }
        Ok(())
    }

    /// Ends the measuring of a benchmark after a run of it failed. A run of the other build shows whether only one build
    /// fails. Earlier pairs do not, because something that both need may be gone. The run may exceed the budget, because
    /// the exit status depends on it.
    fn fail(&mut self, benchmark: usize, failed: FailedRun) -> Result<(), Stop> {
        let FailedRun { side, why, remedy } = failed;
        let with_remedy = remedy.map_or_else(|| why.clone(), |remedy| format!("{why}; {remedy}"));
        self.stop(benchmark, with_remedy, None);
        let Some(side) = side else { return Ok(()) };
        let padding = self.padding();
        if self.machine.run(&[benchmark], &[(side.other(), padding)])?.iter().all(Result::is_ok) {
            self.stop(benchmark, why, Some(side));
        }
        Ok(())
    }

    /// Notes the failure of a benchmark.
    fn stop(&mut self, benchmark: usize, why: String, only_in: Option<Side>) {
        (self.events)(Event::Failed(benchmark, why.clone(), only_in));
        self.courses[benchmark].stopped = Some(Stopped::Failed { why, only_in });
    }

    /// The benchmarks of the next pair: of those that are open and whose pair fits into the rest of the budget, the one
    /// with the least time so far, and others that can share its processes. Those with too few pairs for a verdict come
    /// first, so that none is left with too few. Nothing of this depends on which build is called old. With draws, each
    /// of them has one pair in every draw. Returns none if there is no time for any.
    fn next(&mut self) -> Result<Vec<usize>, Stop> {
        let left = self.choices.budget - self.machine.now();
        if !self.choices.draws {
            let mut order: Vec<usize> = self.fitting(left).collect();
            order.shuffle(&mut self.generator);
            order.sort_by_key(|&one| (self.courses[one].samples.len() >= self.least, self.courses[one].spent));
            let mut group = self.group(&order, left);
            group.shuffle(&mut self.generator);
            return Ok(group);
        }
        let fitting: Vec<usize> = self.fitting(left).collect();
        self.round.retain(|one| fitting.contains(one));
        if self.round.is_empty() {
            if self.drawing > left || self.fitting(left - self.drawing).next().is_none() {
                return Ok(vec![]);
            }
            self.draw()?;
            self.begin_round(self.choices.budget - self.machine.now());
        }
        Ok(self.round.pop().into_iter().collect())
    }

    /// The benchmarks that are open and whose pair fits into this time.
    fn fitting(&self, left: Nanos) -> impl Iterator<Item = usize> {
        let start = Nanos::from_seconds(self.starts.of_pair());
        let fits =
            move |course: &Course| course.stopped.is_none() && course.per_pair + start <= left && left > Nanos::ZERO;
        self.courses.iter().enumerate().filter(move |(_, course)| fits(course)).map(|(one, _)| one)
    }

    /// Links both builds again, if there are draws.
    fn draw(&mut self) -> Result<(), Stop> {
        if self.choices.draws {
            (self.events)(Event::Drawing);
            let began = self.machine.now();
            self.machine.draw()?;
            self.drawing = self.machine.now() - began;
        }
        Ok(())
    }

    /// Begins a round in which each open benchmark has one pair, in random order, if it fits into this time.
    fn begin_round(&mut self, left: Nanos) {
        self.round = self.fitting(left).collect();
        self.round.shuffle(&mut self.generator);
    }

    fn fraction(&self) -> f64 {
        let all = (self.choices.budget - self.began).seconds();
        let spent = (self.machine.now() - self.began).seconds();
        if all > 0.0 { (spent / all).clamp(0.0, 1.0) } else { 1.0 }
    }

    /// Adds a pair, and has a look if one is due.
    fn add(&mut self, benchmark: usize, new_first: bool, runs: &[Run], took: Nanos) {
        let fraction = self.fraction();
        let quantity = self.record.primary();
        let course = &mut self.courses[benchmark];
        let [first, second] = runs else { return };
        let (old, new) = if new_first { (second, first) } else { (first, second) };
        let mut pair = Samples::default();
        pair.push(new_first, old, new);
        course.samples.extend(&pair);
        course.spent += took;
        let pairs = course.samples.len();
        course.per_pair = Nanos(course.own.0 / pairs.max(1) as u64);
        (self.events)(Event::Paired(benchmark, pair));
        if course.schedule.due(pairs, course.spent.seconds()) {
            let look = BenchLook { pairs, fraction_ratio: fraction, last: false };
            course.looks.push(look);
            (self.events)(Event::Looked(benchmark, look));
            let pairs = [course.samples.pairs(quantity)];
            let found = course.sequence.look(&pairs, fraction, false);
            let mean = mean(&pairs[0], self.level);
            let is_open = found.contenders.iter().any(|one| one.mean_is_open(&mean, self.record.resolution_ratio));
            if found.done && !is_open {
                course.stopped = Some(Stopped::Decided);
            }
        }
    }

    /// Adds a look at the end for the benchmarks that are not decided.
    fn final_looks(&mut self, fraction_ratio: f64, last: bool) {
        for course in self.courses.iter_mut().filter(|course| course.stopped.is_none() && course.samples.len() > 0) {
            course.looks.push(BenchLook { pairs: course.samples.len(), fraction_ratio, last });
        }
    }
}
