use steady_model::{Host, Machine, Seed, Timestamp};

use super::*;
use crate::record::{Affinity, ClockFacts, CostsPlan, LengthReason};

const MILLISECOND: u64 = 1_000_000;

fn timed(loops: u64, events: u64, cpu: u64) -> Timed {
    Timed { loops, events, wall: Nanos(cpu), cpu: Nanos(cpu), ..Timed::default() }
}

/// A probe with `loops` rounds. `times` has the times of its loops and of the empty loops, in nanoseconds.
fn measured(loops: u64, events: u64, times: impl IntoIterator<Item = (u64, u64)>) -> ProbeCost {
    let repetition = |times: (u64, u64)| Repetition {
        started_seconds: Nanos::ZERO,
        probe: timed(loops, events, times.0),
        empty: timed(loops, 0, times.1),
        empty_first: true,
    };
    ProbeCost {
        loops: Ok(loops),
        events_per_loop: Ok(1.0),
        subtracted: Ok(String::new()),
        calls_per_loop: Ok(1.0),
        expected_calls_per_loop: Ok(1.0),
        alu_seconds: Ok(1e-9),
        samples: Ok(times.into_iter().map(repetition).collect()),
        ..ProbeCost::absent(Probe::SystemCall, &Absent::because("made up"))
    }
}

fn record(sweep: bool, probes: Vec<ProbeCost>) -> CostsRecord {
    let absent = || Absent::because("made up");
    let clock = |probe, step| ClockFacts {
        probe,
        name: "CLOCK".to_owned(),
        stated_resolution_seconds: Nanos(1),
        smallest_step_seconds: Ok(Nanos(step)),
        words: None,
    };
    CostsRecord {
        plan: CostsPlan {
            as_published: false,
            probes: vec![Probe::SystemCall],
            repetitions: 20,
            budget_seconds: Nanos(1_000 * MILLISECOND),
            sweep,
        },
        seed: Seed(1),
        affinity: Affinity { cpu: 0, other_cpu: Err(absent()) },
        started: Timestamp(0),
        host: Host {
            hostname: Err(absent()),
            kernel: Err(absent()),
            cpu_model: Err(absent()),
            cpus_allowed: 1,
            cpus_online: 1,
            cpu_quota: Err(absent()),
            memory: Err(absent()),
            hypervisor: Err(absent()),
        },
        machine: Machine {
            online: vec![0],
            offline: Err(absent()),
            allowed: vec![0],
            cores: Err(absent()),
            packages: Err(absent()),
            kinds: vec![],
            quota: Err(absent()),
        },
        revision: Err(absent()),
        clocks: vec![clock(Probe::ClockThreadCpu, 200), clock(Probe::ClockMonotonic, 20)],
        probes,
        elapsed_seconds: Nanos(MILLISECOND),
        ending: Ending::Spent,
    }
}

fn only(probe: ProbeCost) -> Reading<Cost> {
    judged(record(false, vec![probe])).probes.remove(0).cost
}

/// Times of undisturbed loops: about 1 ms, and 0.2 ms for the empty loop.
fn quiet(count: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..count).map(|n| (MILLISECOND + 10 * n, 200_000 + 7 * n % 13))
}

#[test]
fn a_cost_is_the_net_time_divided_by_the_counted_events() {
    let cost = only(measured(10_000, 10_000, quiet(20))).unwrap();
    assert!((cost.median_seconds / 80.01e-9 - 1.0).abs() < 1e-3, "{cost:?}");
    assert!(cost.low_seconds < cost.median_seconds && cost.median_seconds < cost.high_seconds);
    assert!(cost.high_seconds - cost.low_seconds < 2e-11 && !cost.below_resolution && cost.notes.is_empty());
    // A clock step of 200 ns divided by 10,000 events.
    assert!((cost.resolution_seconds / 2e-11 - 1.0).abs() < 1e-6, "{}", cost.resolution_seconds);
    assert_eq!((cost.expected_events, cost.counted_events, cost.repetitions), (200_000.0, 200_000, 20));
}

#[test]
fn the_cost_is_per_counted_event() {
    let cost = only(measured(10_000, 5_000, quiet(20))).unwrap();
    assert!((cost.median_seconds / 160e-9 - 1.0).abs() < 1e-3, "{cost:?}");
    assert!(cost.notes[0].contains("200000 times") && cost.notes[0].contains("-50.0 %"), "{:?}", cost.notes);
    let never = only(measured(10_000, 0, quiet(20)));
    assert!(never.unwrap_err().0.contains("did not happen"));
    let near = only(measured(10_000, 9_950, quiet(20))).unwrap();
    assert!(near.notes.is_empty(), "a difference of 0.5 % has no note");
}

#[test]
fn unexpected_numbers_of_system_calls_have_a_note() {
    let mut answered = measured(10_000, 10_000, quiet(20));
    answered.calls_per_loop = Ok(0.0);
    assert!(only(answered.clone()).unwrap().notes[0].contains("0.00 system calls"));
    (answered.calls_per_loop, answered.expected_calls_per_loop) = (Ok(0.001), Ok(0.0));
    assert!(only(answered.clone()).unwrap().notes.is_empty());
    answered.calls_per_loop = Ok(1.0);
    assert_eq!(only(answered).unwrap().notes.len(), 1);
}

