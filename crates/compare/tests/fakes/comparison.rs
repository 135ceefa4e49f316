//! The comparison on simulated machines: what it decides, when it stops, what it refuses.

use steady_compare::judge;
use steady_compare::run::{CompareError, Event, compare};
use steady_model::{
    Absent, DecidedBy, Effort, Ending, FailIf, FailureRule, Hook, Layout, Metric, Nanos, Outcome, Output, PerCommand,
    Plan, Record, Report, Undecided, Verdict, Warning,
};
use steady_process::runner::RunError;
use steady_process::simulated::{Conditions, SimulatedMachine, Snapshots};

use crate::common::{measure, plan, report, setting};

fn primary(report: &Report) -> &steady_model::Judgement {
    report.primary().next().unwrap()
}

#[test]
fn a_difference_is_found_and_measured_and_stops_the_run() {
    let report = report(&plan(2, 10.0, 1), &[0.010, 0.0105], Conditions::QUIET);
    let judgement = primary(&report);
    assert_eq!((judgement.verdict, judgement.metric), (Verdict::Slower, Metric::Cpu));
    assert!(judgement.interval.as_ref().unwrap().holds(0.05), "{judgement:?}");
    assert_eq!(report.record.ending, Ending::Decided);
    assert!(report.record.elapsed < Nanos::from_seconds(5.0), "{:?}", report.record.elapsed);
}

/// The usual run is 5 % cheaper, and expensive runs are more frequent: the report is about what all runs cost.
#[test]
fn two_modes_are_judged_by_the_mean() {
    let bursts = Conditions { bursts: Some((0.1, 0.2, 1.3)), ..Conditions::QUIET };
    let mut machine = SimulatedMachine::new(&[0.010, 0.0095], bursts, 21);
    machine.modes = vec![(0.05, 20.0), (0.2, 20.0)];
    let mut plan = plan(2, 20.0, 21);
    plan.fail_if = "slower>50%".parse().ok();
    let report = judge(measure(&plan, &mut machine).unwrap());
    let judgement = primary(&report);
    assert_eq!((judgement.verdict, judgement.decided_by), (Verdict::Slower, DecidedBy::Mean), "{judgement:?}");
    // 0.95 * (1 + 0.2 * 19) / (1 + 0.05 * 19) = 2.34.
    assert!(judgement.interval.as_ref().unwrap().holds(1.34), "{judgement:?}");
    assert_eq!(judgement.interval, judgement.mean.interval);
    assert!(judgement.usual.interval.as_ref().unwrap().holds(-0.05), "{judgement:?}");
    assert_eq!(judge(report.record.clone()), report);
}

/// The same modes in both commands: whether they differ is up to the usual run.
#[test]
fn equal_modes_leave_the_verdict_to_the_usual_run() {
    let mut machine = SimulatedMachine::new(&[0.010, 0.010], Conditions::QUIET, 22);
    machine.modes = vec![(0.1, 10.0), (0.1, 10.0)];
    let report = judge(measure(&plan(2, 5.0, 22), &mut machine).unwrap());
    assert_eq!((primary(&report).verdict, primary(&report).decided_by), (Verdict::Same, DecidedBy::UsualRun));
    assert!(report.record.elapsed > Nanos::from_seconds(4.5), "the mean is open to the end of the budget");
    let uncertain = |warning: &Warning| matches!(warning, Warning::MeanUncertain { command: 1, metric: Metric::Cpu });
    assert!(report.warnings.iter().any(uncertain), "{:?}", report.warnings);
}

