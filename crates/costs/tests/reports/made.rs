//! Made-up records: the usual probes, a few probes, the clocks, a sweep, an interrupted run, and one without results.

use steady_costs::*;
use steady_model::*;

use crate::shared;

/// Median and spread of a probe's cost in nanoseconds, and the rounds of its loop.
struct Made {
    probe: Probe,
    median: f64,
    spread: f64,
    loops: u64,
}

fn made(probe: Probe, median: f64, spread: f64, loops: u64) -> Made {
    Made { probe, median, spread, loops }
}

/// Repetitions around the median in a fixed pattern; every tenth is far above it.
fn measured(made: &Made, repetitions: usize) -> ProbeCost {
    let repetition = |at: usize| {
        let off = ((at * 37) % 21) as f64 / 10.0 - 1.0 + if at % 10 == 9 { 6.0 } else { 0.0 };
        let whole = (made.median + off * made.spread) * made.loops as f64;
        let empty = Timed { loops: made.loops, wall: Nanos(210_500), cpu: Nanos(210_000), ..Timed::default() };
        let probe = Timed {
            loops: made.loops,
            events: made.loops,
            wall: Nanos(220_000 + whole.max(0.0) as u64),
            cpu: Nanos(210_000 + whole.max(0.0) as u64),
            minor_faults: u64::from(made.probe == Probe::PageFault) * made.loops,
            voluntary_switches: u64::from(made.probe == Probe::ProcessSwitch) * made.loops,
            involuntary_switches: u64::from(at % 25 == 24),
        };
        Repetition { started_seconds: Nanos(2_400_000 * at as u64), probe, empty, empty_first: at.is_multiple_of(3) }
    };
    ProbeCost {
        loops: Ok(made.loops),
        cost: Ok(cost(made, repetitions)),
        events_per_loop: Ok(1.0),
        subtracted: Ok("a loop of as many rounds that does nothing".to_owned()),
        calls_per_loop: Ok(0.0),
        expected_calls_per_loop: Ok(0.0),
        alu_seconds: Err(Absent::because("only sweeps read it")),
        samples: Ok((0..repetitions).map(repetition).collect()),
        ..ProbeCost::absent(made.probe, &Absent::because("made by hand"))
    }
}

/// A made-up cost with this median and spread.
fn cost(made: &Made, repetitions: usize) -> Cost {
    let (median, spread) = (made.median * 1e-9, made.spread * 1e-9);
    let counts = [1, 3, 9, 17, 22, 15, 10, 6, 4, 3, 0, 1, 0, 2, 1, 0];
    Cost {
        probe: made.probe,
        loops: made.loops,
        median_seconds: median,
        low_seconds: median - 0.21 * spread,
        high_seconds: median + 0.24 * spread,
        spread_seconds: spread,
        resolution_seconds: 3e-11,
        below_resolution: median.abs() < 3e-11,
        modes: vec![],
        repetitions: repetitions - repetitions / 25,
        set_apart: repetitions / 25,
        all_disturbed: false,
        expected_events: made.loops as f64 * repetitions as f64,
        counted_events: made.loops * repetitions as u64,
        histogram: Histogram {
            low_seconds: median - 1.4 * spread,
            width_seconds: 0.32 * spread,
            counts: counts.to_vec(),
            below: 0,
            above: 2,
        },
        notes: vec![],
    }
}

/// A record of these probes.
fn report(all: &[Made], repetitions: usize) -> CostsRecord {
    CostsRecord {
        plan: CostsPlan {
            probes: all.iter().map(|made| made.probe).collect(),
            repetitions: 100,
            budget_seconds: Nanos(15_000_000_000),
            sweep: false,
            as_published: false,
        },
        seed: Seed(1_314_300_071_535_409_598),
        affinity: Affinity { cpu: 0, other_cpu: Ok(1) },
        started: Timestamp(1_795_171_242),
        host: shared::host("KVM"),
        machine: shared::machine(),
        revision: Ok("0123456789ab".into()),
        clocks: clocks(),
        probes: all.iter().map(|made| measured(made, repetitions)).collect(),
        elapsed_seconds: Nanos(11_412_000_000),
        ending: Ending::Spent,
    }
}

