//! Comparisons on simulated machines with runs that fail.

use steady_compare::judge;
use steady_compare::run::CompareError;
use steady_model::{Effort, FailureRule, Layout, Nanos, Outcome, Record, Undecided, Verdict, Warning};
use steady_process::simulated::{Conditions, SimulatedMachine};

use crate::common::{measure, plan, primary};

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
