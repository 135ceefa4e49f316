//! The experiment of a bench: measures the conditions of the first sentence, runs each other condition once to estimate
//! its cost, then rounds in random order until the budget is spent.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;
use steady_model::Nanos;
use steady_stats::MIN_PAIRS;

use super::runner::{BenchError, SignatureRunner};
use crate::plan::{BenchPlan, have_priority, headline};
use crate::record::BenchRun;

/// Shortest run. Faster signatures are repeated within a run, because of the resolution of clocks and ticks.
const LEAST: Nanos = Nanos(3_000_000);
/// Largest size in bytes that is run to estimate costs. The cost of larger sizes is extrapolated.
const TRIED: u64 = 64 << 10;
/// Intended number of rounds.
const ROUNDS: u64 = 16;
/// Longest interval between the runs of a slow condition, in rounds.
const SELDOM: u64 = 16;
/// Conditions of questions run in every round until they take this many times the share of others.
const PRECEDENCE: f64 = 32.0;

/// Progress of an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Event {
    /// Share of the budget that is spent, from 0 to 1.
    pub(crate) spent: f64,
    /// Number of finished rounds.
    pub(crate) rounds: usize,
}

/// Result of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Done {
    /// Rounds in the order of time. The last may be incomplete.
    pub(crate) rounds: Vec<Vec<BenchRun>>,
    /// Duration of the experiment.
    pub(crate) elapsed: Nanos,
    /// Error that ended the experiment early, if any.
    pub(crate) stopped: Option<BenchError>,
}

/// Runs the experiment that `plan` describes. The result contains all measurements, also after an error.
pub(crate) fn measure<R: SignatureRunner>(plan: &BenchPlan, runner: &mut R, events: &mut dyn FnMut(Event)) -> Done {
    let mut rounds = Vec::new();
    let stopped = all(plan, runner, &mut rounds, events).err();
    Done { rounds, elapsed: runner.now(), stopped }
}

/// How often a condition runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    /// Number of signatures per run.
    times: u32,
    /// Number of rounds from one run to the next.
    every: u64,
}

fn all<R: SignatureRunner>(
    plan: &BenchPlan,
    runner: &mut R,
    rounds: &mut Vec<Vec<BenchRun>>,
    events: &mut dyn FnMut(Event),
) -> Result<(), BenchError> {
    let mut coins = ChaCha12Rng::seed_from_u64(plan.seed.0);
    let spent = |now: Nanos| (now.seconds() / plan.budget.seconds()).min(1.0);
    // The conditions of the first sentence run first, because one round of all conditions may take the whole budget on
    // a busy machine.
    let compared = headline(&plan.conditions);
    let mut tried = Vec::with_capacity(compared.len());
    for &at in &compared {
        tried.push((at, times(runner.run(at, &plan.conditions[at], 1)?.wall_seconds)));
    }
    let longest = plan.budget + plan.budget;
    while rounds.len() < MIN_PAIRS && runner.now() < longest {
        tried.shuffle(&mut coins);
        rounds.push(Vec::with_capacity(tried.len()));
        for &(at, times) in &tried {
            let run = runner.run(at, &plan.conditions[at], times)?;
            if let Some(round) = rounds.last_mut() {
                round.push(run);
            }
            events(Event { spent: spent(runner.now()), rounds: rounds.len() - 1 });
        }
    }
    let Some(costs) = costs(plan, longest, runner)? else { return Ok(()) };
    let turns = turns(&costs, &have_priority(&plan.conditions), plan.budget - runner.now());
    for number in 0u64.. {
        let mut order: Vec<usize> = (0..turns.len()).filter(|at| number.is_multiple_of(turns[*at].every)).collect();
        order.shuffle(&mut coins);
        rounds.push(Vec::with_capacity(order.len()));
        for at in order {
            let run = runner.run(at, &plan.conditions[at], turns[at].times)?;
            if let Some(round) = rounds.last_mut() {
                round.push(run);
            }
            events(Event { spent: spent(runner.now()), rounds: rounds.len() - 1 });
            // On a busy machine, the first round may take longer, so that each condition has a measurement.
            if runner.now() >= if number == 0 { longest } else { plan.budget } {
                return Ok(());
            }
        }
        if runner.now() >= plan.budget {
            return Ok(());
        }
    }
    Ok(())
}

