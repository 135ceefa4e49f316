//! What keeping programs warm gains, on simulated launches: what is measured, in which order, what is told of it.

use std::collections::HashSet;

use steady_linux::{Root, host};
use steady_model::{
    Absent, Command, Ending, Nanos, PaidBack, Seed, Timestamp, Verdict, WarmBenchPlan, WarmBenchReport, WarmFigures,
    WarmMeasure, WarmMode,
};
use steady_warm::bench::{Done, Event, Setting, SimulatedLauncher, WarmBenchError, measure, report};

fn plan(programs: usize, count: u32, runs: u32) -> WarmBenchPlan {
    let command = |at: usize| Command { name: format!("p{at}"), argv: vec![format!("p{at}")], ..Command::default() };
    WarmBenchPlan {
        programs: (0..programs).map(command).collect(),
        count,
        runs,
        pause: Nanos::ZERO,
        cold: false,
        timeout: Nanos(10_000_000_000),
        seed: Seed(1),
    }
}

fn done(plan: &WarmBenchPlan, launcher: &mut SimulatedLauncher, events: &mut dyn FnMut(Event)) -> Done {
    let setting = Setting {
        host: host::probe(&Root::default()),
        started: Timestamp(0),
        revision: Err(Absent::because("it is simulated")),
        counters: Err(Absent::because("there is no PMU")),
    };
    measure(plan, setting, launcher, events)
}

fn shown(plan: &WarmBenchPlan, launcher: &mut SimulatedLauncher) -> WarmBenchReport {
    report(done(plan, launcher, &mut |_| ()).record)
}

fn figures(report: &WarmBenchReport, program: usize, mode: WarmMode) -> &WarmFigures {
    report.programs[program].as_ref().unwrap().modes.iter().find(|figures| figures.mode == mode).unwrap()
}

fn near(found: f64, expected: f64, off: f64) {
    assert!((found / expected - 1.0).abs() < off, "{found} is not near {expected}");
}

#[test]
fn what_is_simulated_is_found_again() {
    let report = shown(&plan(1, 50, 40), &mut SimulatedLauncher::new(1));
    let (normal, prewarm) = (figures(&report, 0, WarmMode::Normal), figures(&report, 0, WarmMode::Prewarm));
    near(normal.mean(WarmMeasure::Wall).unwrap().mean, 505e-6, 0.01);
    near(prewarm.mean(WarmMeasure::Cpu).unwrap().mean, 151.5e-6, 0.01);
    // The start and the taking are shared out over 50 launches.
    near(prewarm.mean(WarmMeasure::AllCpu).unwrap().mean, 151.5e-6 + 12_000e-6 * 0.9 / 50.0, 0.01);
    near(prewarm.mean(WarmMeasure::AllWall).unwrap().mean, 181.8e-6 + 12_000e-6 / 50.0, 0.01);
    assert_eq!((normal.warm_ratio.clone(), prewarm.warm_ratio.clone()), (Ok(0.0), Ok(1.0)));
    near(normal.mean(WarmMeasure::Wall).unwrap().deviation.unwrap(), 505e-6 * 0.05 / 12f64.sqrt(), 0.4);
    let effect = prewarm.effect(WarmMeasure::Wall).unwrap();
    near(1.0 + effect.change.clone().unwrap(), 0.36, 0.01);
    assert_eq!(effect.verdict, Verdict::Faster);
    assert!(effect.interval.clone().unwrap().holds(0.36 - 1.0), "{effect:?}");
    assert!(normal.effects.is_empty() && normal.break_even.is_err());
}

#[test]
fn the_taking_is_paid_back_when_the_savings_reach_it() {
    let report = shown(&plan(1, 50, 40), &mut SimulatedLauncher::new(2));
    // Two launches with the hook alone, 40 dearer each, then 320 cheaper each.
    let [wall, cpu] = figures(&report, 0, WarmMode::OnDemand).break_even.clone().unwrap();
    assert_eq!((wall.paid_back, wall.certain), (PaidBack::After(3), Some(3)));
    // 8,600 and 80 of CPU time at 310 each: 28 launches more.
    near(cpu.taking, 8_600e-6, 0.01);
    assert!(matches!(cpu.paid_back, PaidBack::After(29..=31)), "{cpu:?}");
    // Taken before: 8,000 waited for, at 320 each.
    let [wall, _] = figures(&report, 0, WarmMode::Prewarm).break_even.clone().unwrap();
    near(wall.taking, 8_000e-6, 0.05);
    assert!(matches!(wall.paid_back, PaidBack::After(24..=27)), "{wall:?}");
}

