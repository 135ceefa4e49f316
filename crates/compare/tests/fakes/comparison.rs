//! Comparisons on simulated machines: verdicts, stopping, refusals.

use steady_compare::judge;
use steady_compare::run::{CompareError, Event, compare};
use steady_model::{
    Absent, Activity, Block, DecidedBy, Effort, Ending, FailIf, FailureRule, Hook, Layout, Metric, Moment, Nanos,
    Outcome, Output, PerCommand, Plan, Reading, Record, Report, Undecided, Verdict, Warning,
};
use steady_process::runner::{BlockSpec, RunError, RunnableTime, Runner, Traits};
use steady_process::simulated::{Conditions, SimulatedMachine, Snapshots};

use crate::common::{measure, plan, report, setting};

fn primary(report: &Report) -> &steady_model::Judgement {
    report.primary().next().unwrap()
}

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
fn both_layouts_are_used_and_the_more_precise_one_gets_more_time() {
    let biased = Conditions { cpu_bias: (0.2, 0.05), ..Conditions::QUIET };
    let mut plan = plan(2, 10.0, 5);
    plan.resolution = 1e-5;
    let report = report(&plan, &[0.010, 0.010], biased);
    let [turns, duet] = Layout::ALL.map(|layout| report.blocks_of(layout));
    assert!(duet >= 12 && turns > 3 * duet, "{turns} turns, {duet} duets");
}