#[test]
fn negative_costs_are_reported_as_below_the_resolution() {
    let cost = only(measured(10_000, 10_000, (0..20).map(|n| (200_000 + n, 200_100 + 3 * n)))).unwrap();
    assert!(cost.median_seconds < 0.0 && cost.below_resolution, "{cost:?}");
}

#[test]
fn too_few_repetitions_have_no_interval() {
    assert!(only(measured(10_000, 10_000, quiet(5))).unwrap_err().0.contains("only 5 repetitions"));
    let few = only(measured(10_000, 10_000, quiet(6))).unwrap();
    assert!(few.notes[0].contains("6 of 20 repetitions"), "{:?}", few.notes);
}

#[test]
fn bimodal_repetitions_have_two_modes() {
    let times = (0..40).map(|n| (if n % 4 == 0 { 2 * MILLISECOND } else { MILLISECOND } + 97 * n, 200_000));
    let cost = only(measured(10_000, 10_000, times)).unwrap();
    let shares: Vec<f64> = cost.modes.iter().map(|mode| mode.share_ratio).collect();
    assert_eq!(shares, [0.75, 0.25]);
    assert_eq!(
        (cost.histogram.below, cost.histogram.above),
        (0, 0),
        "the histogram covers both modes: {:?}",
        cost.histogram
    );
}

fn reasons(record: CostsRecord) -> Vec<LengthReason> {
    judged(record).probes.into_iter().filter_map(|probe| probe.against_longest).collect()
}

/// A sweep over these lengths: rounds, nanoseconds of each round, and nanoseconds to start.
fn sweep(lengths: &[(u64, f64, f64)]) -> (CostsRecord, Vec<LengthReason>) {
    let one = |length: &(u64, f64, f64)| {
        let (loops, each, start) = *length;
        let time = (each * loops as f64 + start) as u64;
        measured(loops, loops, (0..20).map(move |n| (time + n % 3, 0)))
    };
    let record = record(true, lengths.iter().map(one).collect());
    let reasons = reasons(record.clone());
    (record, reasons)
}

#[test]
fn start_up_time_explains_higher_costs_of_short_loops() {
    let (_, reasons) =
        sweep(&[(10, 100.0, 5_000.0), (100, 100.0, 5_000.0), (10_000, 100.0, 5_000.0), (100_000, 100.0, 5_000.0)]);
    assert_eq!(reasons, [LengthReason::StartUp, LengthReason::StartUp, LengthReason::Agrees, LengthReason::Agrees]);
}

#[test]
fn a_clock_step_explains_differences_of_short_loops() {
    let (_, reasons) = sweep(&[(10, 1.0, 100.0), (100_000, 1.0, 0.0)]);
    assert_eq!(reasons, [LengthReason::TimerGrain, LengthReason::Agrees]);
}

#[test]
fn a_cost_below_the_resolution_does_not_agree() {
    let (record, reasons) = sweep(&[(10, 1.0, 0.0), (100_000, 1.0, 0.0)]);
    assert!(judged(record).probes[0].cost.as_ref().unwrap().below_resolution);
    assert_eq!(reasons, [LengthReason::TimerGrain, LengthReason::Agrees]);
}

#[test]
fn the_arithmetic_ruler_shows_another_clock_rate() {
    let (mut record, found) = sweep(&[(1_000, 120.0, 0.0), (10_000, 120.0, 0.0), (100_000, 100.0, 0.0)]);
    assert_eq!(found[..2], [LengthReason::Unexplained, LengthReason::Unexplained]);
    for probe in &mut record.probes[..2] {
        probe.alu_seconds = Ok(1.2e-9);
    }
    assert_eq!(reasons(record)[..2], [LengthReason::Frequency, LengthReason::Frequency]);
}

#[test]
fn other_processes_on_the_cpu_explain_a_difference() {
    let (mut record, _) = sweep(&[(1_000, 150.0, 0.0), (100_000, 100.0, 0.0)]);
    for repetition in record.probes[0].samples.as_mut().unwrap() {
        repetition.probe.involuntary_switches = 1;
    }
    assert_eq!(reasons(record.clone()), [LengthReason::Preemption, LengthReason::Agrees]);
    assert!(judged(record).probes[0].cost.as_ref().unwrap().all_disturbed);
}

#[test]
fn a_disturbed_longest_loop_is_not_the_reference() {
    let (mut record, _) = sweep(&[(1_000, 100.0, 0.0), (10_000, 100.0, 0.0), (100_000, 150.0, 0.0)]);
    for repetition in record.probes[2].samples.as_mut().unwrap() {
        repetition.empty.involuntary_switches = 1;
    }
    assert_eq!(reasons(record), [LengthReason::Agrees, LengthReason::Agrees, LengthReason::Preemption]);
}
