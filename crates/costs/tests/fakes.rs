//! Experiments on simulated probes: costs, order, budget, interruptions and prices.

use steady_costs::prices::{self, Priced, Prices};
use steady_costs::{
    Affinity, Circumstances, Cost, CostsError, CostsPlan, CostsRecord, Done, Event, FEWEST, LengthReason, Repetition,
    SimulatedProbes, judged, measure,
};
use steady_linux::{Root, host, topology};
use steady_model::{Absent, AluTime, Ending, Nanos, Probe, Reading, Seed, Timestamp};

const PROBES: [Probe; 4] = [Probe::FunctionCall, Probe::SystemCall, Probe::ProcessSwitch, Probe::ForkExit];

fn cost(probe: Probe) -> f64 {
    match probe {
        Probe::FunctionCall => 1e-9,
        Probe::SystemCall => 100e-9,
        Probe::ProcessSwitch => 1e-6,
        _ => 70e-6,
    }
}

fn plan(budget: f64) -> CostsPlan {
    CostsPlan {
        probes: PROBES.to_vec(),
        repetitions: 100,
        budget_seconds: Nanos::from_seconds(budget),
        sweep: false,
        as_published: false,
    }
}

fn circumstances(seed: u64) -> Circumstances {
    Circumstances {
        host: host::probe(&Root::default()),
        machine: topology::machine(&Root::default(), None),
        started: Timestamp(0),
        revision: Err(Absent::because("simulated")),
        clocks: vec![],
        affinity: Affinity { cpu: 0, other_cpu: Err(Absent::because("there is one CPU")) },
        seed: Seed(seed),
    }
}

fn done(plan: &CostsPlan, probes: &mut SimulatedProbes) -> Done {
    measure(plan, circumstances(1), probes, &mut |_| ())
}

fn shown(plan: &CostsPlan, probes: &mut SimulatedProbes) -> CostsRecord {
    judged(done(plan, probes).record)
}

fn repetitions(done: &Done, probe: Probe) -> Vec<Repetition> {
    let found = done.record.probes.iter().find(|one| one.probe == probe);
    found.unwrap().samples.clone().unwrap_or_default()
}

#[test]
fn measured_costs_are_the_simulated_costs() {
    let record = shown(&plan(15.0), &mut SimulatedProbes::new(cost));
    for probe in &record.probes {
        let found = probe.cost.as_ref().unwrap();
        let probe = &probe.probe;
        assert!((found.median_seconds / cost(*probe) - 1.0).abs() < 0.02, "{probe:?}: {found:?}");
        assert_eq!((found.repetitions, found.set_apart, found.all_disturbed), (100, 0, false));
    }
    assert_eq!(record.ending, Ending::Spent);
    assert!(record.probes.iter().all(|probe| probe.against_longest.is_none()));
}

#[test]
fn disturbed_repetitions_do_not_move_the_cost() {
    let mut probes = SimulatedProbes::new(cost);
    probes.disturbed = 0.2;
    let record = shown(&plan(60.0), &mut probes);
    for probe in &record.probes {
        let found = probe.cost.as_ref().unwrap();
        let probe = &probe.probe;
        assert!(
            (found.median_seconds / cost(*probe) - 1.0).abs() < 0.02 && found.set_apart > 10,
            "{probe:?}: {found:?}"
        );
    }
}

#[test]
fn a_short_budget_leads_to_fewer_repetitions_and_is_kept() {
    for (budget, stretch) in [(0.3, 1.0), (1.0, 10.0), (3.0, 30.0)] {
        let mut probes = SimulatedProbes::new(cost);
        probes.stretch = stretch;
        let done = done(&plan(budget), &mut probes);
        assert!(done.record.elapsed_seconds <= done.record.plan.budget_seconds, "{:?}", done.record.elapsed_seconds);
        assert_eq!((done.stopped.clone(), done.record.ending), (None, Ending::Spent));
        let counts = PROBES.map(|probe| repetitions(&done, probe).len());
        assert!(counts.iter().all(|count| (FEWEST..100).contains(count)), "{counts:?}");
        assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 2, "{counts:?}");
    }
}

#[test]
fn a_crowded_machine_gets_more_time_until_there_are_intervals() {
    let elapsed = |stretch: f64| {
        let mut probes = SimulatedProbes::new(cost);
        probes.stretch = stretch;
        let done = done(&plan(1.0), &mut probes);
        let counts = PROBES.map(|probe| repetitions(&done, probe).len());
        (done.record.elapsed_seconds.seconds(), *counts.iter().min().unwrap(), *counts.iter().max().unwrap())
    };
    let (seconds, fewest, most) = elapsed(200.0);
    assert!((1.0..2.0).contains(&seconds) && fewest == FEWEST && most <= FEWEST + 1, "{seconds} s: {fewest} to {most}");
    // Not more than twice the budget, however crowded it is.
    let (seconds, fewest, _) = elapsed(3000.0);
    assert!(seconds <= 2.0 && fewest < FEWEST, "{seconds} s: {fewest}");
}

