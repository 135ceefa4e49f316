//! Instructions as the metric. They hardly vary, so that few pairs suffice, and many differences are equal.

use steady_compare::judge;
use steady_compare::run::{CompareContext, CompareError, compare};
use steady_model::{CounterScope, Ending, Hook, Layout, Metric, PerCommand, Plan, Report, Verdict};
use steady_process::simulated::{Conditions, SimulatedMachine};

use crate::common::{plan, primary, setting};

/// A machine whose load changes so much that times show nothing.
const LOUD: Conditions =
    Conditions { noise: 0.02, hit_per_mille: 20, bursts: Some((0.3, 0.3, 1.5)), ..Conditions::QUIET };

fn instructions_plan(seed: u64) -> Plan {
    Plan { metric: Some(Metric::Instructions), ..plan(2, 10.0, seed) }
}

fn counted(seed: u64, instructions: [(u64, u64); 2]) -> Report {
    let plan = instructions_plan(seed);
    let mut machine = SimulatedMachine::new(&[0.010, 0.010], LOUD, seed ^ 0x5eed);
    machine.instructions = instructions.to_vec();
    let setting = CompareContext { counters: Ok(CounterScope::User), ..setting() };
    judge(compare(&plan, setting, &mut machine, &mut |_| {}).unwrap())
}

#[test]
fn the_first_look_is_enough_under_any_load() {
    for (seed, instructions, verdict) in [
        (1, [(1_000_000, 20), (1_000_000, 20)], Verdict::Same),
        (2, [(1_000_000, 20), (1_005_000, 20)], Verdict::Slower),
        (3, [(1_005_000, 20), (1_000_000, 20)], Verdict::Faster),
        (4, [(700, 2), (700, 2)], Verdict::Same),
    ] {
        let report = counted(seed, instructions);
        assert_eq!(primary(&report).verdict, verdict, "{:?}", primary(&report));
        assert_eq!(primary(&report).metric, Metric::Instructions);
        assert_eq!((report.record.ending, report.record.looks.len()), (Ending::Decided, 1));
        assert!(report.record.blocks.iter().all(|block| block.layout == Layout::Turns));
    }
}

#[test]
fn constant_counts_have_verdicts_too() {
    let same = counted(5, [(1_000_000, 0), (1_000_000, 0)]);
    let judgement = primary(&same);
    assert_eq!((judgement.verdict, &judgement.change), (Verdict::Same, &Ok(0.0)));
    assert!(judgement.interval.as_ref().unwrap().half_width() < 1e-5, "{judgement:?}");
    let one_more = counted(6, [(1_000_000, 0), (1_000_001, 0)]);
    let judgement = primary(&one_more);
    assert_eq!((judgement.verdict, judgement.within_resolution), (Verdict::Slower, true));
    assert!((judgement.change.clone().unwrap() - 1e-6).abs() < 1e-9, "{judgement:?}");
}

#[test]
fn few_different_counts_do_not_raise_the_error() {
    // Of 400 comparisons of a command with itself, at an error rate of 5 %, chance explains 34 errors (the 99.9 %
    // quantile of the binomial distribution).
    for more in [1, 2, 40] {
        let wrong = (0..400).filter(|seed| {
            let report = counted(1000 * more + seed, [(1_000_000, more), (1_000_000, more)]);
            primary(&report).verdict != Verdict::Same
        });
        let wrong = wrong.count();
        assert!(wrong <= 34, "{wrong} of 400 with up to {more} more");
    }
}

#[test]
fn instructions_are_a_secondary_metric_if_they_are_counted() {
    let mut machine = SimulatedMachine::new(&[0.010, 0.012], Conditions::QUIET, 7);
    machine.instructions = vec![(1_000_000, 20), (1_200_000, 20)];
    let setting = CompareContext { counters: Ok(CounterScope::User), ..setting() };
    let report = judge(compare(&plan(2, 2.0, 7), setting, &mut machine, &mut |_| {}).unwrap());
    assert_eq!(primary(&report).metric, Metric::Cpu);
    let secondary = report.judgements.iter().find(|one| one.metric == Metric::Instructions).unwrap();
    assert_eq!(secondary.verdict, Verdict::Slower);
    let means = report.breakdowns[1].counters.unwrap();
    assert!((means.instructions.unwrap() - 1_200_005.0).abs() < 10.0 && means.cycles.is_none(), "{means:?}");
}

#[test]
fn without_counters_nothing_is_started() {
    let plan = Plan { setup: PerCommand(vec!["x".to_owned()]), ..instructions_plan(8) };
    let mut machine = SimulatedMachine::new(&[0.010, 0.010], Conditions::QUIET, 8);
    let refused = compare(&plan, setting(), &mut machine, &mut |_| {}).unwrap_err();
    let reason = "simulated".to_owned();
    assert_eq!(refused, CompareError::MetricAbsent { metric: Metric::Instructions, reason });
    assert_eq!(machine.hooks, Vec::<(Hook, usize)>::new());
}
