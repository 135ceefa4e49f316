//! The warm-up. It fills caches, and chooses the metric and the layouts by properties of the commands. No choice
//! depends on which command costs more.

use std::mem;

use steady_model::{Block, Effort, Layout, LeftOut, Metric, MetricInput, Nanos, Outcome, Output, Plan, Reading, Run};
use steady_stats::allocate::EXPLORATION_PAIRS;

use super::{CompareError, Event};
use crate::coins::Coins;
use crate::judge::{least_pairs, least_runs};
use steady_process::runner::{RunnableTime, Runner, Start, Traits};

/// The minimum number of warm-up blocks of each layout, if the commands are short enough.
const BLOCKS: u32 = 3;
/// The minimum time of the warm-up of a layout. Whether a command of 2 ms uses several CPUs shows only in many runs.
const SHORTEST: Nanos = Nanos(50_000_000);
/// The share of the budget after which the warm-up ends.
const BUDGET_SHARE: f64 = 0.1;
/// With fewer pairs than this, only turns are used, because they measure all metrics. About a third of the pairs of two
/// layouts are turns, and each layout needs [`EXPLORATION_PAIRS`].
const PAIRS_OF_BOTH: u64 = 4 * EXPLORATION_PAIRS as u64;
/// CPU time over wall time above this ratio means that several CPUs were in use.
const ONE_CPU: f64 = 1.05;
/// A command mostly waits if its CPU time is below this share of the time in which it could have run.
const MOSTLY_WAITS: f64 = 0.5;
/// The factor on a budget that is suggested to the user, so that it also suffices under more load.
const BUDGET_MARGIN: f64 = 1.2;

/// If the runs' time without waiting for a CPU is above this share of their wall time, other processes hardly delayed
/// them.
const MOSTLY_OWN: f64 = 0.8;
/// The cost of the commands is known after this number of pairs, if their mean exceeds that of the cheapest runs by
/// less than the share [`VARIES`].
const ALIKE: usize = 4;
const VARIES: f64 = 0.1;

/// The results of the warm-up.
pub(super) struct WarmUp {
    /// The metric that carries the verdict.
    pub(super) primary: Metric,
    /// The layouts to use, at least one, each with the duration of one round.
    pub(super) layouts: Vec<(Layout, Nanos)>,
    /// The layouts that are not used, each with the reason.
    pub(super) left_out: Vec<LeftOut>,
    /// How the runs of measured pairs start.
    pub(super) start: Start,
    /// The time to draw snapshots or memory layouts, if there are draws.
    pub(super) drawing: Option<Nanos>,
}

impl WarmUp {
    /// The results if no run ended within the budget.
    pub(super) fn of_nothing(plan: &Plan) -> Self {
        let primary = plan.metric.unwrap_or(Metric::Cpu);
        WarmUp { primary, layouts: vec![], left_out: vec![], start: Start::Usual, drawing: None }
    }
}

/// The last warm-up block of a layout with the properties of its runs.
struct WarmUpBlocks {
    block: Block,
    /// The blocks before the last.
    before: Vec<Block>,
    traits: Vec<Traits>,
    /// Of each command, in all blocks.
    runnable: Vec<RunnableTime>,
    took: Nanos,
}

pub(super) fn warm_up<R: Runner>(
    plan: &Plan,
    start: Start,
    duets: &Reading<()>,
    runner: &mut R,
    coins: &mut Coins,
    events: &mut dyn FnMut(Event),
) -> Result<WarmUp, CompareError> {
    let has_draws = start == Start::Snapshot || !plan.relink.is_empty();
    let drawing = if has_draws { Some(runner.draw()?) } else { None };
    let mut layout = |layout, runner: &mut R| warm_layout(layout, start, plan, runner, coins, events);
    let turns = layout(Layout::Turns, runner)?;
    let queued = runner.activity().pressure.unwrap_or(0.0);
    // A single block that waits may be a stall of the machine.
    let last_two = turns.before.last().into_iter().chain([&turns.block]);
    let waits = { last_two }.all(|block| mostly_waits(block, queued));
    let primary = primary(plan, &turns, waits)?;
    let mut why_no_duets = no_duets(plan, duets, primary, waits, &turns);
    let mut layouts = vec![(Layout::Turns, turns.took)];
    if why_no_duets.is_none() {
        match layout(Layout::Duet, runner) {
            Ok(duet) if duet.traits.iter().any(|traits| traits.left_its_cpu) => {
                why_no_duets = Some("a command changes the CPUs that it may use".to_owned());
            }
            Ok(duet) => layouts.push((Layout::Duet, duet.took)),
            Err(CompareError::Failed { .. }) => {
                why_no_duets = Some("a command failed next to the other, but not alone".to_owned());
            }
            Err(error) => return Err(error),
        }
    }
    let left_out = choose(plan, &mut layouts, why_no_duets)?;
    let mut warm = WarmUp { primary, layouts, left_out, start, drawing };
    keep_what_fits(plan, &mut warm, runner.now());
    let seen = [turns.before, vec![turns.block]].concat();
    check_budget(plan, start, &mut warm, seen, runner, coins)?;
    Ok(warm)
}