/// The usual run is 5 % cheaper, and a few runs are so expensive that the mean is higher, though not for certain.
#[test]
fn a_mean_of_the_other_sign_is_warned_of() {
    let mut warned = 0;
    for seed in 0..30 {
        let mut machine = SimulatedMachine::new(&[0.010, 0.0095], Conditions::QUIET, seed);
        machine.modes = vec![(0.0, 1.0), (0.03, 20.0)];
        let mut plan = plan(2, 1.0, seed);
        plan.effort = Effort::Pairs(60);
        let report = judge(measure(&plan, &mut machine).unwrap());
        let judgement = primary(&report);
        let other_way = judgement.verdict == Verdict::Faster && *judgement.mean.change.as_ref().unwrap() > 0.0;
        let given = |kind: fn(&Warning) -> bool| report.warnings.iter().any(kind);
        let warns = given(|one| matches!(one, Warning::MeanOtherWay { command: 1, metric: Metric::Cpu }));
        assert_eq!(warns, other_way, "{seed}: {judgement:?}");
        assert!(!(warns && given(|one| matches!(one, Warning::MeanUncertain { .. }))), "one of them is enough");
        warned += u32::from(warns);
    }
    assert!(warned > 5, "{warned}");
}

#[test]
fn equal_commands_are_the_same_within_the_resolution() {
    let report = report(&plan(2, 10.0, 2), &[0.010, 0.010], Conditions::QUIET);
    assert_eq!(primary(&report).verdict, Verdict::Same);
    assert!(primary(&report).within_resolution);
}

#[test]
fn noise_beyond_the_budget_is_undecided_and_names_the_budget() {
    let noisy = Conditions { noise: 0.3, ..Conditions::QUIET };
    let report = report(&plan(2, 1.0, 3), &[0.010, 0.0101], noisy);
    let judgement = primary(&report);
    assert_eq!((judgement.verdict, judgement.undecided), (Verdict::Undecided, Some(Undecided::TooWide)));
    assert!(judgement.effort_to_settle.unwrap() > 2.0);
    assert_eq!(report.record.ending, Ending::Spent);
    assert!((report.record.elapsed.seconds() - 1.0).abs() < 0.1);
}

#[test]
fn the_same_record_gives_the_same_report_again() {
    let bursts = Conditions { bursts: Some((0.1, 0.2, 1.5)), hit_per_mille: 50, ..Conditions::QUIET };
    let first = report(&plan(3, 2.0, 4), &[0.010, 0.010, 0.011], bursts);
    assert_eq!(judge(first.record.clone()), first);
}

#[test]
fn both_layouts_are_used_and_the_sharper_one_gets_more() {
    let biased = Conditions { cpu_bias: (0.2, 0.05), ..Conditions::QUIET };
    let mut plan = plan(2, 5.0, 5);
    plan.resolution = 1e-5;
    let report = report(&plan, &[0.010, 0.010], biased);
    let [turns, duet] = Layout::ALL.map(|layout| report.blocks_of(layout));
    assert!(duet >= 12 && turns > 3 * duet, "{turns} turns, {duet} duets");
}

#[test]
fn what_runs_around_and_files_that_are_written_keep_to_turns() {
    let change: [fn(&mut Plan); 3] = [
        |plan| plan.prepare = PerCommand(vec!["sync".to_owned()]),
        |plan| plan.conclude = PerCommand(vec!["sync".to_owned()]),
        |plan| plan.output = PerCommand(vec![Output::File("/x".into())]),
    ];
    for change in change {
        let mut plan = plan(2, 1.0, 6);
        change(&mut plan);
        let report = report(&plan, &[0.010, 0.020], Conditions::QUIET);
        assert_eq!(report.blocks_of(Layout::Duet), 0, "{:?}", report.record.left_out);
    }
}

#[test]
fn hooks_are_run_for_every_command_and_cleaned_up_after() {
    let mut machine = SimulatedMachine::new(&[0.010, 0.020], Conditions::QUIET, 7);
    measure(&plan(2, 1.0, 7), &mut machine).unwrap();
    assert_eq!(machine.hooks, [(Hook::Setup, 0), (Hook::Setup, 1), (Hook::Cleanup, 0), (Hook::Cleanup, 1)]);
}

#[test]
fn a_number_of_pairs_is_measured_exactly() {
    let mut plan = plan(2, 1.0, 6);
    plan.effort = Effort::Pairs(37);
    let report = report(&plan, &[0.010, 0.020], Conditions::QUIET);
    assert_eq!(report.record.blocks.len(), 37);
    assert_eq!(primary(&report).pairs, 37);
    assert_eq!(primary(&report).verdict, Verdict::Slower);
}