#[test]
fn scripts_around_runs_and_output_files_exclude_duets() {
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
fn setup_and_cleanup_run_once_for_every_command() {
    let mut machine = SimulatedMachine::new(&[0.010, 0.020], Conditions::QUIET, 7);
    measure(&plan(2, 1.0, 7), &mut machine).unwrap();
    assert_eq!(machine.hooks, [(Hook::Setup, 0), (Hook::Setup, 1), (Hook::Cleanup, 0), (Hook::Cleanup, 1)]);
}

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

/// The run delay of multi-threaded commands is not measured.
#[test]
fn the_run_delay_names_its_commands_if_it_is_not_known_for_all() {
    let mut plan = plan(3, 1.0, 8);
    plan.metric = Some(Metric::Wall);
    let mut report = report(&plan, &[0.010; 3], Conditions { queueing: 1.0, ..Conditions::QUIET });
    let words = |report: &Report| {
        let text = steady_render::markdown::text(&steady_compare::document(report)).replace('\u{a0}', " ");
        let count = |what: &str| text.matches(what).count();
        [count("50 % of the runs' wall time"), count("50 % of the wall time of 'command 0' and 'command 2'")]
    };
    assert_eq!(words(&report), [2, 0], "the fact and the warning");
    for run in report.record.blocks.iter_mut().flat_map(|block| &mut block.runs).filter(|run| run.command == 1) {
        run.run_delay = Err(Absent::because("it is not known for commands with several threads"));
    }
    let report = judge(report.record);
    assert_eq!(words(&report), [0, 2]);
}

#[test]
fn a_shim_of_a_version_manager_gives_one_warning() {
    let shims = |programs: [&str; 2]| {
        let mut plan = plan(2, 1.0, 8);
        for (command, program) in plan.commands.iter_mut().zip(programs) {
            command.program = program.into();
        }
        let report = report(&plan, &[0.001, 0.001], Conditions::QUIET);
        let shim = |warning: &Warning| match warning {
            Warning::Shim { command } => Some(*command),
            _ => None,
        };
        report.warnings.iter().filter_map(shim).collect::<Vec<_>>()
    };
    let (python, ruby) = ("/root/.pyenv/shims/python3", "/home/me/.rbenv/shims/ruby");
    assert_eq!(shims([python, python]), [0]);
    assert_eq!(shims([ruby, python]), [0, 1]);
    assert_eq!(shims(["/usr/bin/python3", python]), [1]);
    assert!(shims(["/usr/bin/python3", "/opt/shims-1.0/bin/python3"]).is_empty());
}

#[test]
fn a_script_that_a_shim_runs_has_the_warning_too() {
    let mut plan = plan(3, 1.0, 8);
    let scripts =
        [("/bin/a", "/root/.pyenv/shims/python3"), ("/bin/b", "/bin/sh"), ("/bin/c", "/root/.pyenv/shims/python3")];
    for (command, (program, interpreter)) in plan.commands.iter_mut().zip(scripts) {
        (command.program, command.interpreter) = (program.into(), Some(interpreter.into()));
    }
    let report = report(&plan, &[0.001; 3], Conditions::QUIET);
    let is_shim = |warning: &&Warning| matches!(warning, Warning::Shim { .. });
    assert_eq!(report.warnings.iter().filter(is_shim).collect::<Vec<_>>(), [&Warning::Shim { command: 0 }]);
    let text = steady_render::markdown::text(&steady_compare::document(&report));
    assert!(text.contains("'/root/.pyenv/shims/python3', which runs '/bin/a', is a script"), "{text}");
}

#[test]
fn many_short_processes_have_no_user_and_system_time() {
    let record = report(&plan(2, 10.0, 8), &[0.15, 0.15], Conditions::QUIET).record;
    let user = |tick: Reading<Nanos>, tasks_started: Option<u64>, alone: bool| {
        let mut record = Record { tick, looks: vec![], ..record.clone() };
        for run in record.blocks.iter_mut().flat_map(|block| &mut block.runs) {
            run.tasks_started = tasks_started;
            if !alone {
                run.run_delay = Err(Absent::because("several processes"));
            }
        }
        let breakdown = judge(record).breakdowns.remove(0);
        assert_eq!(breakdown.user.is_ok(), breakdown.system.is_ok());
        breakdown.user.map_err(|absent| absent.0)
    };
    let tick = || Ok(Nanos(4_000_000));
    assert!(user(tick(), Some(2), false).is_ok() && user(tick(), Some(122), true).is_ok());
    assert!(user(Err(Absent::because("exact")), Some(122), false).is_ok());
    assert!(
        user(tick(), Some(122), false)
            .unwrap_err()
            .starts_with("up to 122 processes and threads, some perhaps of other programs")
    );
    assert!(user(tick(), None, false).unwrap_err().contains("were not counted"));
}

#[test]
fn unused_revisions_give_a_warning_if_there_were_runs() {
    let warned = |unused_revisions: bool, has_runs: bool| {
        let record = report(&plan(2, 1.0, 8), &[0.001, 0.001], Conditions::QUIET).record;
        let blocks = if has_runs { record.blocks.clone() } else { vec![] };
        judge(Record { unused_revisions, blocks, looks: vec![], ..record }).warnings.contains(&Warning::UnusedRevisions)
    };
    assert!(warned(true, true));
    assert!(!warned(false, true) && !warned(true, false));
}

#[test]
fn parts_that_a_shell_would_have_expanded_give_a_warning() {
    let parts = |name: &str, argv: &[&str]| {
        let mut plan = plan(2, 1.0, 8);
        plan.commands[1].name = name.to_owned();
        plan.commands[1].argv = argv.iter().map(|word| (*word).to_owned()).collect();
        let warnings = report(&plan, &[0.001, 0.001], Conditions::QUIET).warnings;
        warnings.into_iter().find_map(|warning| match warning {
            Warning::Unexpanded { command, parts } => Some((command, parts.join(" "))),
            _ => None,
        })
    };
    assert_eq!(parts("ls *.c $HOME", &["ls", "*.c", "$HOME"]), Some((1, "* $HOME".to_owned())));
    assert_eq!(parts("ls '*.c'", &["ls", "*.c"]), None);
    assert_eq!(parts("ls *.c", &["sh", "-c", "ls *.c"]), None);
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

#[test]
fn the_budget_holds_if_the_load_rises() {
    // Blocks become ten times longer when the load begins, so planned batches no longer fit.
    let step = Conditions { bursts: Some((1e9, 0.5, 10.0)), noise: 3e-4, ..Conditions::QUIET };
    let report = report(&plan(2, 2.0, 9), &[0.010, 0.010], step);
    assert!(report.record.elapsed < Nanos::from_seconds(2.3), "{:?}", report.record.elapsed);
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
fn a_single_command_is_measured_at_least_once_under_load() {
    let busy = Conditions { queueing: 3.0, ..Conditions::QUIET };
    let mut machine = SimulatedMachine::new(&[0.1], busy, 11);
    let report = judge(measure(&plan(1, 0.5, 11), &mut machine).unwrap());
    assert_eq!(report.runs(), 1, "the warm-up takes most of the budget");
    assert!((report.breakdowns[0].cpu.mean - 0.1).abs() < 0.01);
}

#[test]
fn waiting_commands_are_compared_by_elapsed_time_in_turns() {
    let waiting = Conditions { cpu_share: 0.2, ..Conditions::QUIET };
    let report = report(&plan(2, 5.0, 12), &[0.002, 0.003], waiting);
    assert_eq!((primary(&report).metric, report.blocks_of(Layout::Duet)), (Metric::Elapsed, 0));
    assert!(
        report.judgements.iter().any(|judgement| judgement.metric == Metric::Cpu),
        "there is no verdict on CPU time"
    );
    let text = steady_render::markdown::text(&steady_compare::document(&report));
    let rows: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next()).collect();
    let elapsed = rows.iter().position(|row| row.replace('\u{a0}', " ") == "elapsed time").expect(&text);
    let after: Vec<&str> = rows[elapsed + 1..elapsed + 4].iter().map(|row| row.trim()).collect();
    assert_eq!(after, ["deviation", "median", "range"]);
}

/// A machine that stalls during one of the warm-up blocks in turns, or on which the commands have parallel threads.
struct Stalling {
    machine: SimulatedMachine,
    /// The number of the block, from 1.
    stalled: usize,
    probed: usize,
    runnable: RunnableTime,
}

impl Runner for Stalling {
    fn probe(&mut self, block: &BlockSpec) -> Result<(Block, Vec<Traits>), RunError> {
        let (mut block, mut traits) = self.machine.probe(block)?;
        self.probed += 1;
        if self.probed == 1 {
            traits.iter_mut().for_each(|traits| traits.runnable = self.runnable);
        }
        if self.probed == self.stalled {
            block.runs.iter_mut().for_each(|run| {
                run.wall += Nanos::from_seconds(0.05);
                run.voluntary_switches += 2;
            });
        }
        Ok((block, traits))
    }

    fn now(&self) -> Nanos {
        self.machine.now()
    }

    fn run(&mut self, blocks: &[BlockSpec], done: &mut dyn FnMut(Block)) -> Result<(), RunError> {
        self.machine.run(blocks, done)
    }

    fn draw(&mut self) -> Result<Nanos, RunError> {
        self.machine.draw()
    }

    fn hook(&mut self, hook: Hook, command: usize) -> Result<(), RunError> {
        self.machine.hook(hook, command)
    }

    fn activity(&self) -> Activity {
        self.machine.activity()
    }

    fn moment(&mut self) -> Moment {
        self.machine.moment()
    }
}

#[test]
fn a_stall_during_the_warm_up_does_not_change_the_metric() {
    for stalled in 1..=3 {
        let machine = SimulatedMachine::new(&[0.002, 0.003], Conditions::QUIET, 15);
        let mut machine = Stalling { machine, stalled, probed: 0, runnable: RunnableTime::default() };
        let report = judge(compare(&plan(2, 2.0, 15), setting(), &mut machine, &mut |_| {}).unwrap());
        assert_eq!(primary(&report).metric, Metric::Cpu, "block {stalled}");
        assert!(machine.probed >= 3 && report.blocks_of(Layout::Duet) > 0, "block {stalled}");
    }
}

/// With n ticks in all runs, a part that none of them hit is up to 3 / n of the CPU time, with a confidence of 95 %.
#[test]
fn a_part_that_no_tick_hit_has_an_upper_limit() {
    let mut record = report(&plan(2, 2.0, 13), &[0.010, 0.020], Conditions::QUIET).record;
    record.tick = Ok(Nanos(4_000_000));
    let breakdown = judge(record.clone()).breakdowns.remove(0);
    let (system, ticks) = (breakdown.system.unwrap(), breakdown.runs as f64 * breakdown.cpu.mean / 0.004);
    assert_eq!((system.mean, system.interval.low), (0.0, 0.0));
    assert!((system.interval.high / (3.0 / ticks * breakdown.cpu.mean) - 1.0).abs() < 0.01, "{system:?}");
    let (user, cpu) = (breakdown.user.unwrap(), breakdown.cpu);
    assert!(user.interval.high <= cpu.interval.high + 1e-12, "{user:?} {cpu:?}");
    assert!((cpu.mean - user.interval.low) / system.interval.high > 0.99, "{user:?} {cpu:?}");
    record.tick = Err(Absent::because("the split is exact"));
    assert_eq!(judge(record).breakdowns.remove(0).system.unwrap().interval.high, 0.0);
}

#[test]
fn commands_on_several_cpus_exclude_duets() {
    let parallel = Conditions { cpu_share: 1.8, ..Conditions::QUIET };
    let report = report(&plan(2, 5.0, 13), &[0.010, 0.020], parallel);
    assert_eq!(report.blocks_of(Layout::Duet), 0);
    assert!(report.record.left_out[0].reason.contains("more than one CPU"));
}

/// On a busy machine, parallel threads may use less CPU time than wall time.
#[test]
fn commands_with_parallel_threads_exclude_duets() {
    let machine = SimulatedMachine::new(&[0.010, 0.020], Conditions { cpu_share: 0.5, ..Conditions::QUIET }, 13);
    let runnable = RunnableTime { any: Nanos(1_000_000), several: Nanos(100_000) };
    let mut machine = Stalling { machine, stalled: 0, probed: 0, runnable };
    let report = judge(compare(&plan(2, 5.0, 13), setting(), &mut machine, &mut |_| {}).unwrap());
    assert_eq!(report.blocks_of(Layout::Duet), 0);
    assert!(report.record.left_out[0].reason.contains("more than one CPU"));
}

#[test]
fn a_requested_layout_that_is_not_available_is_refused() {
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

#[test]
fn measuring_continues_until_the_limit_is_decided() {
    let mut plan = plan(2, 30.0, 17);
    plan.fail_if = Some(FailIf { verdict: Verdict::Slower, beyond: 0.012 });
    let noisy = Conditions { noise: 0.05, ..Conditions::QUIET };
    let report = report(&plan, &[0.010, 0.010 * 1.02], noisy);
    let interval = primary(&report).verdict_interval.clone().unwrap();
    assert!(interval.low > 0.012, "{interval:?}");
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