fn warm_layout<R: Runner>(
    layout: Layout,
    start: Start,
    plan: &Plan,
    runner: &mut R,
    coins: &mut Coins,
    events: &mut dyn FnMut(Event),
) -> Result<WarmUpBlocks, CompareError> {
    let begin = runner.now();
    let mut warmed: Option<WarmUpBlocks> = None;
    for blocks in 1.. {
        let began = runner.now();
        let (block, traits) = warm_round(layout, start, plan, runner, coins)?;
        let took = runner.now() - began;
        events(Event::WarmedUp { blocks, last: took });
        let none = || vec![RunnableTime::default(); plan.commands.len()];
        let mut runnable = warmed.as_mut().map_or_else(none, |before| mem::take(&mut before.runnable));
        traits.iter().for_each(|traits| runnable[traits.command] += traits.runnable);
        let mut all = traits;
        all.extend(warmed.iter_mut().filter(|_| layout == Layout::Duet).flat_map(|before| before.traits.drain(..)));
        let before = warmed.map_or_else(Vec::new, |last| [last.before, vec![last.block]].concat());
        warmed = Some(WarmUpBlocks { block, before, traits: all, runnable, took });
        if enough(plan, blocks, runner.now() - begin, took) {
            break;
        }
    }
    let none = Nanos::ZERO;
    warmed.ok_or(CompareError::BudgetTooSmall { per_pair: none, budget: none, pairs: 0, needed: none })
}

/// Runs a warm-up round. Its first block also measures the properties of the commands. A round of turns is one block.
fn warm_round<R: Runner>(
    layout: Layout,
    start: Start,
    plan: &Plan,
    runner: &mut R,
    coins: &mut Coins,
) -> Result<(Block, Vec<Traits>), CompareError> {
    let mut round = coins.round(layout, plan.commands.len());
    round.iter_mut().for_each(|block| block.start = start);
    let (mut block, traits) = runner.probe(&round.remove(0))?;
    remove_sleep(&mut block, &traits);
    check_outcomes(plan, &block, runner)?;
    let mut rest = Vec::new();
    runner.run(&round, &mut |block| rest.push(block))?;
    rest.iter().try_for_each(|block| check_outcomes(plan, block, runner))?;
    Ok((block, traits))
}

/// Corrects the run delay of runs that were killed at their time limit. Linux (6.18) sometimes counts a sleep as run
/// delay, and load would then seem to have prevented the runs from ending.
fn remove_sleep(block: &mut Block, traits: &[Traits]) {
    for run in block.runs.iter_mut().filter(|run| run.outcome == Outcome::TimedOut) {
        let slept = traits.iter().find(|traits| traits.command == run.command).map(|traits| traits.asleep);
        let most = run.wall - run.cpu_time() - slept.unwrap_or_default();
        if let Ok(delay) = &mut run.run_delay {
            *delay = most.min(*delay);
        }
    }
}

fn enough(plan: &Plan, blocks: u32, spent: Nanos, last: Nanos) -> bool {
    if let Some(wanted) = plan.warmup {
        return blocks >= wanted;
    }
    let too_long = match plan.effort {
        Effort::Budget(budget) => (spent + last).seconds() > BUDGET_SHARE / 2.0 * budget.seconds(),
        Effort::Pairs(_) => false,
    };
    (blocks >= BLOCKS && spent >= SHORTEST) || too_long
}

/// Returns an error if a run failed against the rule of the plan, or did not end because of load. If failures are
/// ignored, runs that were killed are only left out of the samples.
pub(super) fn check_outcomes<R: Runner>(plan: &Plan, block: &Block, runner: &R) -> Result<(), CompareError> {
    if starved(plan, block, runner) {
        return Err(CompareError::Starved);
    }
    let ignores = plan.failures != steady_model::FailureRule::Abort;
    let fatal = |run: &&Run| match run.outcome {
        Outcome::Exited(status) => !plan.failures.accepts(status),
        Outcome::Signalled(_) | Outcome::TimedOut => !ignores,
    };
    match block.runs.iter().find(fatal) {
        Some(run) => Err(CompareError::Failed { command: run.command, outcome: run.outcome }),
        None => Ok(()),
    }
}