fn clocks() -> Vec<ClockFacts> {
    let clock = |probe, name: &str, step| ClockFacts {
        probe,
        name: name.to_owned(),
        stated_resolution_seconds: Nanos(1),
        smallest_step_seconds: step,
        words: clock_words(probe),
    };
    vec![
        clock(Probe::ClockRealtime, "CLOCK_REALTIME", Ok(Nanos(13))),
        clock(Probe::ClockMonotonic, "CLOCK_MONOTONIC", Ok(Nanos(13))),
        clock(Probe::ClockProcessCpu, "CLOCK_PROCESS_CPUTIME_ID", Ok(Nanos(141))),
        clock(Probe::ClockThreadCpu, "CLOCK_THREAD_CPUTIME_ID", Err(Absent::because("two readings never differed"))),
    ]
}

/// All usual probes and a system call by name: one below the resolution, one with two modes, some absent.
pub(crate) fn usual() -> CostsRecord {
    let sizes = [
        21.34, 21.41, 141.7, 132.2, 0.021, 61.7, 1_523.0, 3_312.0, 2_804.0, 11.2, 96.4, 4.87, 24.1, 251.0, 348.0,
        61_240.0, 38_110.0, 14_820.0, 291_500.0, 702_300.0, 1_104.0, 0.082, 1.61, 5.9, 33.2, 98.7,
    ];
    let mut all: Vec<Made> = Probe::USUAL
        .into_iter()
        .zip(sizes)
        .map(|(probe, size)| made(probe, size, size * 0.02 + 0.01, (1e6 / size) as u64 + 1))
        .collect();
    all.push(made(Probe::Call(KernelCall::OpenatClose), 812.0, 9.0, 1_000));
    let mut report = report(&all, 100);
    let alone = Absent::because("only one CPU may be used, and the probe needs two");
    for probe in [Probe::LockContended, Probe::AtomicContended] {
        absent(&mut report, probe, &alone);
    }
    absent(&mut report, Probe::SpawnStatic, &Absent::because("no static program could be built: 'cc' | is missing"));
    report.affinity.other_cpu = Err(alone);
    let futex = cost_of(&mut report, Probe::ThreadSwitchFutex);
    futex.modes = vec![mode(2.71e-6, 0.71), mode(2.88e-6, 0.29)];
    futex.set_apart = 31;
    futex.repetitions = 69;
    cost_of(&mut report, Probe::ThreadStart).all_disturbed = true;
    let switch = cost_of(&mut report, Probe::ProcessSwitch);
    switch.counted_events = switch.expected_events as u64 / 100 * 97;
    switch.notes = vec![
        "The event was expected 65700 times and counted 63729 times (-3.0 %). The cost is per counted event."
            .to_owned(),
    ];
    report
}

fn cost_of(report: &mut CostsRecord, probe: Probe) -> &mut Cost {
    report.probes.iter_mut().find(|one| one.probe == probe).unwrap().cost.as_mut().unwrap()
}

fn mode(median_seconds: f64, share_ratio: f64) -> Mode {
    Mode { median_seconds, share_ratio }
}

fn absent(report: &mut CostsRecord, probe: Probe, why: &Absent) {
    let of_it = report.probes.iter_mut().filter(|one| one.probe == probe);
    of_it.for_each(|one| *one = ProbeCost::absent(probe, why));
}

/// Two probes, few enough for a histogram each.
pub(crate) fn few() -> CostsRecord {
    let mut report =
        report(&[made(Probe::SystemCall, 61.7, 0.4, 10_000), made(Probe::ThreadSwitchFutex, 2_804.0, 60.0, 300)], 30);
    let few = "Only 30 of 100 repetitions were made: the budget had no room for more.";
    for probe in [Probe::SystemCall, Probe::ThreadSwitchFutex] {
        cost_of(&mut report, probe).notes = vec![few.to_owned()];
    }
    let futex = cost_of(&mut report, Probe::ThreadSwitchFutex);
    futex.modes = vec![mode(2.76e-6, 0.71), mode(2.92e-6, 0.29)];
    futex.histogram.counts = vec![1, 4, 9, 5, 2, 0, 0, 1, 3, 4, 1];
    report
}

/// Only the four clocks.
pub(crate) fn four_clocks() -> CostsRecord {
    let sizes = [21.34, 21.41, 141.7, 132.2];
    let all: Vec<Made> =
        Probe::USUAL[..4].iter().zip(sizes).map(|(probe, size)| made(*probe, size, 0.3, 40_000)).collect();
    report(&all, 100)
}

