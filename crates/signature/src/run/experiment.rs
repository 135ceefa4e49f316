//! The experiment of a bench: every condition tried once on little, then rounds in random order until the budget is spent.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;
use steady_model::Nanos;
use steady_stats::MIN_PAIRS;

use super::runner::{BenchError, SignatureRunner};
use crate::plan::{BenchPlan, asked_of, headline};
use crate::record::BenchRun;

/// What is shorter is repeated within a run, so that it is long for clocks and ticks.
const LEAST: Nanos = Nanos(3_000_000);
/// What is larger is not tried first: its cost follows from less.
const TRIED: u64 = 64 << 10;
/// So many rounds are aimed at.
const ROUNDS: u64 = 16;
/// At the most every so many rounds has what takes long its turn.
const SELDOM: u64 = 16;
/// How many times as long as another it may take before it has its turn seldom.
const PRECEDENCE: f64 = 32.0;

/// What happens while an experiment runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Event {
    /// How much of the budget is spent, from 0 to 1.
    pub(crate) spent: f64,
    /// How many rounds are over.
    pub(crate) rounds: usize,
}

/// What came of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Done {
    /// The rounds.
    pub(crate) rounds: Vec<Vec<BenchRun>>,
    /// How long it took.
    pub(crate) elapsed: Nanos,
    /// What ended it early.
    pub(crate) stopped: Option<BenchError>,
}

/// Runs the experiment that `plan` describes. Whatever ends it, what was measured is in the result.
pub(crate) fn measure<R: SignatureRunner>(plan: &BenchPlan, runner: &mut R, events: &mut dyn FnMut(Event)) -> Done {
    let mut rounds = Vec::new();
    let stopped = all(plan, runner, &mut rounds, events).err();
    Done { rounds, elapsed: runner.now(), stopped }
}

/// How a condition is run: so many signatures in a row, in every so many rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    times: u32,
    every: u64,
}

fn all<R: SignatureRunner>(
    plan: &BenchPlan,
    runner: &mut R,
    rounds: &mut Vec<Vec<BenchRun>>,
    events: &mut dyn FnMut(Event),
) -> Result<(), BenchError> {
    let mut coins = ChaCha12Rng::seed_from_u64(plan.seed.0);
    let costs = costs(plan, runner)?;
    let spent = |now: Nanos| (now.seconds() / plan.budget.seconds()).min(1.0);
    // On a busy machine one round of all conditions may take the whole budget.
    let mut compared = headline(&plan.conditions);
    while rounds.len() < MIN_PAIRS && runner.now() < plan.budget {
        compared.shuffle(&mut coins);
        rounds.push(Vec::with_capacity(compared.len()));
        for &at in &compared {
            let run = runner.run(at, &plan.conditions[at], times(costs[at]))?;
            if let Some(round) = rounds.last_mut() {
                round.push(run);
            }
            events(Event { spent: spent(runner.now()), rounds: rounds.len() - 1 });
        }
    }
    let turns = turns(&costs, &asked_of(&plan.conditions), plan.budget - runner.now());
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
            // The first is finished, so that nothing is missing altogether.
            if number > 0 && runner.now() >= plan.budget {
                return Ok(());
            }
        }
        if runner.now() >= plan.budget {
            return Ok(());
        }
    }
    Ok(())
}

/// How many signatures in a row make a run long enough for the clock.
fn times(cost: Nanos) -> u32 {
    (LEAST.0 / cost.0.max(1)).clamp(0, 1_000) as u32 + 1
}

/// What a signature costs under each condition, nearly: measured on little, and in proportion to the size where there is more.
fn costs<R: SignatureRunner>(plan: &BenchPlan, runner: &mut R) -> Result<Vec<Nanos>, BenchError> {
    let mut costs: Vec<Nanos> = Vec::with_capacity(plan.conditions.len());
    for (at, condition) in plan.conditions.iter().enumerate() {
        let smaller = plan.conditions[..at].iter().zip(&costs).filter(|(other, _)| {
            other.allocator == condition.allocator && other.workers == condition.workers && other.kept == condition.kept
        });
        let cost = match smaller.max_by_key(|(other, _)| other.bytes) {
            Some((other, cost)) if condition.bytes > TRIED && other.bytes > 0 && !condition.kept => {
                Nanos::from_seconds(cost.seconds() * condition.bytes as f64 / other.bytes as f64)
            }
            _ => runner.run(at, condition, 1)?.wall_seconds,
        };
        costs.push(cost);
    }
    Ok(costs)
}

/// What a condition takes when it has its turn.
struct Cost {
    times: u32,
    seconds: f64,
    /// How many shares of a round it may take before it has its turn seldom.
    shares: f64,
}

impl Cost {
    fn of(cost: Nanos, is_asked: bool) -> Self {
        let times = times(cost);
        let shares = if is_asked { PRECEDENCE } else { 1.0 };
        Cost { times, seconds: cost.seconds() * f64::from(times), shares }
    }

    /// In every so many rounds it has its turn, if each share is so many seconds.
    fn every(&self, share: f64) -> u64 {
        ((self.seconds / share / self.shares).ceil().max(1.0) as u64).next_power_of_two().min(SELDOM)
    }
}

/// How often each has its turn, so that some [`ROUNDS`] rounds fit into what is left of the budget: what takes more than a
/// share has it seldom, but what questions are about has [`PRECEDENCE`] shares. All are in rounds that are numbered by multiples
/// of a power of two, so that those which are seldom meet.
fn turns(costs: &[Nanos], asked: &[bool], left: Nanos) -> Vec<Turn> {
    let costs: Vec<Cost> = costs.iter().zip(asked).map(|(cost, is_asked)| Cost::of(*cost, *is_asked)).collect();
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
    fn what_takes_long_has_its_turn_seldom() {
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
        let asked = self::turns(&alike, &[false, false, false, true], Nanos(6_000_000_000));
        assert!(asked[3].every < asked[0].every, "{asked:?}");
    }
}
