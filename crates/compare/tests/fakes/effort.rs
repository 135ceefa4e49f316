//! How many pairs comparisons on simulated machines have: budgets, numbers of pairs, load.

use steady_compare::judge;
use steady_compare::run::CompareError;
use steady_model::{
    Block, Effort, Ending, FailIf, FailureRule, Layout, Nanos, Outcome, Plan, Report, Undecided, Verdict, Warning,
};
use steady_process::simulated::{Conditions, SimulatedMachine, Snapshots};

use crate::common::{measure, plan, primary, report};

#[test]
fn exactly_the_requested_number_of_pairs_is_measured() {
    let mut plan = plan(2, 1.0, 6);
    plan.effort = Effort::Pairs(37);
    let report = report(&plan, &[0.010, 0.020], Conditions::QUIET);
    assert_eq!(report.record.blocks.len(), 37);
    assert_eq!(primary(&report).pairs, 37);
    assert_eq!(primary(&report).verdict, Verdict::Slower);
}

/// Which pairs are in turns is random if there are both layouts. With few pairs, the number in turns would be, too.
#[test]
fn few_pairs_are_all_in_turns() {
    let layouts = |change: &dyn Fn(&mut Plan)| {
        let mut plan = plan(2, 1.0, 6);
        change(&mut plan);
        let report = report(&plan, &[0.010, 0.020], Conditions::QUIET);
        Layout::ALL.map(|layout| report.blocks_of(layout))
    };
    assert_eq!(layouts(&|plan| plan.effort = Effort::Pairs(31)), [31, 0]);
    assert_eq!(layouts(&|plan| plan.pairs_max = Some(10)), [10, 0]);
    assert!(layouts(&|plan| plan.effort = Effort::Pairs(32)).iter().all(|pairs| *pairs >= 6));
    let duets = |plan: &mut Plan| (plan.effort, plan.layout) = (Effort::Pairs(10), Some(Layout::Duet));
    assert_eq!(layouts(&duets), [0, 10]);
}

/// In duets, a pair of each of two commands with the first is two blocks.
#[test]
fn several_commands_have_the_requested_number_of_pairs_each() {
    let mut plan = plan(3, 1.0, 6);
    plan.effort = Effort::Pairs(60);
    let noisy = Conditions { noise: 0.05, ..Conditions::QUIET };
    let report = report(&plan, &[0.010, 0.010, 0.010], noisy);
    assert!(report.record.blocks.len() > 60);
    assert_eq!(report.record.rounds(), 60);
    assert!(report.primary().all(|judgement| judgement.pairs == 60));
    let page = steady_render::html::text(&steady_compare::document(&report)).replace('\u{a0}', " ");
    assert!(page.contains("pairs of each command would probably give a verdict: --runs"), "{page}");
    assert!(page.contains("60 pairs of each command; "), "{page}");
}

#[test]
fn fewer_than_six_pairs_give_no_verdict() {
    let mut plan = plan(2, 1.0, 7);
    plan.effort = Effort::Pairs(5);
    let report = report(&plan, &[0.010, 0.030], Conditions::QUIET);
    assert_eq!(primary(&report).undecided, Ok(Undecided::TooFewPairs));
    assert_eq!(report.warnings, [Warning::TooFewPairs { pairs: 5 }]);
}

/// Several comparisons share the error rate, so each needs more pairs.
#[test]
fn a_verdict_on_several_commands_needs_more_pairs() {
    for (commands, confidence, least) in [(3, 0.95, 7), (4, 0.95, 8), (6, 0.95, 8), (2, 0.999, 12)] {
        let costs: Vec<f64> = (1..=commands).map(|place| 0.01 * place as f64).collect();
        let with = |runs: usize| {
            let mut plan = plan(commands, 1.0, 7);
            (plan.effort, plan.confidence) = (Effort::Pairs(runs as u64), confidence);
            report(&plan, &costs, Conditions::QUIET)
        };
        let few = with(least - 1);
        assert!(few.primary().all(|one| one.undecided == Ok(Undecided::TooFewPairs)), "{commands}");
        assert_eq!(few.warnings, [Warning::TooFewPairs { pairs: least - 1 }]);
        let text = steady_render::markdown::text(&steady_compare::document(&few)).replace('\u{a0}', " ");
        assert!(text.contains(&format!("at least {least} are needed")), "{text}");
        assert!(text.contains(&format!(" would give an interval: --runs {least}.")), "{text}");
        assert!(!text.contains("no estimate yet") && !text.contains("not known how much"), "{text}");
        assert!(with(least).primary().all(|one| one.verdict == Verdict::Slower), "{commands}");
    }
}

