//! Measures the cost of primitives of this machine and its kernel. Each is timed in a loop, minus the same loop without
//! it.
//!
//! A **prober** (this program with the argument [`PROBER`]) measures one primitive, pinned to one CPU. Each round has
//! one repetition of every probe, in random order, so drift affects all probes alike. In each repetition, the order of
//! the loop and the empty loop is random.
//!
//! An experiment prepares all probes, then runs rounds until there are enough repetitions or the time is over.

mod machine;
mod runner;
mod series;
mod serve;
mod simulated;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use steady_model::{Absent, Ending, Host, Machine, Nanos, Probe, Reading, Seed, Timestamp};

use crate::judge::FEWEST;
use crate::record::{Affinity, ClockFacts, CostsPlan, CostsRecord, ProbeCost};

pub(crate) use machine::ProberRunner;
pub use runner::{Calibrated, CostsError, CostsRunner, Opened, Repeat, Repeated};
use series::{Series, expected, lengths};
pub(crate) use serve::{rounds, serve};
pub use simulated::SimulatedProbes;

/// The first argument that makes `steady` a prober.
pub(crate) const PROBER: &str = "__prober";

/// The first argument that makes `steady` run a probe's loop once and exit, so that a tracer can count its system
/// calls.
pub(crate) const ROUNDS: &str = "__rounds";

/// Time that is reserved for the end (ending processes, the report).
const RESERVE: Nanos = Nanos(500_000_000);
/// The reserve is at least this multiple of the time to prepare the first probe, which is long on a busy machine...
const RESERVED_OPENINGS: u64 = 10;
/// ... but at most the budget divided by this.
const RESERVED_PART: u64 = 10;
/// The time divided by this may be spent on counting system calls.
const CALLS_PART: u64 = 8;
/// Loops are shortened if there is no time for this many rounds...
const ENOUGH_ROUNDS: u32 = 30;
/// ... but not below this share of their length.
const SHORTEST_PART: f64 = 0.1;

/// Facts about the machine and the run for the record.
#[derive(Clone, Debug)]
pub struct Circumstances {
    /// Description of the machine.
    pub host: Host,
    /// CPUs of the machine.
    pub machine: Machine,
    /// Time of day at the start.
    pub started: Timestamp,
    /// Git revision of the working directory.
    pub revision: Reading<String>,
    /// Clocks of the machine.
    pub clocks: Vec<ClockFacts>,
    /// The CPUs to measure on.
    pub affinity: Affinity,
    /// Seed of the random order.
    pub seed: Seed,
}

/// Progress of a running experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A probe is being prepared.
    Opening {
        /// The probe that is being prepared.
        probe: Probe,
        /// Number of probes before it.
        done: usize,
        /// Total number of probes.
        of: usize,
    },
    /// A round is complete.
    Round {
        /// Number of complete rounds.
        done: u32,
        /// Planned number of rounds.
        of: u32,
    },
}

/// The result of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// Everything that was measured.
    pub record: CostsRecord,
    /// The error that ended the experiment or a part of it early. The end of the budget is no error.
    pub stopped: Option<CostsError>,
    /// Readings of the arithmetic ruler for each repetition, in seconds and in order, by probe.
    pub alu: Vec<(Probe, Vec<f64>)>,
}

/// Runs the experiment that `plan` describes. The record has everything that was measured, also after an error.
pub fn measure<R: CostsRunner>(
    plan: &CostsPlan,
    circumstances: Circumstances,
    runner: &mut R,
    events: &mut dyn FnMut(Event),
) -> Done {
    let until = plan.budget_seconds - RESERVE.min(Nanos(plan.budget_seconds.0 / RESERVED_PART));
    let mut experiment =
        Experiment { plan, runner, until, last: until + plan.budget_seconds, all: vec![], stopped: None };
    experiment.open(events);
    experiment.shorten();
    let mut coins = ChaCha12Rng::seed_from_u64(circumstances.seed.0);
    experiment.rounds(&mut coins, events);
    experiment.overtime(&mut coins);
    let elapsed = experiment.runner.now();
    let Experiment { all, stopped, .. } = experiment;
    let alu = all.iter().filter_map(|(probe, series)| Some((*probe, series.as_ref().ok()?.alu.clone()))).collect();
    let interrupted = stopped == Some(CostsError::Interrupted);
    let record = CostsRecord {
        plan: plan.clone(),
        seed: circumstances.seed,
        started: circumstances.started,
        host: circumstances.host,
        machine: circumstances.machine,
        revision: circumstances.revision,
        affinity: circumstances.affinity,
        clocks: circumstances.clocks,
        probes: all.into_iter().map(probe_cost).collect(),
        elapsed_seconds: elapsed,
        ending: if interrupted { Ending::Interrupted } else { Ending::Spent },
    };
    Done { record, stopped, alu }
}

