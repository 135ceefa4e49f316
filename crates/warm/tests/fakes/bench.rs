//! The bench on simulated launches: the measurements, their order, and the figures derived from them.

use std::collections::HashSet;

use steady_feature::Report;
use steady_feature::attended::AttendedCommand;
use steady_feature::flags::Form;
use steady_linux::{Root, host};
use steady_model::{Absent, Ending, Nanos, Seed, Timestamp, Verdict};
use steady_render::Style;
use steady_warm::bench::{BenchError, Context, Done, Event, LEAST_RUNS, SimulatedLauncher, judged, measure};
use steady_warm::{Bench, BenchPlan, BenchRecord, BenchSession, LaunchMode, Measure, ModeFigures};

fn plan(programs: usize, count: u32, runs: u32) -> Bench {
    let command = |at: usize| AttendedCommand {
        name: format!("p{at}"),
        argv: vec![format!("p{at}")],
        program: format!("/bin/p{at}").into(),
    };
    let plan = BenchPlan {
        count,
        runs,
        pause_seconds: Nanos::ZERO,
        cold: false,
        sync: false,
        timeout_seconds: Nanos(10_000_000_000),
    };
    Bench { programs: (0..programs).map(command).collect(), plan, seed: Seed(1) }
}

fn done(plan: &Bench, launcher: &mut SimulatedLauncher, events: &mut dyn FnMut(Event)) -> Done {
    let context = Context {
        host: host::probe(&Root::default()),
        started: Timestamp(0),
        revision: Err(Absent::because("it is simulated")),
        counters: Err(Absent::because("there is no PMU")),
    };
    measure(plan, context, launcher, events)
}

fn shown(plan: &Bench, launcher: &mut SimulatedLauncher) -> BenchRecord {
    judged(done(plan, launcher, &mut |_| ()).record)
}

fn figures(record: &BenchRecord, program: usize, mode: LaunchMode) -> &ModeFigures {
    record.programs[program].figures(mode).unwrap()
}

fn near(found: f64, expected: f64, off: f64) {
    assert!((found / expected - 1.0).abs() < off, "{found} is not near {expected}");
}

#[test]
fn simulated_costs_are_estimated_correctly() {
    let report = shown(&plan(1, 50, 40), &mut SimulatedLauncher::new(1));
    let (normal, prewarm) = (figures(&report, 0, LaunchMode::Normal), figures(&report, 0, LaunchMode::Prewarm));
    near(normal.mean(Measure::Wall).unwrap().mean, 505e-6, 0.01);
    near(prewarm.mean(Measure::Cpu).unwrap().mean, 151.5e-6, 0.01);
    // The start and the capture are divided by 50 launches.
    near(prewarm.mean(Measure::AllCpu).unwrap().mean, 151.5e-6 + 12_000e-6 * 0.9 / 50.0, 0.01);
    near(prewarm.mean(Measure::AllWall).unwrap().mean, 181.8e-6 + 12_000e-6 / 50.0, 0.01);
    assert_eq!((normal.warm_ratio.clone(), prewarm.warm_ratio.clone()), (Ok(0.0), Ok(1.0)));
    near(normal.mean(Measure::Wall).unwrap().deviation.unwrap(), 505e-6 * 0.05 / 12f64.sqrt(), 0.4);
    let effect = prewarm.effect(Measure::Wall).unwrap();
    near(1.0 + effect.change.clone().unwrap(), 0.36, 0.01);
    assert_eq!(effect.verdict, Verdict::Faster);
    assert!(effect.interval().unwrap().holds(0.36 - 1.0), "{effect:?}");
    assert!(normal.effects.is_empty() && normal.break_even.is_err());
}

#[test]
fn the_report_counts_as_many_sessions_as_the_progress() {
    let mut of = 0;
    let done = done(&plan(2, 5, 8), &mut SimulatedLauncher::new(1), &mut |event| of = event.of);
    let text = judged(done.record).rendered(Form::Text, Style { width: 1_000, color: false }, false);
    assert_eq!(of, 2 * (1 + 3 * (8 + 3)));
    assert!(text.contains(&format!("sessions         {of} in ")), "{text}");
    assert!(text.contains("for each program and mode, 8 for times and 3 for counts of events"), "{text}");
}

#[test]
fn a_capture_pays_for_itself_when_the_savings_reach_its_cost() {
    let report = shown(&plan(1, 50, 40), &mut SimulatedLauncher::new(2));
    // Two launches with the hook alone cost 40 more each, the later ones 320 less each.
    let on_demand = figures(&report, 0, LaunchMode::OnDemand).break_even.clone().unwrap();
    assert_eq!((&on_demand.wall.launches, &on_demand.wall.certain_launches), (&Ok(3), &Ok(3)));
    assert!(!on_demand.wall.extrapolated);
    // CPU time of 8,600 and 80, at 310 saved each time: 28 more launches.
    near(on_demand.cpu.capture_seconds.clone().unwrap(), 8_600e-6, 0.01);
    assert!(matches!(on_demand.cpu.launches, Ok(29..=31)) && !on_demand.cpu.extrapolated, "{on_demand:?}");
    // Prewarmed, the first launch waits 8,000, and each launch saves 320.
    let wall = figures(&report, 0, LaunchMode::Prewarm).break_even.clone().unwrap().wall;
    near(wall.capture_seconds.clone().unwrap(), 8_000e-6, 0.05);
    assert!(matches!(wall.launches, Ok(24..=27)) && !wall.extrapolated, "{wall:?}");
}