/// Four commands take 0.4 s on an idle machine, and 6 s under load. The budget is 30 s.
#[test]
fn a_budget_is_exceeded_for_the_pairs_that_several_commands_need() {
    let busy = Conditions { queueing: 14.0, ..Conditions::QUIET };
    let mut plan = plan(4, 30.0, 8);
    plan.layout = Some(Layout::Turns);
    let report = report(&plan, &[0.1; 4], busy);
    assert_eq!((report.record.blocks.len(), report.record.ending), (8, Ending::Spent));
    let text = steady_render::markdown::text(&steady_compare::document(&report)).replace('\u{a0}', " ");
    assert!(text.contains("too short for the 8 pairs that a verdict needs"), "{text}");
}

#[test]
fn a_budget_that_is_too_small_is_refused_with_a_sufficient_one() {
    let mut machine = SimulatedMachine::new(&[3.0, 3.0], Conditions::QUIET, 8);
    let error = measure(&plan(2, 10.0, 8), &mut machine).unwrap_err();
    let CompareError::BudgetTooSmall { per_pair, budget, needed, .. } = error else { panic!("{error}") };
    assert!(6.0 * per_pair.seconds() > budget.seconds() && budget < needed, "{error}");
    let mut machine = SimulatedMachine::new(&[3.0, 3.0], Conditions::QUIET, 8);
    let again = measure(&plan(2, needed.seconds(), 8), &mut machine).unwrap();
    assert!(again.blocks.len() >= 6);
    assert!(again.elapsed.seconds() <= needed.seconds() * 1.05);
}

/// A pair takes 0.2 s on an idle machine, and 5 s under load. The budget is 10 s.
#[test]
fn a_budget_that_is_too_small_because_of_load_is_exceeded_and_not_refused() {
    let busy = |queueing| Conditions { queueing, ..Conditions::QUIET };
    let mut machine = SimulatedMachine::new(&[0.1, 0.1], busy(14.0), 8);
    let enough = judge(measure(&plan(2, 10.0, 8), &mut machine).unwrap());
    assert_eq!((enough.record.blocks.len(), enough.record.ending), (6, Ending::Spent));
    let exceeded = |report: &Report| report.warnings.iter().any(|one| matches!(one, Warning::BudgetExceeded { .. }));
    assert!(enough.record.elapsed.seconds() > 10.0 && exceeded(&enough), "{:?}", enough.warnings);

    let mut machine = SimulatedMachine::new(&[0.1, 0.1], busy(24.0), 8);
    let few = judge(measure(&plan(2, 10.0, 8), &mut machine).unwrap());
    assert_eq!(primary(&few).undecided, Ok(Undecided::TooFewPairs), "measuring goes beyond twice the budget");
    assert!((15.0..=20.5).contains(&few.record.elapsed.seconds()), "{:?}", few.record.elapsed);
    assert!(exceeded(&few));
}

/// Under load, the budget of 10 s has room for two pairs of 5 s.
#[test]
fn pairs_with_failed_runs_count_when_the_budget_is_exceeded() {
    let measured = |every, queueing| {
        let mut machine = SimulatedMachine::new(&[0.1, 0.1], Conditions { queueing, ..Conditions::QUIET }, 8);
        machine.failures[1] = Some((every, Outcome::Signalled(9)));
        let mut plan = plan(2, 10.0, 8);
        plan.failures = FailureRule::IgnoreAll;
        let record = measure(&plan, &mut machine).unwrap();
        let failed = |block: &&Block| block.runs.iter().any(|run| run.outcome == Outcome::Signalled(9));
        (record.blocks.len(), record.blocks.iter().filter(failed).count(), record.elapsed.seconds())
    };
    let (pairs, failed, elapsed) = measured(5, 14.0);
    assert!(pairs == 6 && (1..6).contains(&failed) && elapsed > 10.0, "{pairs} {failed} {elapsed}");
    let (pairs, failed, elapsed) = measured(1, 0.0);
    assert!(pairs > 6 && failed == pairs && elapsed <= 10.0, "{pairs} {failed} {elapsed}");
}

/// A pair takes 0.02 s to 0.2 s, or up to 0.5 s under load. The budget of 1 s has room for six of the cheap pairs.
#[test]
fn a_budget_with_room_for_cheap_runs_is_not_refused_because_of_expensive_ones() {
    for (seed, queueing) in (0..200).zip([0.0, 0.5, 1.5, 4.0].into_iter().cycle()) {
        let mut machine = SimulatedMachine::new(&[0.01, 0.01], Conditions { queueing, ..Conditions::QUIET }, seed);
        machine.modes = vec![(0.5, 10.0); 2];
        let record = measure(&plan(2, 1.0, seed), &mut machine).unwrap_or_else(|error| panic!("{seed}: {error}"));
        assert!(record.elapsed.seconds() < 3.0, "{:?}", record.elapsed);
    }
    // The budget has no room for six of the expensive pairs.
    let mut machine = SimulatedMachine::new(&[0.1, 0.1], Conditions::QUIET, 8);
    assert!(matches!(measure(&plan(2, 1.0, 8), &mut machine), Err(CompareError::BudgetTooSmall { .. })));
}

