//! Chooses what is measured: calibrates the benchmarks, and leaves some out if the budget is too small.

use rand::Rng;
use rand::seq::SliceRandom;
use steady_model::{Nanos, Run};

use super::sharing::{Starts, missing};
use super::{Choices, Event, Measuring, NoRuns, Stop, Stopped};
use crate::adapter::Amount;
use crate::record::Side;

/// The share of the budget that the calibration may use.
pub(super) const CALIBRATION_SHARE: f64 = 0.25;
/// The largest factor between the numbers of iterations of successive calibration runs, as in Go's package testing.
const GROWTH: f64 = 100.0;
/// The most calibration runs of a benchmark. With the largest factor, five of them reach 30 ms from one of 1 ns.
const ROUNDS: usize = 12;
/// The longest time that a run may take to measure for the time of the adapter, as a multiple of that time.
const LONGEST_FACTOR: f64 = 30.0;
/// The longest time of a calibration run, as a multiple of that longest time: all of the time of the one before may be
/// work for each iteration that the harness does not measure.
const LONGEST_CALIBRATION: f64 = 10.0;

impl Measuring<'_> {
    /// Finds the amount of work for each of these benchmarks, so that a process measures for the time of the adapter.
    /// Each run is of a random build. There is no time for those that are not calibrated at the time `until`.
    pub(super) fn calibrate(&mut self, benchmarks: &[usize], until: Nanos) -> Result<(), Stop> {
        let mut open = benchmarks.to_vec();
        for round in 0..ROUNDS {
            if open.is_empty() {
                break;
            }
            self.machine.prepare(&self.amounts()).map_err(Stop::Lost)?;
            open.shuffle(&mut self.generator);
            let mut next = Vec::new();
            while !open.is_empty() {
                let group = self.group(&open, self.choices.budget);
                open.retain(|one| !group.contains(one));
                if self.machine.now() > until {
                    group.iter().for_each(|&one| self.courses[one].stopped = Some(Stopped::NoTime));
                    continue;
                }
                (self.events)(Event::Calibrating(group.clone()));
                let side = if self.generator.random() { Side::New } else { Side::Old };
                let padding = self.padding();
                let began = self.machine.now();
                let results = self.machine.run(&group, &[(side, padding)])?;
                let took = (self.machine.now() - began).seconds();
                let measured: f64 = results.iter().flatten().flatten().map(|run| run.wall.seconds()).sum();
                if results.iter().all(Result::is_ok) {
                    self.starts.add(1, took, measured);
                }
                let (together, missing) = (group.len(), missing(&results));
                for (benchmark, result) in group.into_iter().zip(results) {
                    match result {
                        Ok(runs) => {
                            if missing == 0 {
                                self.courses[benchmark].sharing.succeed(together);
                            }
                            let is_last = round + 1 == ROUNDS;
                            if runs.first().is_some_and(|run| !self.add_calibration(benchmark, run, is_last)) {
                                next.push(benchmark);
                            }
                        }
                        Err(NoRuns::Failed(failed)) => self.fail(benchmark, failed)?,
                        Err(NoRuns::Unknown) => {
                            self.courses[benchmark].sharing.miss(together, missing);
                            next.push(benchmark);
                        }
                    }
                }
            }
            open = next;
        }
        Ok(())
    }

    /// Adds a calibration run of a benchmark. Returns whether no further one is needed.
    fn add_calibration(&mut self, benchmark: usize, run: &Run, is_last: bool) -> bool {
        let found = self.calibrated(self.courses[benchmark].calibrating, run);
        let course = &mut self.courses[benchmark];
        course.calibrating = found.amount;
        course.per_pair = Nanos::from_seconds(2.0 * found.takes.seconds());
        let is_final = found.is_final || is_last;
        if is_final {
            course.amount = Some(found.amount);
        }
        is_final
    }

    /// The amount of work that follows from a run.
    fn calibrated(&self, amount: Amount, run: &Run) -> Calibrated {
        let Choices { sampling, counts_iterations, time_metric, .. } = self.choices;
        let (wall, wanted) = (run.wall.seconds(), sampling.time.seconds());
        let count = (amount.samples * amount.iterations) as f64;
        // Without a time of an iteration, all of the wall time is that of the iterations.
        let value = time_metric.and_then(|metric| run.values.get(metric).copied());
        let each = value.unwrap_or(wall / count).max(1e-12);
        if !counts_iterations {
            // The next runs get the same time, or decide themselves how long they take: a time of the adapter that they
            // do not use is not theirs.
            return Calibrated { amount: sampling.amount(wanted, each), is_final: true, takes: run.wall };
        }
        let measured = (each * count).min(wall);
        let rest = wall - measured;
        // Setting up each iteration may take longer than the part that the harness measures.
        let longest = LONGEST_FACTOR * wanted;
        if 2.0 * measured < wanted && wall > longest {
            let amount = sampling.amount(measured * longest / wall, each);
            return Calibrated { amount, is_final: true, takes: Nanos::from_seconds(longest) };
        }
        let is_final = 2.0 * measured >= wanted;
        let growth = GROWTH.min(LONGEST_CALIBRATION * longest / wall);
        let most = if is_final { f64::INFINITY } else { growth * measured.max(each * count) };
        let amount = sampling.amount(wanted.min(most), each);
        let longest = wanted.max(each * amount.samples as f64);
        Calibrated { amount, is_final, takes: Nanos::from_seconds(rest + longest) }
    }

    /// Leaves out some of these benchmarks if the rest of the budget does not suffice for [`Measuring::least`] pairs of
    /// all of them. The others are a random choice, because any other would always leave out the same ones. If it does
    /// not even suffice for one of them, the cheapest is measured, with the pairs that there is time for, and others
    /// that hardly cost more in the same processes.
    pub(super) fn choose(&mut self, benchmarks: &[usize]) {
        /// What others may cost in relation to the cheapest, if even that has too few pairs.
        const HARDLY_MORE: f64 = 1.1;
        let mut order = benchmarks.to_vec();
        order.retain(|&one| self.courses[one].amount.is_some());
        order.retain(|&one| matches!(self.courses[one].stopped, None | Some(Stopped::NoTime)));
        order.iter().for_each(|&one| self.courses[one].stopped = Some(Stopped::NoTime));
        order.shuffle(&mut self.generator);
        let (mut left, mut needs) = (self.left(), self.needs());
        if self.courses.iter().all(|course| course.stopped.is_some() && course.samples.len() == 0) {
            let start = self.starts.of_pair();
            let cheapest = order.iter().copied().min_by_key(|&one| self.courses[one].per_pair);
            let fits = |one: &usize| 2.0 * (self.courses[*one].per_pair.seconds() + start) <= left;
            let least = cheapest.filter(fits).map_or(0.0, |one| self.and(needs, one).seconds(self.starts));
            if least > left {
                left = HARDLY_MORE * least;
            }
        }
        for benchmark in order {
            let with = self.and(needs, benchmark);
            if with.seconds(self.starts) <= left {
                self.courses[benchmark].stopped = None;
                needs = with;
            }
        }
    }

    /// The rest of the budget, without the time to link the builds, in seconds.
    fn left(&self) -> f64 {
        (self.choices.budget - self.machine.now()).seconds() - self.draws_seconds()
    }

    /// What [`Measuring::least`] pairs of all benchmarks that are measured still need.
    fn needs(&self) -> Needs {
        let measured = (0..self.courses.len()).filter(|&one| self.courses[one].stopped.is_none());
        measured.fold(Needs::default(), |needs, one| self.and(needs, one))
    }

    /// What the least number of pairs of another benchmark needs in addition.
    fn and(&self, needs: Needs, one: usize) -> Needs {
        let course = &self.courses[one];
        let pairs = self.least.saturating_sub(course.samples.len());
        needs.and(course.per_pair.seconds(), pairs, self.runs_alone(one))
    }

    /// Whether a benchmark has processes of its own.
    fn runs_alone(&self, one: usize) -> bool {
        self.courses[one].sharing.is_alone() || !self.machine.share_a_process(one, one)
    }

    /// The time to link both builds again for [`Measuring::least`] pairs, in seconds.
    fn draws_seconds(&self) -> f64 {
        self.drawing.seconds() * self.least as f64
    }

    /// The budget that would suffice for all benchmarks after the calibration, if this one does not.
    pub(super) fn needed(&self) -> Option<Nanos> {
        let known = self.courses.iter().filter(|one| one.amount.is_some()).count();
        let is_left_out = |one: &usize| self.courses[*one].stopped == Some(Stopped::NoTime);
        let left_out = (0..self.courses.len()).filter(is_left_out).count();
        let mean = self.mean_pair().filter(|_| left_out > 0 && known > 0)?;
        let is_open = |one: &usize| is_left_out(one) || self.courses[*one].stopped.is_none();
        let open: Vec<usize> = (0..self.courses.len()).filter(is_open).collect();
        // Benchmarks that were not calibrated are as expensive as the others.
        let and = |needs: Needs, &one: &usize| needs.and(mean, self.least, self.runs_alone(one));
        let needs = open.iter().fold(Needs::default(), and);
        let calibrated = self.machine.now().seconds() * open.len() as f64 / known as f64;
        Some(Nanos::from_seconds(calibrated + needs.seconds(self.starts) + self.draws_seconds()))
    }

    /// Adds benchmarks that were left out, if the others leave enough time. Returns whether there are any.
    pub(super) fn add_left_out(&mut self) -> Result<bool, Stop> {
        let is_left_out = |&at: &usize| self.courses[at].stopped == Some(Stopped::NoTime);
        let left_out: Vec<usize> = (0..self.courses.len()).filter(is_left_out).collect();
        // Benchmarks that were not calibrated are about as expensive as the others.
        let cheapest = (0..self.courses.len()).filter(|&at| self.courses[at].amount.is_some());
        let cheapest = cheapest.min_by_key(|&at| self.courses[at].per_pair);
        let needs = self.needs();
        let and = |at: usize| needs.and(self.courses[at].per_pair.seconds(), self.least, self.runs_alone(at));
        let left = self.left();
        if left_out.is_empty() || cheapest.map_or(needs, and).seconds(self.starts) > left {
            return Ok(false);
        }
        let unknown: Vec<usize> = left_out.iter().copied().filter(|&at| self.courses[at].amount.is_none()).collect();
        let time = Nanos::from_seconds((left - needs.seconds(self.starts)).max(0.0) * CALIBRATION_SHARE);
        self.calibrate(&unknown, self.machine.now() + time)?;
        self.choose(&left_out);
        let added = self.measured(&left_out);
        let is_any = added.iter().any(Option::is_some);
        if is_any {
            self.machine.prepare(&self.amounts()).map_err(Stop::Lost)?;
            (self.events)(Event::Added(added));
        }
        Ok(is_any)
    }
}