/// Returns whether load prevented a run from ending within the budget: the run was killed at the end of the budget, but
/// used so little time itself that the runs for a verdict would fit.
pub(super) fn starved<R: Runner>(plan: &Plan, block: &Block, runner: &R) -> bool {
    let Effort::Budget(budget) = plan.effort else { return false };
    let ended = || block.runs.iter().filter(|run| run.outcome == Outcome::TimedOut);
    if ended().next().is_none() || plan.timeout.is_some_and(|timeout| timeout <= budget) {
        return false;
    }
    let queued = runner.activity().pressure.unwrap_or(0.0);
    ended().all(|run| least_runs(plan) as f64 * own_time(run, queued) <= budget.seconds())
}

/// The requested metric. Without one, CPU time, or elapsed or wall time if the commands mostly wait. The last
/// successful run of a command shows which metrics it has, because a failed one need not have all.
fn primary(plan: &Plan, turns: &WarmUpBlocks, waits: bool) -> Result<Metric, CompareError> {
    let last = |command: usize| {
        let blocks = turns.before.iter().chain([&turns.block]).rev();
        let mut runs = blocks.filter_map(|block| Some(block.run_of(command)?.1));
        runs.find(|run| run.succeeded(&plan.failures))
    };
    let absent = |metric| {
        let mut commands = 0..plan.commands.len();
        commands.find_map(|command| Some((command, last(command)?.cost(metric).err()?)))
    };
    match plan.metric {
        Some(metric) => match absent(metric) {
            Some((command, reason)) => {
                let name = plan.commands.get(command).map_or("?", |command| command.name.as_str());
                Err(CompareError::MetricAbsent { metric, reason: format!("for '{name}', {reason}") })
            }
            None => Ok(metric),
        },
        None if !waits => Ok(Metric::Cpu),
        None if absent(Metric::Elapsed).is_none() => Ok(Metric::Elapsed),
        None => Ok(Metric::Wall),
    }
}

/// Wall time of a run minus the time spent waiting for a CPU, in seconds. If that wait is not known, it is estimated by
/// `queued`, the share of time in which any process of the machine waited for a CPU.
fn own_time(run: &Run, queued: f64) -> f64 {
    match &run.run_delay {
        Ok(delay) => (run.wall - *delay).seconds(),
        Err(_) => (run.wall.seconds() * (1.0 - queued)).max(run.cpu_time().seconds()),
    }
}

/// Returns whether the runs were blocked for most of the time in which they could have run. Time spent waiting for a
/// CPU does not count, because load causes it.
fn mostly_waits(block: &Block, queued: f64) -> bool {
    /// A run has one voluntary switch at its exit. A run without others did not wait for anything but a CPU.
    const AT_EXIT: u64 = 1;
    let cpu: Nanos = block.runs.iter().map(Run::cpu_time).sum();
    let wall: f64 = block.runs.iter().map(|run| own_time(run, queued)).sum();
    cpu.seconds() < MOSTLY_WAITS * wall && block.runs.iter().any(|run| run.voluntary_switches > AT_EXIT)
}

/// Why duets are not used, or `None` if they are.
fn no_duets(plan: &Plan, duets: &Reading<()>, primary: Metric, waits: bool, turns: &WarmUpBlocks) -> Option<String> {
    let several = |run: &Run| run.cpu_time().seconds() > ONE_CPU * run.wall.seconds();
    if let Err(reason) = duets {
        Some(reason.to_string())
    } else if plan.commands.len() < 2 {
        Some("there is only one command".to_owned())
    } else if plan.layout == Some(Layout::Turns) {
        Some("--layout turns".to_owned())
    } else if plan.layout == Some(Layout::Duet) {
        None
    } else if !plan.prepare.is_empty() || !plan.conclude.is_empty() {
        Some("--prepare and --conclude may touch what the other command reads".to_owned())
    } else if plan.output.0.iter().any(|output| matches!(output, Output::File(_))) {
        Some("the commands' output goes to a file, and both would write concurrently".to_owned())
    } else if !plan.metrics.is_empty() && matches!(plan.metric_input, MetricInput::File(_)) {
        Some("custom metrics are read from a file, and both would write it concurrently".to_owned())
    } else if let Metric::Custom(custom) = primary {
        Some(format!("'{}' is measured in turns only", custom.name()))
    } else if primary == Metric::Energy {
        Some("the energy is that of the whole machine".to_owned())
    } else if primary.needs_turns() {
        Some(format!("{} time is measured in turns only", primary.name()))
    } else if matches!(primary, Metric::Instructions | Metric::Memory) {
        let what = if primary == Metric::Memory { "peak memory" } else { "instructions" };
        Some(format!("load hardly changes {what}, so duets have no advantage"))
    } else if turns.traits.iter().any(|traits| traits.wrote_to_storage) {
        Some("a command writes files, and both would write concurrently".to_owned())
    } else if turns.block.runs.iter().any(several) || turns.runnable.iter().any(|time| time.is_of_several_cpus()) {
        Some("a command uses more than one CPU".to_owned())
    } else if waits {
        Some("the commands mostly wait".to_owned())
    } else if plan.most_pairs().is_some_and(|most| most < PAIRS_OF_BOTH) {
        Some(format!("fewer than {PAIRS_OF_BOTH} pairs are too few for both layouts"))
    } else {
        None
    }
}