/// Converts a series to its part of the record.
fn probe_cost(found: (Probe, Reading<Series>)) -> ProbeCost {
    found.1.and_then(Series::measured).unwrap_or_else(|absent| ProbeCost::absent(found.0, &absent))
}

struct Experiment<'a, R> {
    plan: &'a CostsPlan,
    runner: &'a mut R,
    /// Time by which the last repetition must end, since the start of the experiment.
    until: Nanos,
    /// The same for probes that are not ready yet, or have too few repetitions for an interval.
    last: Nanos,
    all: Vec<(Probe, Reading<Series>)>,
    stopped: Option<CostsError>,
}

impl<R: CostsRunner> Experiment<'_, R> {
    fn is_interrupted(&self) -> bool {
        self.stopped == Some(CostsError::Interrupted)
    }

    /// Prepares the probes one after the other.
    fn open(&mut self, events: &mut dyn FnMut(Event)) {
        let of = self.plan.probes.len();
        self.runner.announce(&self.plan.probes);
        for (done, probe) in self.plan.probes.iter().copied().enumerate() {
            events(Event::Opening { probe, done, of });
            let opened = if self.is_interrupted() { Err(CostsError::Interrupted) } else { self.prepare(probe) };
            let series = opened.unwrap_or_else(|why| vec![Err(self.note(why))]);
            self.all.extend(series.into_iter().map(|series| (probe, series)));
            if done == 0 {
                let most = Nanos(self.plan.budget_seconds.0 / RESERVED_PART);
                let reserve = Nanos(RESERVED_OPENINGS * self.runner.now().0).max(RESERVE).min(most);
                self.until = self.plan.budget_seconds - reserve;
                self.last = self.until + self.plan.budget_seconds;
            }
        }
    }

    /// Shortens the loops if a busy machine leaves too little time for enough repetitions.
    fn shorten(&mut self) {
        let left = self.until - self.runner.now();
        let series = || self.all.iter().flat_map(|(_, series)| series);
        let round: f64 = series().map(|series| series.expected.seconds()).sum();
        let rounds = series().map(|series| series.wanted).max().unwrap_or(0).min(ENOUGH_ROUNDS);
        let part = left.seconds() / (round * f64::from(rounds)).max(f64::MIN_POSITIVE);
        if part < 1.0 && !self.plan.sweep {
            let part = part.max(SHORTEST_PART);
            self.all.iter_mut().flat_map(|(_, series)| series).for_each(|series| series.shorten(part));
        }
    }

    /// Records an error, and returns the reason why the probe is absent.
    fn note(&mut self, why: CostsError) -> Absent {
        let reason = match &why {
            CostsError::Interrupted => "the run was interrupted before it was measured".to_owned(),
            CostsError::OutOfTime => "the budget had no time for it".to_owned(),
            CostsError::Lost { reason, .. } => reason.clone(),
        };
        // An interruption takes precedence over other errors.
        if why == CostsError::Interrupted || (self.stopped.is_none() && why != CostsError::OutOfTime) {
            self.stopped = Some(why);
        }
        Absent(reason)
    }

    /// Prepares one probe. Returns one series, or in a sweep one for each length.
    fn prepare(&mut self, probe: Probe) -> Result<Vec<Reading<Series>>, CostsError> {
        let opened = match self.runner.open(probe, self.last)? {
            Ok(opened) => opened,
            Err(absent) => return Ok(vec![Err(absent)]),
        };
        let calibrated = self.runner.calibrate(probe, self.last)?;
        let calls = self.calls(probe, &opened);
        if !self.plan.sweep {
            let expected = expected(&calibrated, calibrated.loops);
            let wanted = self.plan.repetitions;
            return Ok(vec![Ok(Series::new(probe, opened, calls, calibrated.loops, wanted, expected))]);
        }
        let left = (self.until - self.runner.now()).0 / (self.plan.probes.len() as u64).max(1);
        let lengths = lengths(&calibrated, Nanos(left), self.plan.repetitions);
        let series = lengths.into_iter().map(|length| match length.repetitions {
            0 => Err(Absent::because("loops of this length would exceed the budget")),
            wanted => Ok(Series::new(probe, opened.clone(), calls.clone(), length.loops, wanted, length.expected)),
        });
        Ok(series.collect())
    }

    /// Counts the system calls of a round, if the probe has an expected number and there is time.
    fn calls(&mut self, probe: Probe, opened: &Opened) -> Reading<f64> {
        opened.calls_per_loop.as_ref().map_err(Clone::clone)?;
        let until = Nanos(self.until.0 / CALLS_PART);
        self.runner.count_calls(probe, until.max(self.runner.now()))
    }

    /// Runs rounds until all probes have their repetitions or the time is over.
    fn rounds(&mut self, coins: &mut ChaCha12Rng, events: &mut dyn FnMut(Event)) {
        let of = self.all.iter().flat_map(|(_, series)| series).map(|series| series.wanted).max().unwrap_or(0);
        for round in 0..of {
            let has_part =
                |place: &usize| self.all[*place].1.as_ref().is_ok_and(|series| series.has_part_in(round, of));
            let mut order: Vec<usize> = (0..self.all.len()).filter(has_part).collect();
            order.shuffle(coins);
            for place in order {
                let empty_first = coins.random();
                if self.is_interrupted() || self.runner.now() >= self.until {
                    return;
                }
                self.repeat(place, empty_first);
            }
            events(Event::Round { done: round + 1, of });
        }
    }

    /// Continues, for as long again as the budget, until all probes have enough repetitions for an interval. On a busy machine a
    /// few more seconds make the difference between costs and none.
    fn overtime(&mut self, coins: &mut ChaCha12Rng) {
        for _ in 0..FEWEST {
            let has_too_few = |place: &usize| self.all[*place].1.as_ref().is_ok_and(Series::has_too_few);
            let mut order: Vec<usize> = (0..self.all.len()).filter(has_too_few).collect();
            order.shuffle(coins);
            for place in order {
                let empty_first = coins.random();
                if self.is_interrupted() || self.runner.now() >= self.last {
                    return;
                }
                self.repeat(place, empty_first);
            }
        }
    }

    /// Runs one repetition, if there is time for it.
    fn repeat(&mut self, place: usize, empty_first: bool) {
        let probe = self.all[place].0;
        // A repetition that exceeds its time ends the process, which the other lengths of a sweep need too.
        let is_needed =
            self.all.iter().any(|(of, series)| *of == probe && series.as_ref().is_ok_and(Series::has_too_few));
        let (_, Ok(series)) = &mut self.all[place] else { return };
        let before = self.runner.now();
        let begun_by = if series.has_too_few() { self.last } else { self.until };
        if series.lost.is_some() || before + series.expected > begun_by {
            return;
        }
        let order = Repeat { loops: series.loops, empty_first };
        match self.runner.repeat(probe, order, if is_needed { self.last } else { self.until }) {
            Ok(repeated) => series.add(repeated, self.runner.now() - before),
            // Complete repetitions are kept. The process was killed.
            Err(CostsError::OutOfTime) => {
                let of_it = self.all.iter_mut().filter(|(of, _)| *of == probe);
                of_it.flat_map(|(_, series)| series).for_each(Series::end);
            }
            Err(CostsError::Interrupted) => self.stopped = Some(CostsError::Interrupted),
            Err(lost) => {
                let absent = self.note(lost);
                self.lose(probe, &absent);
            }
        }
    }

    /// Marks all series of a probe whose process was lost as absent.
    fn lose(&mut self, probe: Probe, absent: &Absent) {
        let of_it = self.all.iter_mut().filter(|(other, _)| *other == probe);
        of_it.flat_map(|(_, series)| series).for_each(|series| series.lost = Some(absent.clone()));
    }
}