#[test]
fn fewer_than_six_pairs_give_no_verdict() {
    let mut plan = plan(2, 1.0, 7);
    plan.effort = Effort::Pairs(5);
    let report = report(&plan, &[0.010, 0.030], Conditions::QUIET);
    assert_eq!(primary(&report).undecided, Some(Undecided::TooFewPairs));
    assert_eq!(report.warnings, [Warning::TooFewPairs { pairs: 5 }]);
}

#[test]
fn a_budget_that_holds_too_few_pairs_is_refused_with_one_that_would_do() {
    let mut machine = SimulatedMachine::new(&[3.0, 3.0], Conditions::QUIET, 8);
    let error = measure(&plan(2, 10.0, 8), &mut machine).unwrap_err();
    let CompareError::BudgetTooSmall { per_pair, budget, needed } = error else { panic!("{error}") };
    assert!(6.0 * per_pair.seconds() > budget.seconds() && budget < needed, "{error}");
    let mut machine = SimulatedMachine::new(&[3.0, 3.0], Conditions::QUIET, 8);
    let again = measure(&plan(2, needed.seconds(), 8), &mut machine).unwrap();
    assert!(again.blocks.len() >= 6);
    assert!(again.elapsed.seconds() <= needed.seconds() * 1.05);
}

/// A pair takes 0.2 s, and 5 s while the machine is busy: the budget of 10 s holds one.
#[test]
fn a_budget_that_load_makes_too_small_is_exceeded_and_not_refused() {
    let busy = |queueing| Conditions { queueing, ..Conditions::QUIET };
    let mut machine = SimulatedMachine::new(&[0.1, 0.1], busy(14.0), 8);
    let enough = judge(measure(&plan(2, 10.0, 8), &mut machine).unwrap());
    assert_eq!((enough.record.blocks.len(), enough.record.ending), (6, Ending::Spent));
    let exceeded = |report: &Report| report.warnings.iter().any(|one| matches!(one, Warning::BudgetExceeded { .. }));
    assert!(enough.record.elapsed.seconds() > 10.0 && exceeded(&enough), "{:?}", enough.warnings);

    let mut machine = SimulatedMachine::new(&[0.1, 0.1], busy(24.0), 8);
    let few = judge(measure(&plan(2, 10.0, 8), &mut machine).unwrap());
    assert_eq!(primary(&few).undecided, Some(Undecided::TooFewPairs), "twice the budget is the limit");
    assert!((15.0..=20.5).contains(&few.record.elapsed.seconds()), "{:?}", few.record.elapsed);
    assert!(exceeded(&few));
}

/// A pair takes 0.02 s to 0.2 s, or on the busy machine up to 0.5 s: the budget of 1 s holds six of the cheap ones.
#[test]
fn a_budget_that_holds_the_cheap_runs_is_not_refused_because_of_the_expensive_ones() {
    for (seed, queueing) in (0..200).zip([0.0, 0.5, 1.5, 4.0].into_iter().cycle()) {
        let mut machine = SimulatedMachine::new(&[0.01, 0.01], Conditions { queueing, ..Conditions::QUIET }, seed);
        machine.modes = vec![(0.5, 10.0); 2];
        let record = measure(&plan(2, 1.0, seed), &mut machine).unwrap_or_else(|error| panic!("{seed}: {error}"));
        assert!(record.elapsed.seconds() < 3.0, "{:?}", record.elapsed);
    }
    // The expensive runs alone are too much for it.
    let mut machine = SimulatedMachine::new(&[0.1, 0.1], Conditions::QUIET, 8);
    assert!(matches!(measure(&plan(2, 1.0, 8), &mut machine), Err(CompareError::BudgetTooSmall { .. })));
}