/// Limits the layouts to the requested one. Returns the layouts that are not used, with the reasons.
fn choose(
    plan: &Plan,
    layouts: &mut Vec<(Layout, Nanos)>,
    why_no_duets: Option<String>,
) -> Result<Vec<LeftOut>, CompareError> {
    let mut left_out = Vec::new();
    match (plan.layout, why_no_duets) {
        (Some(Layout::Duet), Some(reason)) => {
            return Err(CompareError::LayoutAbsent { layout: Layout::Duet, reason });
        }
        (Some(Layout::Duet), None) => {
            layouts.retain(|(layout, _)| *layout == Layout::Duet);
            left_out.push(LeftOut { layout: Layout::Turns, reason: "--layout duet".to_owned() });
        }
        (_, Some(reason)) => left_out.push(LeftOut { layout: Layout::Duet, reason }),
        (_, None) => {}
    }
    Ok(left_out)
}

/// Limits the layouts to one if the budget is too small to try both.
fn keep_what_fits(plan: &Plan, warm: &mut WarmUp, spent: Nanos) {
    let Effort::Budget(budget) = plan.effort else { return };
    let (left, drawing) = (budget - spent, warm.drawing);
    let to_try = |(_, took): &(Layout, Nanos)| Nanos(least(drawing, *took).0 * EXPLORATION_PAIRS as u64);
    let to_try_all: Nanos = warm.layouts.iter().map(to_try).sum();
    if plan.commands.len() < 2 || warm.layouts.len() < 2 || to_try_all <= left {
        return;
    }
    // Turns are preferred, because they give the size of the effect. Duets are used if there is no time for turns.
    let fits = |took: Nanos| left.0 / least(drawing, took).0.max(1) >= least_pairs(plan) as u64;
    let kept = warm.layouts.iter().position(|&(_, took)| fits(took)).unwrap_or(1);
    let kept = warm.layouts.swap_remove(kept);
    let others = warm
        .layouts
        .drain(..)
        .map(|(layout, _)| LeftOut { layout, reason: "the budget is too small to try both layouts".to_owned() });
    warm.left_out.extend(others.collect::<Vec<_>>());
    warm.layouts.push(kept);
}

/// The duration of the smallest unit of the test: a pair, or a draw with one pair from snapshots and one usual pair.
fn least(drawing: Option<Nanos>, took: Nanos) -> Nanos {
    drawing.map_or(took, |drawing| drawing + took + took)
}