#[test]
fn beyond_what_was_measured_it_is_an_extrapolation() {
    let report = shown(&plan(1, 10, 40), &mut SimulatedLauncher::new(3));
    let [_, cpu] = figures(&report, 0, WarmMode::OnDemand).break_even.clone().unwrap();
    assert!(matches!(cpu.paid_back, PaidBack::Probably(27..=33)) && cpu.certain.is_none(), "{cpu:?}");
}

#[test]
fn a_program_without_a_snapshot_is_told_with_its_reason() {
    let mut launcher = SimulatedLauncher::new(4);
    launcher.refused = vec![1];
    let report = shown(&plan(2, 20, 20), &mut launcher);
    let refused = report.programs[1].as_ref().unwrap();
    assert!(refused.notes.iter().any(|note| note.contains("it is a static program")), "{:?}", refused.notes);
    let on_demand = figures(&report, 1, WarmMode::OnDemand);
    assert_eq!(on_demand.effect(WarmMeasure::Wall).unwrap().verdict, Verdict::Slower);
    assert_eq!(on_demand.break_even, Err(Absent::because("no launch was from a snapshot")));
    assert_eq!(on_demand.warm_ratio, Ok(0.0));
    assert!(report.programs[0].as_ref().unwrap().notes.is_empty());
}

#[test]
fn a_snapshot_that_comes_too_late_is_told() {
    let mut launcher = SimulatedLauncher::new(9);
    launcher.late = 20;
    let report = shown(&plan(1, 20, 8), &mut launcher);
    let notes = &report.programs[0].as_ref().unwrap().notes;
    assert!(notes.len() == 1 && notes[0].contains("before the snapshot was there"), "{notes:?}");
}

#[test]
fn a_program_that_does_not_end_is_left_out_and_the_others_are_not() {
    let mut launcher = SimulatedLauncher::new(5);
    launcher.endless = vec![0];
    let report = shown(&plan(2, 5, 8), &mut launcher);
    assert!(report.programs[0].as_ref().unwrap_err().0.contains("had not ended"), "{:?}", report.programs[0]);
    assert!(report.programs[1].is_ok());
}

#[test]
fn modes_come_in_every_order_and_a_seed_gives_the_same_again() {
    let plan = plan(1, 2, 60);
    let record = done(&plan, &mut SimulatedLauncher::new(6), &mut |_| ()).record;
    let order = |run: &steady_model::WarmRun| run.0.iter().map(|session| session.mode).collect::<Vec<_>>();
    let runs = &record.trials[0].as_ref().unwrap().runs;
    assert_eq!(runs.len(), 60);
    assert_eq!(runs.iter().map(order).collect::<HashSet<_>>().len(), 6);
    assert_eq!(done(&plan, &mut SimulatedLauncher::new(6), &mut |_| ()).record, record);
}

#[test]
fn a_machine_without_a_pmu_says_so_and_counts_the_rest() {
    let report = shown(&plan(1, 20, 8), &mut SimulatedLauncher::new(7));
    let normal = figures(&report, 0, WarmMode::Normal);
    assert_eq!(normal.mean(WarmMeasure::Cycles), Err(Absent::because("there is no PMU")));
    near(normal.mean(WarmMeasure::Migrations).unwrap().mean, 0.1, 1e-9);
    assert_eq!(normal.mean(WarmMeasure::Migrations).unwrap().sessions, 3);
    near(normal.mean(WarmMeasure::Switches).unwrap().mean, 1.05, 1e-9);
}

#[test]
fn an_interruption_keeps_what_is_whole() {
    let mut last = 0;
    let mut launcher = SimulatedLauncher::new(8);
    launcher.interrupted_after = Some(24);
    let done = done(&plan(1, 5, 100), &mut launcher, &mut |event| {
        assert!(event.done > last && event.done <= event.of, "{event:?}");
        last = event.done;
    });
    assert_eq!((done.stopped, done.record.ending), (Some(WarmBenchError::Interrupted), Ending::Interrupted));
    assert_eq!((last, done.record.trials[0].as_ref().unwrap().runs.len()), (24, 7));
    let report = report(done.record);
    let why = figures(&report, 0, WarmMode::Normal).mean(WarmMeasure::Migrations).unwrap_err();
    assert!(why.0.contains("no session was counted"), "{why}");
    let mut early = SimulatedLauncher::new(8);
    early.interrupted_after = Some(2);
    assert!(shown(&plan(1, 5, 100), &mut early).programs[0].is_err());
}
