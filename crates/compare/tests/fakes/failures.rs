//! Comparisons on simulated machines with runs that fail.

use steady_compare::judge;
use steady_compare::run::{CompareError, compare};
use steady_model::{Effort, FailureRule, Layout, Nanos, Outcome, Plan, Record, Report, Undecided, Verdict, Warning};
use steady_process::simulated::{Conditions, SimulatedMachine};

use crate::common::{measure, plan, primary, setting};

/// A larger budget would not help a command of which each run reaches the limit of --timeout.
#[test]
fn a_command_that_always_reaches_its_timeout_is_the_cause() {
    let mut plan = plan(2, 2.0, 8);
    (plan.failures, plan.timeout) = (FailureRule::IgnoreAll, Some(Nanos::from_seconds(0.5)));
    let mut machine = SimulatedMachine::new(&[0.5, 0.5], Conditions { cpu_share: 0.001, ..Conditions::QUIET }, 8);
    machine.failures[1] = Some((1, Outcome::TimedOut));
    let error = measure(&plan, &mut machine).unwrap_err();
    assert_eq!(error, CompareError::Failed { command: 1, outcome: Outcome::TimedOut });
}

fn with_failures(failures: FailureRule, outcome: Outcome) -> Result<Record, CompareError> {
    let mut machine = SimulatedMachine::new(&[0.010, 0.020], Conditions::QUIET, 16);
    machine.failures[1] = Some((7, outcome));
    let mut plan = plan(2, 10.0, 16);
    plan.effort = Effort::Pairs(100);
    plan.failures = failures;
    measure(&plan, &mut machine)
}

#[test]
fn a_failing_command_ends_the_comparison() {
    for outcome in [Outcome::Exited(1), Outcome::Signalled(11), Outcome::TimedOut] {
        assert_eq!(with_failures(FailureRule::Abort, outcome), Err(CompareError::Failed { command: 1, outcome }));
    }
    let other = Outcome::Exited(2);
    let rule = FailureRule::IgnoreCodes(vec![1]);
    assert_eq!(with_failures(rule, other), Err(CompareError::Failed { command: 1, outcome: other }));
}

#[test]
fn ignored_statuses_are_successes() {
    let report = judge(with_failures(FailureRule::IgnoreAll, Outcome::Exited(1)).unwrap());
    assert_eq!((primary(&report).pairs, primary(&report).verdict), (100, Verdict::Slower));
    let failed = report.record.blocks.iter().flat_map(|block| &block.runs);
    let failed = failed.filter(|run| run.outcome == Outcome::Exited(1)).count();
    let warning = Warning::FailuresIgnored { command: 1, failed, runs: 100, status: 1 };
    assert_eq!((failed > 0, report.warnings), (true, vec![warning]));
}

#[test]
fn unequal_failures_make_the_comparison_invalid() {
    let report = judge(with_failures(FailureRule::IgnoreAll, Outcome::Signalled(9)).unwrap());
    assert_eq!(primary(&report).undecided, Ok(Undecided::UnequalFailures));
    assert!(primary(&report).pairs < 100);
    assert!(
        matches!(report.warnings[0], Warning::Failures { command: 1, failed: 14..=15, .. }),
        "{:?}",
        report.warnings
    );
    // The table has one layout, and the pairs of both layouts add up to those of the verdict.
    let breakdown = &report.breakdowns[1];
    assert_eq!(breakdown.runs + breakdown.failures, report.blocks_of(breakdown.layout));
    assert!(Layout::ALL.iter().all(|layout| report.failed_blocks_of(*layout) > 0));
    let complete = Layout::ALL.map(|layout| report.blocks_of(layout) - report.failed_blocks_of(layout));
    assert_eq!(complete.iter().sum::<usize>(), primary(&report).pairs);
}