/// Refuses a budget that is too small even on an idle machine, unless a number of pairs is wanted, whatever they take. If
/// there is too little time because of load or of the creation of snapshots, the measuring exceeds the budget instead
/// (see [`super::measure`]).
///
/// The criterion is the time of the cheapest runs so far, without waiting for a CPU. Under load it may be up to twice
/// the budget, because instructions take longer, too, and an estimated wait is no part of it: only CPU time is certain
/// then. If the cost of a command varies, all runs so far may have been expensive. Before a budget is refused, further
/// pairs run, for at most twice the budget.
fn check_budget<R: Runner>(
    plan: &Plan,
    start: Start,
    warm: &mut WarmUp,
    mut seen: Vec<Block>,
    runner: &mut R,
    coins: &mut Coins,
) -> Result<(), CompareError> {
    let Effort::Budget(budget) = plan.effort else { return Ok(()) };
    let budget = match (plan.pairs_min, plan.pairs_min_within) {
        (None, _) => budget,
        (Some(_), Some(limit)) => limit,
        (Some(_), None) => return Ok(()),
    };
    if plan.commands.len() < 2 {
        return Ok(());
    }
    let (spent, warmed_up) = (runner.now(), seen.len() as u64);
    let too_small = loop {
        let queued = runner.activity().pressure.unwrap_or(0.0);
        let runs = || seen.iter().flat_map(|block| &block.runs);
        let all: f64 = runs().map(|run| own_time(run, queued)).sum();
        let wall: Nanos = runs().map(|run| run.wall).sum();
        let busy = all < MOSTLY_OWN * wall.seconds();
        let room = if busy { 2.0 * budget.seconds() } else { budget.seconds() };
        let own = cheapest(plan, &seen, if busy { 1.0 } else { queued });
        if own * least_pairs(plan) as f64 <= room {
            break None;
        }
        let a_pair = Nanos(runner.now().0 / seen.len().max(1) as u64);
        let is_time_up = all + own > 2.0 * budget.seconds() || runner.now() + a_pair > budget + budget;
        if is_time_up || seen.len() >= ALIKE && all < (1.0 + VARIES) * own * seen.len() as f64 {
            break Some(own);
        }
        seen.push(warm_round(Layout::Turns, start, plan, runner, coins)?.0);
    };
    let further = seen.len() as u64 - warmed_up;
    if further > 0
        && let [(Layout::Turns, per_pair)] = warm.layouts.as_mut_slice()
    {
        let all = per_pair.0.saturating_mul(warmed_up).saturating_add((runner.now() - spent).0);
        *per_pair = Nanos(all / seen.len() as u64);
    }
    let Some(own) = too_small else { return Ok(()) };
    // The duration of a run that was killed is not known, also if failures are ignored. Without --timeout, its limit was
    // the whole budget. With it, no budget helps a command of which each run reaches it.
    let is_killed = |run: &Run| run.outcome == Outcome::TimedOut;
    let never_ends = |command: usize| {
        let mut runs = seen.iter().filter_map(|block| block.run_of(command));
        runs.all(|(_, run)| is_killed(run))
    };
    let mut runs = seen.iter().flat_map(|block| &block.runs);
    if let Some(killed) = runs.find(|run| is_killed(run) && (plan.timeout.is_none() || never_ends(run.command))) {
        return Err(CompareError::Failed { command: killed.command, outcome: killed.outcome });
    }
    let per_pair = warm.layouts.first().map_or(Nanos::ZERO, |(_, took)| least(warm.drawing, *took));
    // The warm-up takes a fixed share of a larger budget, too.
    let pairs = BUDGET_MARGIN * least_pairs(plan) as f64 * per_pair.seconds().max(own);
    let needed = Nanos::from_seconds(((spent.seconds() + pairs) / (1.0 - BUDGET_SHARE)).ceil());
    let per_pair = Nanos::from_seconds(own);
    Err(CompareError::BudgetTooSmall { per_pair, budget, pairs: least_pairs(plan), needed })
}

/// The time of a pair of the cheapest runs without waiting for a CPU, in seconds.
fn cheapest(plan: &Plan, seen: &[Block], queued: f64) -> f64 {
    let of = |command| {
        let runs = seen.iter().filter_map(|block| block.run_of(command));
        runs.map(|(_, run)| own_time(run, queued)).reduce(f64::min).unwrap_or(0.0)
    };
    (0..plan.commands.len()).map(of).sum()
}

#[cfg(test)]
mod tests {
    use steady_model::{Command, Seed};
    use steady_process::runner::{BlockSpec, RunSpec};
    use steady_process::simulated::{Conditions, SimulatedMachine};

    use super::*;

    #[test]
    fn a_killed_run_that_slept_was_not_starved() {
        let plan = Plan::new(vec![Command::default()], Effort::Budget(Nanos::from_seconds(1.0)), Seed(1));
        let mut machine = SimulatedMachine::new(&[0.001], Conditions { queueing: 1_000.0, ..Conditions::QUIET }, 1);
        machine.failures[0] = Some((1, Outcome::TimedOut));
        let runs = vec![RunSpec { command: 0, seat: 0, padding: 0 }];
        let spec = BlockSpec { number: None, layout: Layout::Turns, runs, start: Start::Usual, draw: None };
        let (mut block, mut traits) = machine.probe(&spec).unwrap();
        remove_sleep(&mut block, &traits);
        assert!(starved(&plan, &block, &machine), "it was runnable all the time");
        traits[0].asleep = block.runs[0].wall;
        remove_sleep(&mut block, &traits);
        assert!(!starved(&plan, &block, &machine), "it slept");
    }
}
