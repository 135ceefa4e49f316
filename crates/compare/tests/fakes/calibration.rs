//! Error rates of whole comparisons on simulated machines: warm-up, random order, adaptive layouts, looks, early
//! stopping.
//!
//! A correct method exceeds the bounds in one of a thousand test runs (binomial distribution).

use steady_compare::judge;
use steady_compare::run::{Event, compare};
use steady_model::{Ending, Interval, Layout, Verdict};
use steady_process::runner::{BlockSpec, RunSpec, Runner, Start};
use steady_process::simulated::{Conditions, SimulatedMachine};
use steady_stats::{Pair, Paired, Slot};

use crate::common::{measure, plan, primary, repeated, report, setting};

/// The number of simulated comparisons.
fn trials() -> u64 {
    repeated(100)
}

/// The 99.9 % quantile of the number of errors in `trials` at an error rate of 5 %.
fn most_wrong(trials: u64) -> u64 {
    let mut probability = 0.95f64.powi(trials as i32);
    let mut below = 0.0;
    for wrong in 0..=trials {
        below += probability;
        if below >= 0.999 {
            return wrong;
        }
        probability *= 0.05 / 0.95 * (trials - wrong) as f64 / (wrong + 1) as f64;
    }
    trials
}

/// The numbers of wrong verdicts and of intervals without the true effect, in [`trials`] comparisons.
fn errors(conditions: Conditions, effect: f64, seed: u64) -> (u64, u64) {
    let trials = trials();
    let (mut wrong, mut missed) = (0, 0);
    for trial in 0..trials {
        let report = report(&plan(2, 1.0, seed * trials + trial), &[0.005, 0.005 * (1.0 + effect)], conditions);
        let judgement = report.primary().next().unwrap().clone();
        let right = match judgement.verdict {
            Verdict::Faster => effect < 0.0,
            Verdict::Slower => effect > 0.0,
            Verdict::Same => effect.abs() <= 0.01,
            Verdict::Undecided => true,
        };
        wrong += u64::from(!right);
        let misses = |interval: &Interval| !interval.holds(effect);
        missed += u64::from(judgement.interval.is_ok_and(|interval| misses(&interval)));
        missed += u64::from(judgement.verdict_interval.is_ok_and(|interval| misses(&interval)));
    }
    (wrong, missed)
}

fn holds(name: &str, conditions: Conditions) {
    for (index, effect) in [0.0, 0.02].into_iter().enumerate() {
        let (wrong, missed) = errors(conditions, effect, index as u64 + 1);
        let (trials, most) = (trials(), most_wrong(trials()));
        // The size and the verdict each have an interval, and each may miss the truth.
        assert!(wrong <= most, "{name}, effect {effect}: {wrong} of {trials} verdicts wrong, at most {most} expected");
        assert!(missed <= 2 * most, "{name}, effect {effect}: {missed} of {} intervals missed the truth", 2 * trials);
    }
}

#[test]
fn quiet() {
    holds("quiet", Conditions::QUIET);
}

#[test]
fn heavy_tails() {
    holds("heavy tails", Conditions { noise: 0.02, hit_per_mille: 100, ..Conditions::QUIET });
}

#[test]
fn drift() {
    holds("drift", Conditions { drift_per_second: 0.3, noise: 0.02, ..Conditions::QUIET });
}

#[test]
fn bursts() {
    holds("bursts", Conditions { bursts: Some((0.08, 0.15, 2.0)), hit_per_mille: 30, ..Conditions::QUIET });
}

#[test]
fn asymmetric_cpus() {
    holds("asymmetric CPUs", Conditions { cpu_bias: (0.12, 0.3), ..Conditions::QUIET });
}

#[test]
fn second_starts_cost_more() {
    holds("second starts", Conditions { second_start: 0.042, ..Conditions::QUIET });
}

#[test]
fn all_conditions_together() {
    let conditions = Conditions {
        noise: 0.015,
        hit_per_mille: 50,
        drift_per_second: 0.1,
        bursts: Some((0.05, 0.1, 1.6)),
        second_start: 0.02,
        cpu_bias: (0.05, 0.2),
        parity: 0.05,
        cpu_share: 1.0,
        queueing: 0.0,
    };
    holds("everything", conditions);
}

/// The user interrupts as soon as the displayed interval excludes zero, and otherwise waits for the end.
#[test]
fn interruptions_because_of_the_progress() {
    let trials = trials();
    let (mut interrupted, mut wrong) = (0, 0);
    for seed in 0..trials {
        let plan = plan(2, 4.0, 9_000_000 + seed);
        let conditions = Conditions { noise: 0.1, ..Conditions::QUIET };
        let machine = || SimulatedMachine::new(&[0.005, 0.005], conditions, seed);
        let (mut watched, mut shown) = (machine(), None);
        let mut record = compare(&plan, setting(), &mut watched, &mut |event| {
            if let Event::Measured(progress) = event
                && progress.effects.iter().flatten().any(|(_, interval)| !interval.holds(0.0))
            {
                shown = shown.or(Some(progress.pairs as u64));
            }
        })
        .unwrap();
        if let Some(pairs) = shown {
            let warm_up = watched.blocks() - record.blocks.len() as u64;
            let mut machine = machine();
            machine.interrupt_after = Some(warm_up + pairs);
            record = measure(&plan, &mut machine).unwrap();
            interrupted += u64::from(record.ending == Ending::Interrupted);
        }
        wrong += u64::from(matches!(primary(&judge(record)).verdict, Verdict::Faster | Verdict::Slower));
    }
    assert!(interrupted > most_wrong(trials), "only {interrupted} of {trials} intervals excluded zero");
    assert!(wrong <= most_wrong(trials), "{wrong} of {trials} verdicts wrong, {interrupted} interrupted");
}

/// A disturbance in every second block that affects the first run.
const ALTERNATING: Conditions = Conditions { parity: 0.05, noise: 0.02, ..Conditions::QUIET };

#[test]
fn strict_alternation_is_biased_by_an_alternating_disturbance() {
    let mut machine = SimulatedMachine::new(&[0.005, 0.005], ALTERNATING, 1);
    let spec = |first: usize| BlockSpec {
        start: Start::Usual,
        draw: None,
        number: None,
        layout: Layout::Turns,
        runs: [first, 1 - first].map(|command| RunSpec { command, seat: 0, padding: 0 }).to_vec(),
    };
    let mut pairs = Vec::new();
    for turn in 0..60 {
        machine
            .run(&[spec(turn % 2)], &mut |block| {
                let cost = |command| block.run_of(command).unwrap().1.cpu_time().seconds();
                let order = if block.runs[0].command == 0 { 1 } else { -1 };
                pairs.push(Pair { layout: Layout::Turns, slot: Slot { order, cpu: 0 }, old: cost(0), new: cost(1) });
            })
            .unwrap();
    }
    let tested = Paired::new(&pairs, 1e-6).test(0.0);
    assert!(tested.p < 1e-6, "the disturbance has no effect: {tested:?}");
}

#[test]
fn random_order_is_not_biased_by_an_alternating_disturbance() {
    holds("alternation", ALTERNATING);
}