/// Returns how many signatures a run needs to be long enough for the clock.
fn times(cost: Nanos) -> u32 {
    (LEAST.0 / cost.0.max(1)).clamp(0, 1_000) as u32 + 1
}

/// Estimates the time of a signature under each condition. Large sizes are extrapolated in proportion to the size.
/// Returns nothing if there was not enough time until `longest`.
fn costs<R: SignatureRunner>(
    plan: &BenchPlan,
    longest: Nanos,
    runner: &mut R,
) -> Result<Option<Vec<Nanos>>, BenchError> {
    let mut costs: Vec<Nanos> = Vec::with_capacity(plan.conditions.len());
    for (at, condition) in plan.conditions.iter().enumerate() {
        let smaller = plan.conditions[..at].iter().zip(&costs).filter(|(other, _)| {
            other.allocator == condition.allocator && other.workers == condition.workers && other.kept == condition.kept
        });
        let cost = match smaller.max_by_key(|(other, _)| other.bytes) {
            Some((other, cost)) if condition.bytes > TRIED && other.bytes > 0 && !condition.kept => {
                Nanos::from_seconds(cost.seconds() * condition.bytes as f64 / other.bytes as f64)
            }
            _ if runner.now() >= longest => return Ok(None),
            _ => runner.run(at, condition, 1)?.wall_seconds,
        };
        costs.push(cost);
    }
    Ok(Some(costs))
}

/// Cost of a run of a condition.
struct Cost {
    /// Number of signatures per run.
    times: u32,
    seconds: f64,
    /// Shares of a round that a run may take before it runs in fewer rounds.
    shares: f64,
}

impl Cost {
    fn of(cost: Nanos, has_priority: bool) -> Self {
        let times = times(cost);
        let shares = if has_priority { PRECEDENCE } else { 1.0 };
        Cost { times, seconds: cost.seconds() * f64::from(times), shares }
    }

    /// Returns the number of rounds from one run to the next if a share is `share` seconds long.
    fn every(&self, share: f64) -> u64 {
        ((self.seconds / share / self.shares).ceil().max(1.0) as u64).next_power_of_two().min(SELDOM)
    }
}

/// Decides how often each condition runs, so that about [`ROUNDS`] rounds fit into the rest of the budget.
///
/// Conditions that take more than their share of a round run in fewer rounds; conditions of questions have
/// [`PRECEDENCE`] shares. The intervals are powers of two, so that slow conditions run in the same rounds and form
/// pairs.
fn turns(costs: &[Nanos], priorities: &[bool], left: Nanos) -> Vec<Turn> {
    let costs: Vec<Cost> =
        costs.iter().zip(priorities).map(|(cost, has_priority)| Cost::of(*cost, *has_priority)).collect();
    let takes =
        |share: f64| -> f64 { costs.iter().map(|cost| cost.seconds * ROUNDS.div_ceil(cost.every(share)) as f64).sum() };
    let mut share = left.seconds().max(1e-3);
    while takes(share) > left.seconds() && share > LEAST.seconds() {
        share *= 0.8;
    }
    costs.iter().map(|cost| Turn { times: cost.times, every: cost.every(share) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_conditions_run_in_fewer_rounds() {
        let costs = [Nanos(10_000), Nanos(2_000_000), Nanos(20_000_000), Nanos(800_000_000)];
        let none = [false; 4];
        let turns = turns(&costs, &none, Nanos(4_000_000_000));
        assert_eq!((turns[0].times, turns[0].every), (301, 1));
        assert_eq!((turns[1].times, turns[1].every), (2, 1));
        assert_eq!((turns[2].times, turns[2].every), (1, 1));
        assert!(turns[3].times == 1 && turns[3].every > 2, "{turns:?}");
        let plenty = self::turns(&costs, &none, Nanos(400_000_000_000));
        assert!(plenty.iter().all(|turn| turn.every == 1), "{plenty:?}");
        let alike = [Nanos(200_000_000); 4];
        let mixed = self::turns(&alike, &[false, false, false, true], Nanos(6_000_000_000));
        assert!(mixed[3].every < mixed[0].every, "{mixed:?}");
    }
}