#[test]
fn more_time_is_no_remedy_for_commands_that_always_fail() {
    let text = |outcome: Outcome, blocks: usize| {
        let mut record = with_failures(FailureRule::IgnoreAll, outcome).unwrap();
        record.blocks.truncate(blocks);
        let runs = record.blocks.iter_mut().flat_map(|block| &mut block.runs);
        runs.filter(|run| run.command == 1).for_each(|run| run.outcome = outcome);
        steady_render::markdown::text(&steady_compare::document(&judge(record)))
    };
    let advice = [(Outcome::Signalled(9), "Make the commands succeed."), (Outcome::TimedOut, "set --timeout")];
    for ((outcome, advice), blocks) in advice.into_iter().flat_map(|each| [(each, 3), (each, 100)]) {
        let text = text(outcome, blocks);
        assert!(text.contains(advice) && !text.contains("too few for a verdict"), "{text}");
        assert!(!text.contains("--runs to") && !text.contains("gives more of them"), "{text}");
    }
}

/// Compares three commands in 300 rounds of duets. Every seventh run of some commands is killed.
fn in_duets(killed: [bool; 3]) -> Report {
    let mut plan = plan(3, 10.0, 16);
    (plan.effort, plan.layout, plan.failures) = (Effort::Pairs(300), Some(Layout::Duet), FailureRule::IgnoreAll);
    let mut machine = SimulatedMachine::new(&[0.010, 0.010, 0.020], Conditions::QUIET, 16);
    machine.failures = killed.map(|killed| killed.then_some((7, Outcome::Signalled(9)))).to_vec();
    judge(measure(&plan, &mut machine).unwrap())
}

/// In duets, a round has one run of the first command for each contender.
#[test]
fn failures_of_several_commands_are_compared_in_their_common_blocks() {
    let equal = in_duets([true, true, true]);
    let verdicts: Vec<Verdict> = equal.primary().map(|one| one.verdict).collect();
    assert_eq!(verdicts, [Verdict::Same, Verdict::Slower], "{:?}", equal.warnings);
    // The warnings have all failures.
    let failed = |report: &Report, of: usize| {
        let found = report.warnings.iter().find_map(|warning| match warning {
            Warning::Failures { command, failed, runs, .. } if *command == of => Some((*failed, *runs)),
            _ => None,
        });
        found.unwrap()
    };
    assert!(matches!(failed(&equal, 0), (85..=86, 600)), "{:?}", equal.warnings);
    assert!(matches!(failed(&equal, 2), (42..=43, 300)), "{:?}", equal.warnings);
    let unequal = in_duets([false, false, true]);
    let reasons: Vec<bool> = unequal.primary().map(|one| one.undecided == Ok(Undecided::UnequalFailures)).collect();
    assert_eq!(reasons, [false, true]);
    let text = steady_render::markdown::text(&steady_compare::document(&unequal)).replace('\u{a0}', " ");
    assert!(text.contains("but 0 of 300 runs of"), "{text}");
}

/// A run that was killed has no numbers. If it is ignored, the other runs show which metrics there are.
#[test]
fn a_run_that_was_killed_in_the_warm_up_does_not_show_that_a_metric_is_absent() {
    let mut plan = Plan { metrics: vec!["cost[ms]".parse().unwrap()], warmup: Some(3), ..plan(2, 5.0, 9) };
    (plan.effort, plan.failures) = (Effort::Pairs(40), FailureRule::IgnoreAll);
    let metric = plan.custom_metrics().next();
    plan.metric = metric;
    let measured = |every: u64, value_per_second: Vec<f64>| {
        let mut machine = SimulatedMachine::new(&[0.010, 0.010], Conditions::QUIET, 9);
        machine.failures[1] = Some((every, Outcome::Signalled(9)));
        machine.value_per_second = value_per_second;
        compare(&plan, setting(), &mut machine, &mut |_| {})
    };
    // Every third run: the last of the warm-up. Every run: nothing is known before the measuring.
    for every in [1, 3] {
        let record = measured(every, vec![1e5]).unwrap();
        assert_eq!((Some(record.primary), record.blocks.len()), (plan.metric, 40));
    }
    assert!(matches!(measured(3, vec![]), Err(CompareError::MetricAbsent { .. })));
}
