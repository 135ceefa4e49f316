//! Verdicts of comparisons on simulated machines.

use steady_compare::judge;
use steady_compare::run::{CompareError, Event, compare};
use steady_model::{Absent, DecidedBy, Effort, Ending, Hook, Metric, Nanos, Undecided, Verdict, Warning};
use steady_process::runner::RunError;
use steady_process::simulated::{Conditions, SimulatedMachine};

use crate::common::{measure, plan, primary, report, setting};

#[test]
fn a_difference_is_measured_and_ends_the_comparison_early() {
    let report = report(&plan(2, 10.0, 1), &[0.010, 0.0105], Conditions::QUIET);
    let judgement = primary(&report);
    assert_eq!((judgement.verdict, judgement.metric), (Verdict::Slower, Metric::Cpu));
    assert!(judgement.interval.as_ref().unwrap().holds(0.05), "{judgement:?}");
    assert_eq!(report.record.ending, Ending::Decided);
    assert!(report.record.elapsed < Nanos::from_seconds(5.0), "{:?}", report.record.elapsed);
}

/// The least peak memory that a launcher can measure changes a little from run to run.
#[test]
fn a_metric_without_values_has_one_reason() {
    let report = report(&plan(2, 2.0, 1), &[0.010, 0.010], Conditions::QUIET);
    let mut record = report.record;
    for (place, block) in record.blocks.iter_mut().enumerate() {
        for run in &mut block.runs {
            let limit = if place == 0 { "3 MiB" } else { "2.5 MiB" };
            run.peak_memory = Err(Absent::because(format!("it is less than {limit}")));
        }
    }
    let report = judge(record);
    let reasons: Vec<_> = report.breakdowns.iter().map(|breakdown| breakdown.peak_memory.as_ref().err()).collect();
    let of_verdict = report.judgements.iter().find(|judgement| judgement.metric == Metric::Memory).unwrap();
    let expected = Absent::because("it is less than 2.5 MiB");
    assert_eq!(reasons, [Some(&expected); 2]);
    assert_eq!(of_verdict.change, Err(expected));
}

/// The usual run is 5 % cheaper, but expensive runs are more frequent. The mean decides.
#[test]
fn the_mean_decides_with_two_modes() {
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

/// Both commands have the same two modes. Whether one has expensive runs more often is not known.
#[test]
fn equal_modes_are_undecided_until_the_mean_is_known() {
    let mut machine = SimulatedMachine::new(&[0.010, 0.010], Conditions::QUIET, 22);
    machine.modes = vec![(0.1, 10.0), (0.1, 10.0)];
    let report = judge(measure(&plan(2, 5.0, 22), &mut machine).unwrap());
    assert_eq!((primary(&report).verdict, primary(&report).decided_by), (Verdict::Undecided, DecidedBy::Mean));
    assert!(report.record.elapsed > Nanos::from_seconds(4.5), "the comparison ended while the mean was uncertain");
}

/// Expensive runs are rare in both commands.
#[test]
fn the_usual_run_decides_with_rare_expensive_runs() {
    let mut machine = SimulatedMachine::new(&[0.010, 0.010], Conditions::QUIET, 22);
    machine.modes = vec![(0.03, 20.0), (0.03, 20.0)];
    let report = judge(measure(&plan(2, 5.0, 22), &mut machine).unwrap());
    assert_eq!((primary(&report).verdict, primary(&report).decided_by), (Verdict::Same, DecidedBy::UsualRun));
    assert!(report.record.elapsed > Nanos::from_seconds(4.5), "the comparison ended while the mean was uncertain");
    let uncertain = |warning: &Warning| matches!(warning, Warning::MeanUncertain { command: 1, metric: Metric::Cpu });
    assert!(report.warnings.iter().any(uncertain), "{:?}", report.warnings);
}

/// The usual run is 5 % cheaper. A few runs are so expensive that the mean is higher, but not certainly.
#[test]
fn a_mean_of_the_opposite_sign_gives_a_warning() {
    let mut warned = 0;
    for seed in 0..30 {
        let mut machine = SimulatedMachine::new(&[0.010, 0.0095], Conditions::QUIET, seed);
        machine.modes = vec![(0.0, 1.0), (0.03, 20.0)];
        let mut plan = plan(2, 1.0, seed);
        plan.effort = Effort::Pairs(60);
        let report = judge(measure(&plan, &mut machine).unwrap());
        let judgement = primary(&report);
        let is_opposite = judgement.verdict == Verdict::Faster && *judgement.mean.change.as_ref().unwrap() > 0.0;
        let given = |kind: fn(&Warning) -> bool| report.warnings.iter().any(kind);
        let warns = given(|one| matches!(one, Warning::MeanOtherWay { command: 1, metric: Metric::Cpu }));
        assert_eq!(warns, is_opposite, "{seed}: {judgement:?}");
        assert!(!(warns && given(|one| matches!(one, Warning::MeanUncertain { .. }))), "there are two warnings");
        warned += u32::from(warns);
    }
    assert!(warned > 5, "{warned}");
}

#[test]
fn equal_commands_are_same_within_the_resolution() {
    let report = report(&plan(2, 10.0, 2), &[0.010, 0.010], Conditions::QUIET);
    assert_eq!(primary(&report).verdict, Verdict::Same);
    assert!(primary(&report).within_resolution);
}

#[test]
fn too_much_noise_is_undecided_with_an_estimate_of_the_effort() {
    let noisy = Conditions { noise: 0.3, ..Conditions::QUIET };
    let report = report(&plan(2, 1.0, 31), &[0.010, 0.0101], noisy);
    let judgement = primary(&report);
    assert_eq!((judgement.verdict, &judgement.undecided), (Verdict::Undecided, &Ok(Undecided::TooWide)));
    assert!(*judgement.effort_to_settle.as_ref().unwrap() > 2.0);
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
fn setup_and_cleanup_run_once_for_every_command() {
    let mut machine = SimulatedMachine::new(&[0.010, 0.020], Conditions::QUIET, 7);
    measure(&plan(2, 1.0, 7), &mut machine).unwrap();
    assert_eq!(machine.hooks, [(Hook::Setup, 0), (Hook::Setup, 1), (Hook::Cleanup, 0), (Hook::Cleanup, 1)]);
}

#[test]
fn each_of_three_commands_is_compared_with_the_first() {
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
fn an_interrupted_comparison_evaluates_its_pairs() {
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

#[test]
fn progress_shows_a_narrowing_interval() {
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