#[test]
fn a_draw_that_costs_more_than_the_budget_leaves_it_undecided() {
    let mut machine = SimulatedMachine::new(&[0.001, 0.001], Conditions::QUIET, 8);
    machine.snapshots = Some(Snapshots { luck: 0.0, start_up: 0.0, drawing: 0.7 });
    let mut plan = plan(2, 1.0, 8);
    plan.warm = true;
    let few = judge(measure(&plan, &mut machine).unwrap());
    assert_eq!(primary(&few).undecided, Some(Undecided::TooFewPairs));
    assert!(few.warnings.iter().any(|one| matches!(one, Warning::BudgetExceeded { .. })), "{:?}", few.warnings);
}

/// A run is ended at the end of the budget: by itself it needs a hundredth of that on the busy machine.
#[test]
fn a_run_that_load_keeps_from_its_end_leaves_it_undecided() {
    for (every, failures) in [(1, FailureRule::Abort), (1, FailureRule::IgnoreAll), (30, FailureRule::Abort)] {
        let mut plan = plan(2, 10.0, 8);
        plan.failures = failures;
        let measured = |queueing| {
            let mut machine = SimulatedMachine::new(&[0.1, 0.1], Conditions { queueing, ..Conditions::QUIET }, 8);
            machine.failures[1] = Some((every, Outcome::TimedOut));
            measure(&plan, &mut machine)
        };
        let report = judge(measured(99.0).unwrap());
        assert_eq!(primary(&report).undecided, Some(Undecided::TooFewPairs));
        assert_eq!(report.record.ending, Ending::Spent);
        assert!(!report.warnings.iter().any(|one| matches!(one, Warning::Failures { .. })), "{:?}", report.warnings);
    }
    // What uses the CPU or waits for something else for all of its time is the command's own doing.
    for cpu_share in [1.0, 0.001] {
        let mut machine =
            SimulatedMachine::new(&[10.0 * cpu_share; 2], Conditions { cpu_share, ..Conditions::QUIET }, 8);
        machine.failures[1] = Some((1, Outcome::TimedOut));
        let error = measure(&plan(2, 10.0, 8), &mut machine).unwrap_err();
        assert_eq!(error, CompareError::Failed { command: 1, outcome: Outcome::TimedOut });
    }
}

#[test]
fn a_step_in_the_load_does_not_break_the_budget() {
    // Blocks become ten times longer once the load is on: what was planned no longer fits.
    let step = Conditions { bursts: Some((1e9, 0.5, 10.0)), noise: 3e-4, ..Conditions::QUIET };
    let report = report(&plan(2, 2.0, 9), &[0.010, 0.010], step);
    assert!(report.record.elapsed < Nanos::from_seconds(2.3), "{:?}", report.record.elapsed);
}

#[test]
fn three_commands_are_each_judged_against_the_first() {
    let report = report(&plan(3, 10.0, 10), &[0.010, 0.010, 0.009], Conditions::QUIET);
    let verdicts: Vec<_> = report.primary().map(|judgement| (judgement.command, judgement.verdict)).collect();
    assert_eq!(verdicts, [(1, Verdict::Same), (2, Verdict::Faster)]);
}

#[test]
fn one_command_is_measured_without_a_verdict() {
    let report = report(&plan(1, 1.0, 11), &[0.010], Conditions::QUIET);
    assert!(report.judgements.is_empty());
    assert!((report.breakdowns[0].cpu.mean - 0.010).abs() < 0.0005);
}

#[test]
fn one_command_is_measured_at_least_once_however_busy_the_machine_is() {
    let busy = Conditions { queueing: 3.0, ..Conditions::QUIET };
    let mut machine = SimulatedMachine::new(&[0.1], busy, 11);
    let report = judge(measure(&plan(1, 0.5, 11), &mut machine).unwrap());
    assert_eq!(report.runs(), 1, "the warm-up took most of the budget");
    assert!((report.breakdowns[0].cpu.mean - 0.1).abs() < 0.01);
}