#[test]
fn loops_are_shortened_if_too_few_would_fit() {
    let loops = |stretch: f64| {
        let mut probes = SimulatedProbes::new(cost);
        probes.stretch = stretch;
        let done = done(&plan(3.0), &mut probes);
        let count = repetitions(&done, Probe::SystemCall).len();
        (repetitions(&done, Probe::SystemCall)[0].probe.loops, count)
    };
    let (quiet, all) = loops(1.0);
    let (busy, some) = loops(40.0);
    assert_eq!(all, 100);
    assert!(busy < quiet && busy * 10 >= quiet, "{busy} of {quiet}");
    assert!(some >= 25, "{some}");
}

#[test]
fn without_time_the_reason_is_the_budget() {
    let record = shown(&plan(0.004), &mut SimulatedProbes::new(cost));
    assert!(record.probes.iter().all(|probe| probe.cost.as_ref().is_err_and(|absent| absent.0.contains("time"))));
}

#[test]
fn the_order_is_random_and_reproducible() {
    let order = |seed| {
        let done = measure(&plan(15.0), circumstances(seed), &mut SimulatedProbes::new(cost), &mut |_| ());
        let mut all: Vec<(Nanos, Probe, bool)> = PROBES
            .iter()
            .flat_map(|probe| {
                repetitions(&done, *probe).into_iter().map(|one| (one.started_seconds, *probe, one.empty_first))
            })
            .collect();
        all.sort();
        all.into_iter().map(|(_, probe, empty_first)| (probe, empty_first)).collect::<Vec<_>>()
    };
    let first = order(1);
    assert_eq!((first.len(), &first), (400, &order(1)));
    assert_ne!(first, order(2));
    let empty_first = first.iter().filter(|(_, empty_first)| *empty_first).count();
    assert!((150..250).contains(&empty_first), "{empty_first}");
    let each_round_has_all =
        first.chunks(4).all(|round| PROBES.iter().all(|probe| round.iter().any(|(of, _)| of == probe)));
    assert!(each_round_has_all);
    let leads = PROBES.map(|probe| first.chunks(4).filter(|round| round[0].0 == probe).count());
    assert!(leads.iter().all(|count| (10..45).contains(count)), "{leads:?}");
}

#[test]
fn an_interruption_keeps_complete_repetitions() {
    let mut probes = SimulatedProbes::new(cost);
    probes.interrupt_after = Some(50);
    let done = done(&plan(15.0), &mut probes);
    assert_eq!((done.stopped.clone(), done.record.ending), (Some(CostsError::Interrupted), Ending::Interrupted));
    assert_eq!(PROBES.iter().map(|probe| repetitions(&done, *probe).len()).sum::<usize>(), 50);
    let record = judged(done.record);
    let note = &record.probes[0].cost.as_ref().unwrap().notes[0];
    assert!(note.contains("of 100") && note.contains("interrupted"), "{note}");
}

#[test]
fn other_probes_continue_if_one_is_lost() {
    let mut probes = SimulatedProbes::new(cost);
    probes.lost = Some((Probe::SystemCall, 30));
    let done = done(&plan(15.0), &mut probes);
    assert!(matches!(&done.stopped, Some(CostsError::Lost { probe: Probe::SystemCall, .. })), "{:?}", done.stopped);
    assert_eq!(repetitions(&done, Probe::FunctionCall).len(), 100);
    let record = judged(done.record);
    assert_eq!(record.probes[1].cost.as_ref().unwrap_err().0, "simulated as lost");
}

#[test]
fn an_unavailable_probe_is_absent_and_no_error() {
    let mut probes = SimulatedProbes::new(cost);
    probes.absent = vec![Probe::ForkExit];
    let done = done(&plan(15.0), &mut probes);
    assert_eq!(done.stopped, None);
    assert!(judged(done.record).probes[3].cost.is_err());
}

#[test]
fn progress_is_reported_for_each_probe_and_round() {
    let mut rounds = Vec::new();
    let mut opened = 0;
    measure(&plan(15.0), circumstances(1), &mut SimulatedProbes::new(cost), &mut |event| match event {
        Event::Opening { of, .. } => opened += of,
        Event::Round { done, of } => rounds.push((done, of)),
    });
    assert_eq!((opened, rounds.len(), rounds.last()), (16, 100, Some(&(100, 100))));
}

#[test]
fn a_sweep_finds_start_up_time_in_short_loops() {
    let mut probes = SimulatedProbes::new(cost);
    probes.start_up = 2e-6;
    let plan = CostsPlan { sweep: true, probes: vec![Probe::FunctionCall, Probe::ProcessSwitch], ..plan(15.0) };
    let record = shown(&plan, &mut probes);
    let of = |probe: Probe| -> Vec<(Reading<Cost>, LengthReason)> {
        let of_it = record.probes.iter().filter(|one| one.probe == probe);
        of_it.map(|one| (one.cost.clone(), one.against_longest.unwrap())).collect()
    };
    let call = of(Probe::FunctionCall);
    assert_eq!(call.len(), 13);
    assert!(call[..6].iter().all(|(_, reason)| *reason == LengthReason::StartUp), "{call:?}");
    assert_eq!(call[12].1, LengthReason::Agrees);
    let switch = of(Probe::ProcessSwitch);
    let too_long = switch.iter().filter_map(|(cost, _)| cost.as_ref().err());
    assert!(too_long.clone().count() > 0 && too_long.clone().all(|absent| absent.0.contains("budget")), "{switch:?}");
    assert!(record.elapsed_seconds <= plan.budget_seconds);
}