#[test]
fn a_break_even_beyond_the_measured_launches_is_an_extrapolation() {
    let report = shown(&plan(1, 10, 40), &mut SimulatedLauncher::new(3));
    let cpu = figures(&report, 0, LaunchMode::OnDemand).break_even.clone().unwrap().cpu;
    let is_far = matches!(cpu.launches, Ok(27..=33)) && cpu.extrapolated;
    assert!(is_far && cpu.certain_launches.is_err(), "{cpu:?}");
}

#[test]
fn the_least_number_of_runs_gives_intervals_and_one_less_names_it() {
    let interval = |runs: u32| {
        let report = shown(&plan(1, 5, runs), &mut SimulatedLauncher::new(10));
        figures(&report, 0, LaunchMode::Prewarm).effect(Measure::Wall).unwrap().interval()
    };
    assert!(interval(LEAST_RUNS).is_ok());
    let why = interval(LEAST_RUNS - 1).unwrap_err();
    assert!(why.0.contains("6 runs are too few") && why.0.contains("needs 7 or more"), "{why}");
}

#[test]
fn a_program_without_a_snapshot_is_reported_with_the_reason() {
    let mut launcher = SimulatedLauncher::new(4);
    launcher.refused = vec![1];
    let report = shown(&plan(2, 20, 20), &mut launcher);
    let notes = report.programs[1].notes.clone().unwrap();
    assert!(notes.iter().any(|note| note.contains("it is a static program")), "{notes:?}");
    let on_demand = figures(&report, 1, LaunchMode::OnDemand);
    assert_eq!(on_demand.effect(Measure::Wall).unwrap().verdict, Verdict::Slower);
    assert_eq!(on_demand.break_even, Err(Absent::because("no launch was from a snapshot")));
    assert_eq!(on_demand.warm_ratio, Ok(0.0));
    assert_eq!(report.programs[0].notes, Some(vec![]));
}

#[test]
fn a_reason_of_one_session_does_not_hold_for_all_modes() {
    let mut record = done(&plan(1, 20, 8), &mut SimulatedLauncher::new(4), &mut |_| ()).record;
    let trial = record.programs[0].samples.as_mut().unwrap();
    trial.refusal = Some("/usr/bin/true would be started from a snapshot".to_owned());
    assert_eq!(judged(record).programs[0].notes, Some(vec![]));
}

#[test]
fn a_snapshot_that_comes_too_late_is_reported() {
    let mut launcher = SimulatedLauncher::new(9);
    launcher.late = 20;
    let report = shown(&plan(1, 20, 8), &mut launcher);
    let notes = report.programs[0].notes.clone().unwrap();
    assert!(notes.len() == 1 && notes[0].contains("before the snapshot existed"), "{notes:?}");
}

#[test]
fn a_program_that_does_not_end_is_left_out_and_others_are_measured() {
    let mut launcher = SimulatedLauncher::new(5);
    launcher.endless = vec![0];
    let report = shown(&plan(2, 5, 8), &mut launcher);
    let why = report.programs[0].modes.as_ref().unwrap_err();
    assert!(why.0.contains("had not ended"), "{why}");
    assert!(report.programs[1].modes.is_ok());
}

#[test]
fn modes_come_in_every_order_and_the_same_seed_gives_the_same_order() {
    let plan = plan(1, 2, 60);
    let record = done(&plan, &mut SimulatedLauncher::new(6), &mut |_| ()).record;
    let order = |run: &[BenchSession]| run.iter().map(|session| session.mode).collect::<Vec<_>>();
    let trial = record.programs[0].samples.as_ref().unwrap();
    assert_eq!(trial.run_count(), 60);
    assert_eq!(trial.runs().map(order).collect::<HashSet<_>>().len(), 6);
    assert_eq!(done(&plan, &mut SimulatedLauncher::new(6), &mut |_| ()).record, record);
}

#[test]
fn a_machine_without_a_pmu_reports_that_and_counts_other_events() {
    let report = shown(&plan(1, 20, 8), &mut SimulatedLauncher::new(7));
    let normal = figures(&report, 0, LaunchMode::Normal);
    assert_eq!(normal.mean(Measure::Cycles), Err(Absent::because("there is no PMU")));
    near(normal.mean(Measure::Migrations).unwrap().mean, 0.1, 1e-9);
    assert_eq!(normal.mean(Measure::Migrations).unwrap().sessions, 3);
    near(normal.mean(Measure::Switches).unwrap().mean, 1.05, 1e-9);
}

#[test]
fn an_interrupted_bench_keeps_complete_sessions() {
    let mut last = 0;
    let mut launcher = SimulatedLauncher::new(8);
    launcher.interrupted_after = Some(24);
    let done = done(&plan(1, 5, 100), &mut launcher, &mut |event| {
        assert!(event.done > last && event.done <= event.of, "{event:?}");
        last = event.done;
    });
    assert_eq!((done.stopped, done.record.ending), (Some(BenchError::Interrupted), Ending::Interrupted));
    assert_eq!((last, done.record.programs[0].samples.as_ref().unwrap().run_count()), (24, 7));
    let report = judged(done.record);
    let why = figures(&report, 0, LaunchMode::Normal).mean(Measure::Migrations).unwrap_err();
    assert!(why.0.contains("no session was counted"), "{why}");
    let mut early = SimulatedLauncher::new(8);
    early.interrupted_after = Some(2);
    assert!(shown(&plan(1, 5, 100), &mut early).programs[0].modes.is_err());
}