#[test]
fn waiting_commands_are_judged_by_elapsed_time_in_turns() {
    let waiting = Conditions { cpu_share: 0.2, ..Conditions::QUIET };
    let report = report(&plan(2, 5.0, 12), &[0.002, 0.003], waiting);
    assert_eq!((primary(&report).metric, report.blocks_of(Layout::Duet)), (Metric::Elapsed, 0));
    assert!(report.judgements.iter().any(|judgement| judgement.metric == Metric::Cpu), "CPU is always told");
}

#[test]
fn several_cpus_at_once_keep_to_turns() {
    let parallel = Conditions { cpu_share: 1.8, ..Conditions::QUIET };
    let report = report(&plan(2, 5.0, 13), &[0.010, 0.020], parallel);
    assert_eq!(report.blocks_of(Layout::Duet), 0);
    assert!(report.record.left_out[0].reason.contains("more than one CPU"));
}

#[test]
fn what_cannot_be_had_is_refused_when_asked_for() {
    let mut setting = setting();
    setting.duets = Err(Absent::because("one CPU"));
    let mut machine = SimulatedMachine::new(&[0.01, 0.01], Conditions::QUIET, 14);
    let mut plan = plan(2, 1.0, 14);
    let report = judge(compare(&plan, setting.clone(), &mut machine, &mut |_| {}).unwrap());
    assert_eq!(report.blocks_of(Layout::Duet), 0);
    plan.layout = Some(Layout::Duet);
    let error = compare(&plan, setting, &mut machine, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("one CPU"), "{error}");
}

#[test]
fn an_interruption_keeps_what_there_is() {
    let mut machine = SimulatedMachine::new(&[0.010, 0.020], Conditions::QUIET, 15);
    machine.interrupt_after = Some(40);
    let mut plan = plan(2, 60.0, 15);
    plan.effort = Effort::Pairs(1000);
    let report = judge(measure(&plan, &mut machine).unwrap());
    assert_eq!((report.record.ending, primary(&report).verdict), (Ending::Interrupted, Verdict::Slower));
    assert_eq!(report.warnings, [Warning::Interrupted]);
    let mut machine = SimulatedMachine::new(&[0.010, 0.020], Conditions::QUIET, 15);
    machine.interrupt_after = Some(1);
    plan.prepare = steady_model::PerCommand::NONE;
    assert_eq!(measure(&plan, &mut machine).unwrap_err(), CompareError::Run(RunError::Interrupted));
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
    assert_eq!(report.warnings, []);
}

#[test]
fn unequal_failures_make_the_comparison_invalid() {
    let report = judge(with_failures(FailureRule::IgnoreAll, Outcome::Signalled(9)).unwrap());
    assert_eq!(primary(&report).undecided, Some(Undecided::UnequalFailures));
    assert!(primary(&report).pairs < 100);
    assert!(
        matches!(report.warnings[0], Warning::Failures { command: 1, failed: 14..=15, .. }),
        "{:?}",
        report.warnings
    );
}

#[test]
fn a_limit_is_decided_on_as_well_as_the_sign() {
    let mut plan = plan(2, 30.0, 17);
    plan.fail_if = Some(FailIf { verdict: Verdict::Slower, beyond: 0.012 });
    let noisy = Conditions { noise: 0.05, ..Conditions::QUIET };
    let report = report(&plan, &[0.010, 0.010 * 1.02], noisy);
    let interval = primary(&report).verdict_interval.clone().unwrap();
    assert!(interval.low > 0.012, "{interval:?}");
}

#[test]
fn progress_is_told_as_the_interval_narrows() {
    let mut machine = SimulatedMachine::new(&[0.010, 0.010], Conditions { noise: 0.1, ..Conditions::QUIET }, 18);
    let mut plan = plan(2, 5.0, 18);
    plan.resolution = 1e-4;
    let mut widths = Vec::new();
    compare(&plan, setting(), &mut machine, &mut |event| {
        if let Event::Measured(progress) = event {
            widths.extend(progress.effects[0].map(|(_, interval)| interval.half_width()));
        }
    })
    .unwrap();
    assert!(widths.len() > 10 && widths.len() < 60);
    assert!(widths.last().unwrap() < &(widths[0] / 2.0));
}