#[test]
fn a_budget_too_small_for_draws_of_snapshots_is_undecided() {
    let mut machine = SimulatedMachine::new(&[0.001, 0.001], Conditions::QUIET, 8);
    machine.snapshots = Some(Snapshots { luck: 0.0, start_up: 0.0, drawing: 0.7 });
    let mut plan = plan(2, 1.0, 8);
    plan.warm = true;
    let few = judge(measure(&plan, &mut machine).unwrap());
    assert_eq!(primary(&few).undecided, Ok(Undecided::TooFewPairs));
    assert!(few.warnings.iter().any(|one| matches!(one, Warning::BudgetExceeded { .. })), "{:?}", few.warnings);
}

/// A run is killed at the end of the budget, although its own time is a hundredth of the budget.
#[test]
fn a_run_that_does_not_end_because_of_load_leaves_the_comparison_undecided() {
    for (every, failures) in [(1, FailureRule::Abort), (1, FailureRule::IgnoreAll), (30, FailureRule::Abort)] {
        let mut plan = plan(2, 10.0, 8);
        plan.failures = failures;
        let measured = |queueing| {
            let mut machine = SimulatedMachine::new(&[0.1, 0.1], Conditions { queueing, ..Conditions::QUIET }, 8);
            machine.failures[1] = Some((every, Outcome::TimedOut));
            measure(&plan, &mut machine)
        };
        let report = judge(measured(99.0).unwrap());
        assert_eq!(primary(&report).undecided, Ok(Undecided::TooFewPairs));
        assert_eq!(report.record.ending, Ending::Spent);
        assert!(!report.warnings.iter().any(|one| matches!(one, Warning::Failures { .. })), "{:?}", report.warnings);
    }
    // The report says that a run was killed after others had ended.
    let mut machine = SimulatedMachine::new(&[0.05, 0.05], Conditions::QUIET, 8);
    machine.failures[1] = Some((40, Outcome::TimedOut));
    let report = judge(measure(&plan(2, 10.0, 8), &mut machine).unwrap());
    assert!(report.warnings.contains(&Warning::Unfinished { command: 1 }), "{:?}", report.warnings);
    // A run that uses a CPU or is blocked for all of its time is a failure of the command.
    for cpu_share in [1.0, 0.001] {
        let mut machine =
            SimulatedMachine::new(&[10.0 * cpu_share; 2], Conditions { cpu_share, ..Conditions::QUIET }, 8);
        machine.failures[1] = Some((1, Outcome::TimedOut));
        let error = measure(&plan(2, 10.0, 8), &mut machine).unwrap_err();
        assert_eq!(error, CompareError::Failed { command: 1, outcome: Outcome::TimedOut });
    }
}

#[test]
fn the_budget_holds_if_the_load_rises() {
    // Blocks become ten times longer when the load begins, so planned batches no longer fit.
    let step = Conditions { bursts: Some((1e9, 0.5, 10.0)), noise: 3e-4, ..Conditions::QUIET };
    let report = report(&plan(2, 2.0, 9), &[0.010, 0.010], step);
    assert!(report.record.elapsed < Nanos::from_seconds(2.3), "{:?}", report.record.elapsed);
}

#[test]
fn a_single_command_is_measured_at_least_once_under_load() {
    let busy = Conditions { queueing: 3.0, ..Conditions::QUIET };
    let mut machine = SimulatedMachine::new(&[0.1], busy, 11);
    let report = judge(measure(&plan(1, 0.5, 11), &mut machine).unwrap());
    assert_eq!(report.runs(), 1, "the warm-up takes most of the budget");
    assert!((report.breakdowns[0].cpu.mean - 0.1).abs() < 0.01);
}

#[test]
fn measuring_continues_until_the_limit_is_decided() {
    let mut plan = plan(2, 30.0, 17);
    plan.fail_if = Some(FailIf { verdict: Verdict::Slower, beyond: 0.012 });
    let noisy = Conditions { noise: 0.05, ..Conditions::QUIET };
    let report = report(&plan, &[0.010, 0.010 * 1.02], noisy);
    let interval = primary(&report).verdict_interval.clone().unwrap();
    assert!(interval.low > 0.012, "{interval:?}");
}