/// The time that pairs of several benchmarks need.
#[derive(Clone, Copy, Debug, Default)]
struct Needs {
    /// The time of runs that can share processes, in seconds.
    sharing: f64,
    /// The most pairs of one of their benchmarks.
    most_pairs: usize,
    /// The time of runs in processes of their own, in seconds.
    alone: f64,
    /// The pairs of these.
    pairs_alone: usize,
}

impl Needs {
    /// Adds a number of pairs of a benchmark whose runs take so many seconds in each.
    fn and(self, per_pair: f64, pairs: usize, is_alone: bool) -> Self {
        let seconds = per_pair * pairs as f64;
        if is_alone {
            return Needs { alone: self.alone + seconds, pairs_alone: self.pairs_alone + pairs, ..self };
        }
        Needs { sharing: self.sharing + seconds, most_pairs: self.most_pairs.max(pairs), ..self }
    }

    /// All of the time in seconds, with the starts of the processes.
    fn seconds(&self, starts: Starts) -> f64 {
        let shared = (self.sharing / starts.most_runs()).max(self.most_pairs as f64);
        self.sharing + self.alone + starts.of_pair() * (shared + self.pairs_alone as f64)
    }
}

struct Calibrated {
    amount: Amount,
    /// Whether no further calibration run is needed.
    is_final: bool,
    /// The time that a run with this amount takes.
    takes: Nanos,
}
