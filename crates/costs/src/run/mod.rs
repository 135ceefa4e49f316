//! What primitives of this machine and its kernel cost: each timed in a loop, less the same loop without it.
//!
//! A **prober** (this same program, called with [`PROBER`]) measures one of them, kept to one CPU. Repetitions go round all
//! probes in random order, so that drift falls upon all alike, and each has its probe and its empty loop in an order drawn by
//! coin.
//!
//! The experiment: every probe made ready, then rounds in which each has a repetition, in random order, until there are
//! enough of them or the time is over.

mod machine;
mod runner;
mod series;
mod serve;
mod simulated;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use steady_model::{Absent, Ending, Host, Machine, Nanos, Probe, Reading, Seed, Timestamp};

use crate::record::{Affinity, ClockFacts, CostsPlan, CostsRecord, ProbeCost};

pub(crate) use machine::ProberRunner;
pub use runner::{Calibrated, CostsError, CostsRunner, Opened, Repeat, Repeated};
use series::{Series, expected, lengths};
pub(crate) use serve::{rounds, serve};
pub use simulated::SimulatedProbes;

/// The first argument that makes `steady` a prober.
pub(crate) const PROBER: &str = "__prober";

/// The first argument that makes `steady` go round a probe's loop and end, so that a tracer can count its system calls.
pub(crate) const ROUNDS: &str = "__rounds";

/// The part of the budget that is reserved for the end (ending processes, the report). It is longer on a crowded machine, where
/// making a probe ready takes long, but never more than a tenth of the budget.
const RESERVE: Nanos = Nanos(500_000_000);
const RESERVED_OPENINGS: u64 = 10;
const RESERVED_PART: u64 = 10;
/// The part of the time that may go to counting system calls.
const CALLS_PART: u64 = 8;
/// Where there is no time for so many rounds, loops are made shorter, but not by more than this factor.
const ENOUGH_ROUNDS: u32 = 30;
const SHORTEST_PART: f64 = 0.1;

/// What a record says of the machine and of this run.
#[derive(Clone, Debug)]
pub struct Circumstances {
    /// The machine.
    pub host: Host,
    /// Its CPUs.
    pub machine: Machine,
    /// The time of day.
    pub started: Timestamp,
    /// The git revision of the directory that it is started in.
    pub revision: Reading<String>,
    /// Its clocks.
    pub clocks: Vec<ClockFacts>,
    /// The CPUs that are measured on.
    pub affinity: Affinity,
    /// The seed of the order.
    pub seed: Seed,
}

/// What happens while an experiment runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A probe is being made ready.
    Opening {
        /// Which.
        probe: Probe,
        /// How many were before it.
        done: usize,
        /// How many there are.
        of: usize,
    },
    /// A round is over.
    Round {
        /// How many are.
        done: u32,
        /// How many there are to be.
        of: u32,
    },
}

/// What came of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// What was measured.
    pub record: CostsRecord,
    /// What ended it, or a part of it, early; that the time was over is no such thing.
    pub stopped: Option<CostsError>,
    /// What the arithmetic beside each repetition took, in seconds and in their order, by probe.
    pub beside: Vec<(Probe, Vec<f64>)>,
}

/// Runs the experiment that `plan` describes. Whatever ends it, what was measured is in the record.
pub fn measure<R: CostsRunner>(
    plan: &CostsPlan,
    circumstances: Circumstances,
    runner: &mut R,
    events: &mut dyn FnMut(Event),
) -> Done {
    let until = plan.budget_seconds - RESERVE.min(Nanos(plan.budget_seconds.0 / RESERVED_PART));
    let mut experiment = Experiment { plan, runner, until, seed: circumstances.seed, all: vec![], stopped: None };
    experiment.open(events);
    experiment.shorten();
    experiment.rounds(events);
    let elapsed = experiment.runner.now();
    let Experiment { all, stopped, .. } = experiment;
    let beside = all.iter().filter_map(|(probe, series)| Some((*probe, series.as_ref().ok()?.alu.clone()))).collect();
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
    Done { record, stopped, beside }
}

/// What was measured of a probe; a probe without it if nothing was.
fn probe_cost(found: (Probe, Reading<Series>)) -> ProbeCost {
    found.1.and_then(Series::measured).unwrap_or_else(|absent| ProbeCost::absent(found.0, &absent))
}

struct Experiment<'a, R> {
    plan: &'a CostsPlan,
    runner: &'a mut R,
    /// When the last repetition must have ended, on the experiment's clock.
    until: Nanos,
    seed: Seed,
    all: Vec<(Probe, Reading<Series>)>,
    stopped: Option<CostsError>,
}