/// Two probes by length of the loop.
pub(crate) fn sweep() -> CostsRecord {
    use LengthReason::{Agrees, Frequency, Preemption, StartUp, TimerGrain, Unexplained};
    let call = [
        (10, 4.1, TimerGrain),
        (100, 0.93, StartUp),
        (1_000, 0.55, StartUp),
        (10_000, 0.512, Agrees),
        (100_000, 0.511, Agrees),
        (1_000_000, 0.54, Frequency),
        (10_000_000, 0.51, Agrees),
    ];
    let switch =
        [(10, 2_900.0, Unexplained), (100, 1_570.0, StartUp), (1_000, 1_640.0, Preemption), (3_000, 1_523.0, Agrees)];
    let of = |probe: Probe, lengths: &[(u64, f64, LengthReason)]| {
        lengths.iter().map(|(loops, size, _)| made(probe, *size, size * 0.02, *loops)).collect::<Vec<_>>()
    };
    let all: Vec<Made> = of(Probe::FunctionCall, &call).into_iter().chain(of(Probe::ProcessSwitch, &switch)).collect();
    let mut report = report(&all, 12);
    report.plan.sweep = true;
    report.plan.probes = vec![Probe::FunctionCall, Probe::ProcessSwitch];
    report.probes.iter_mut().for_each(|probe| probe.alu_seconds = Ok(4.71e-9));
    let shortest = report.probes[0].cost.as_mut().unwrap();
    (shortest.resolution_seconds, shortest.below_resolution) = (2.3e-8, true);
    report.probes[6].cost.as_mut().unwrap().all_disturbed = true;
    for (probe, (_, _, why)) in report.probes.iter_mut().zip(call.iter().chain(&switch)) {
        probe.against_longest = Some(*why);
    }
    let why = Absent::because("loops of this length would exceed the budget");
    let absent = ProbeCost::absent(Probe::ProcessSwitch, &why);
    report.probes.push(ProbeCost { against_longest: Some(Unexplained), ..absent });
    report
}

/// Four primitives as published and correctly. One could not be measured, and for one no calls were counted.
pub(crate) fn as_published() -> CostsRecord {
    let costs = [
        (Probe::PublishedFunctionCall, 0.24, 0.0),
        (Probe::FunctionCall, 1.31, 0.0),
        (Probe::PublishedSystemCall, 1.62, 0.0),
        (Probe::SystemCall, 92.4, 1.0),
        (Probe::PublishedProcessSwitch, 1_713.0, 4.0),
        (Probe::ProcessSwitch, 1_104.0, 4.0),
        (Probe::LockUncontended, 17.8, 0.0),
        (Probe::ThreadSwitchCondvar, 2_913.0, 9.0),
    ];
    let all: Vec<Made> =
        costs.iter().map(|(probe, size, _)| made(*probe, *size, size * 0.02, (1e6 / size) as u64)).collect();
    let mut report = report(&all, 100);
    report.plan.as_published = true;
    for (probe, (name, _, calls)) in report.probes.iter_mut().zip(costs) {
        probe.calls_per_loop = Ok(calls);
        let switches = matches!(name, Probe::PublishedProcessSwitch | Probe::ThreadSwitchCondvar);
        for sample in probe.samples.as_mut().into_iter().flatten().filter(|_| switches) {
            sample.probe.voluntary_switches = 2 * sample.probe.loops;
        }
    }
    report.probes[3].calls_per_loop = Err(Absent::because("tracing is not permitted"));
    absent(&mut report, Probe::FunctionCall, &Absent::because("the budget had no time for it"));
    report
}

/// A run that was interrupted before the second probe.
pub(crate) fn interrupted() -> CostsRecord {
    let mut report = report(&[made(Probe::PageFault, 251.0, 4.0, 1_000)], 9);
    report.plan.probes.push(Probe::SpawnDynamic);
    report.ending = Ending::Interrupted;
    report
}

/// A run in which nothing could be measured.
pub(crate) fn none() -> CostsRecord {
    let mut report = report(&[made(Probe::LockContended, 96.4, 1.0, 1_000)], 9);
    absent(&mut report, Probe::LockContended, &Absent::because("only one CPU may be used, and the probe needs two"));
    report.affinity.other_cpu = Err(Absent::because("only one CPU may be used"));
    report.clocks.clear();
    report
}

/// Every report and the name of its golden files.
pub(crate) fn all() -> Vec<(&'static str, CostsRecord)> {
    vec![
        ("costs-usual", usual()),
        ("costs-few", few()),
        ("costs-clocks", four_clocks()),
        ("costs-sweep", sweep()),
        ("costs-interrupted", interrupted()),
        ("costs-none", none()),
        ("costs-as-published", as_published()),
    ]
}