#[test]
fn a_repetition_that_exceeds_its_time_loses_no_other_length_of_a_sweep() {
    for budget in (50..150).map(|hundredths| f64::from(hundredths) / 100.0) {
        let mut probes = SimulatedProbes::new(cost);
        probes.disturbed = 0.5;
        let plan = CostsPlan { sweep: true, probes: vec![Probe::FunctionCall], ..plan(budget) };
        let done = done(&plan, &mut probes);
        assert_eq!(done.stopped, None, "budget of {budget} s");
        assert!(done.record.probes.iter().any(|length| length.samples.is_ok()), "{:?}", done.record.probes);
    }
}

fn cost_with_programs(probe: Probe) -> f64 {
    match probe {
        Probe::SpawnStatic => 50e-6,
        Probe::VforkExit => 15e-6,
        other => cost(other),
    }
}

fn priced(known: Option<Prices>, probes: &mut SimulatedProbes) -> Result<Prices, CostsError> {
    prices::measured(known, || circumstances(1), probes, &mut |_| ())
}

#[test]
fn known_prices_are_not_measured_again() {
    let all = priced(None, &mut SimulatedProbes::new(cost_with_programs)).unwrap();
    assert_eq!(all.prices.len(), Priced::all().count());
    let near = |priced, expected: f64| {
        let price = all.of(priced).unwrap();
        assert!((price.seconds / expected - 1.0).abs() < 0.03, "{priced:?}: {price:?}");
        assert!(price.interval.low < price.seconds && price.seconds < price.interval.high);
    };
    near(Priced::KernelEntry, 100e-9);
    near(Priced::Switch, 1e-6);
    near(Priced::Fork, 70e-6);
    near(Priced::Exec, 35e-6);
    // These probes would fail, so no probe is used.
    let mut interrupted = SimulatedProbes::new(cost_with_programs);
    interrupted.interrupt_after = Some(0);
    assert_eq!(priced(Some(all.clone()), &mut interrupted), Ok(all));
}

#[test]
fn only_missing_prices_are_measured() {
    let mut probes = SimulatedProbes::new(cost_with_programs);
    probes.absent = vec![Probe::SpawnStatic];
    let mut some = priced(None, &mut probes).unwrap();
    assert!(some.of(Priced::Exec).unwrap_err().0.contains("spawn_static"));
    some.prices.retain(|(_, price)| price.is_ok());
    let all = priced(Some(some.clone()), &mut SimulatedProbes::new(cost_with_programs)).unwrap();
    assert!(all.of(Priced::Exec).is_ok());
    // Both were measured at one clock rate, except for rounding in its mean.
    for (priced, kept) in &some.prices {
        let (kept, now) = (kept.clone().unwrap(), all.of(*priced).unwrap());
        let same = |one: f64, other: f64| (one - other).abs() <= 1e-12 * one.abs();
        assert!(same(kept.seconds, now.seconds) && same(kept.interval.low, now.interval.low), "{priced:?}");
        assert!(same(kept.interval.high, now.interval.high), "{priced:?}");
    }
}

#[test]
fn stored_prices_are_scaled_to_the_clock_rate_of_new_ones() {
    let mut some = priced(None, &mut SimulatedProbes::new(cost_with_programs)).unwrap();
    // These prices were measured at half the clock rate.
    some.alu = some.alu.map(|alu| AluTime { seconds: 2.0 * alu.seconds, ..alu });
    some.prices.retain(|(priced, _)| *priced != Priced::Exec);
    let all = priced(Some(some.clone()), &mut SimulatedProbes::new(cost_with_programs)).unwrap();
    let ratio = all.of(Priced::KernelEntry).unwrap().seconds / some.of(Priced::KernelEntry).unwrap().seconds;
    assert!((ratio - 0.5).abs() < 1e-9 && (all.alu.unwrap().seconds - 1e-9).abs() < 1e-15, "{ratio}");
    // If one of the rates is unknown, prices are not scaled.
    some.alu = Err(Absent::because("not read"));
    let all = priced(Some(some.clone()), &mut SimulatedProbes::new(cost_with_programs)).unwrap();
    assert_eq!(all.of(Priced::KernelEntry), some.of(Priced::KernelEntry));
    assert!(all.alu.is_err());
}

#[test]
fn an_interrupted_measurement_gives_no_prices() {
    let mut probes = SimulatedProbes::new(cost_with_programs);
    probes.interrupt_after = Some(10);
    assert_eq!(priced(None, &mut probes), Err(CostsError::Interrupted));
}