impl<R: CostsRunner> Experiment<'_, R> {
    fn is_interrupted(&self) -> bool {
        self.stopped == Some(CostsError::Interrupted)
    }

    /// Makes the probes ready, one after the other.
    fn open(&mut self, events: &mut dyn FnMut(Event)) {
        let of = self.plan.probes.len();
        self.runner.announce(&self.plan.probes);
        for (done, probe) in self.plan.probes.iter().copied().enumerate() {
            events(Event::Opening { probe, done, of });
            let opened = if self.is_interrupted() { Err(CostsError::Interrupted) } else { self.make_ready(probe) };
            let series = opened.unwrap_or_else(|why| vec![Err(self.note(why))]);
            self.all.extend(series.into_iter().map(|series| (probe, series)));
            if done == 0 {
                let most = Nanos(self.plan.budget_seconds.0 / RESERVED_PART);
                let reserve = Nanos(RESERVED_OPENINGS * self.runner.now().0).max(RESERVE).min(most);
                self.until = self.plan.budget_seconds - reserve;
            }
        }
    }

    /// Has loops go round less often where a crowded machine leaves too little time: a cost takes repetitions.
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

    /// Notes what went wrong; what a probe is absent for then.
    fn note(&mut self, why: CostsError) -> Absent {
        let reason = match &why {
            CostsError::Interrupted => "it was interrupted before it was measured".to_owned(),
            CostsError::OutOfTime => "there was no time for it within the budget".to_owned(),
            CostsError::Lost { reason, .. } => reason.clone(),
        };
        // An interruption is reported rather than any other reason.
        if why == CostsError::Interrupted || (self.stopped.is_none() && why != CostsError::OutOfTime) {
            self.stopped = Some(why);
        }
        Absent(reason)
    }

    /// One probe: a series, or in a sweep one for each length.
    fn make_ready(&mut self, probe: Probe) -> Result<Vec<Reading<Series>>, CostsError> {
        let opened = match self.runner.open(probe, self.until)? {
            Ok(opened) => opened,
            Err(absent) => return Ok(vec![Err(absent)]),
        };
        let calibrated = self.runner.calibrate(probe, self.until)?;
        let calls = self.calls(probe, &opened);
        if !self.plan.sweep {
            let expected = expected(&calibrated, calibrated.loops);
            let wanted = self.plan.repetitions;
            return Ok(vec![Ok(Series::new(probe, opened, calls, calibrated.loops, wanted, expected))]);
        }
        let left = (self.until - self.runner.now()).0 / (self.plan.probes.len() as u64).max(1);
        let lengths = lengths(&calibrated, Nanos(left), self.plan.repetitions);
        let series = lengths.into_iter().map(|length| match length.repetitions {
            0 => Err(Absent::because("loops of this length would take longer than the budget has room for")),
            wanted => Ok(Series::new(probe, opened.clone(), calls.clone(), length.loops, wanted, length.expected)),
        });
        Ok(series.collect())
    }

    /// How many system calls a round makes, where the probe says how many it should make, and there is time to count them.
    fn calls(&mut self, probe: Probe, opened: &Opened) -> Reading<f64> {
        opened.calls_per_loop.as_ref().map_err(Clone::clone)?;
        let until = Nanos(self.until.0 / CALLS_PART);
        self.runner.count_calls(probe, until.max(self.runner.now()))
    }

    /// Rounds, until all have their repetitions or the time is over.
    fn rounds(&mut self, events: &mut dyn FnMut(Event)) {
        let mut coins = ChaCha12Rng::seed_from_u64(self.seed.0);
        let of = self.all.iter().flat_map(|(_, series)| series).map(|series| series.wanted).max().unwrap_or(0);
        for round in 0..of {
            let has_part =
                |place: &usize| self.all[*place].1.as_ref().is_ok_and(|series| series.has_part_in(round, of));
            let mut order: Vec<usize> = (0..self.all.len()).filter(has_part).collect();
            order.shuffle(&mut coins);
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

    /// One repetition, if there is time for it.
    fn repeat(&mut self, place: usize, empty_first: bool) {
        let (probe, Ok(series)) = &mut self.all[place] else { return };
        let before = self.runner.now();
        if series.lost.is_some() || before + series.expected > self.until {
            return;
        }
        let order = Repeat { loops: series.loops, empty_first };
        match self.runner.repeat(*probe, order, self.until) {
            Ok(repeated) => series.take(repeated, self.runner.now() - before),
            // What is whole is kept: the process that was cut short is gone, and so is the time.
            Err(CostsError::OutOfTime) => {}
            Err(CostsError::Interrupted) => self.stopped = Some(CostsError::Interrupted),
            Err(lost) => {
                let probe = *probe;
                let absent = self.note(lost);
                self.lose(probe, &absent);
            }
        }
    }

    /// Nothing is made of a probe whose process was lost.
    fn lose(&mut self, probe: Probe, absent: &Absent) {
        let of_it = self.all.iter_mut().filter(|(other, _)| *other == probe);
        of_it.flat_map(|(_, series)| series).for_each(|series| series.lost = Some(absent.clone()));
    }
}
