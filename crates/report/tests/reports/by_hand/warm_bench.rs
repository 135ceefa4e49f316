//! What keeping programs warm gains, made by hand: a usual bench, one with programs that gain nothing or cannot be
//! measured, and one that was interrupted.

use steady_model::*;

use crate::made;

/// A session: launches of so many microseconds, of which the first so many are not from a snapshot.
fn session(mode: WarmMode, run: usize, cold: usize, micros: (u64, u64)) -> WarmSession {
    let wobble = |launch: usize| ((run * 7 + launch * 3) % 11) as u64;
    let spent = |launch: usize| {
        let base = if launch < cold { micros.0 } else { micros.1 };
        WarmSpent { wall: Nanos((base + wobble(launch)) * 1_000), cpu: Nanos((base - 30 + wobble(launch)) * 1_000) }
    };
    let launches = 12;
    let warm = if mode == WarmMode::Normal { 0 } else { launches - cold };
    WarmSession {
        mode,
        before: WarmSpent { wall: Nanos(2_100_000), cpu: Nanos(1_900_000) },
        launches: (0..launches).map(spent).collect(),
        beside: Nanos(if mode == WarmMode::OnDemand { 7_400_000 } else { 0 }),
        voluntary_switches: 12,
        involuntary_switches: (run % 3) as u64,
        minor_faults: 1_100,
        major_faults: 0,
        warm: Ok(warm as u64),
        ended: Outcome::Exited(0),
        alike: true,
        counts: None,
    }
}

fn trial() -> WarmTrial {
    let run = |run: usize| {
        let all = [(WarmMode::Normal, 12), (WarmMode::Prewarm, 0), (WarmMode::OnDemand, 3)];
        WarmRun(all.into_iter().map(|(mode, cold)| session(mode, run, cold, (490, 180))).collect())
    };
    let counts = WarmCounts { migrations: Some(3), instructions: None, cycles: None };
    let counted = |mode| WarmSession { counts: Some(counts), ..session(mode, 0, 3, (520, 200)) };
    WarmTrial { runs: (0..4).map(run).collect(), counted: WarmMode::ALL.map(counted).to_vec(), refusal: None }
}

fn mean(mean: f64, deviation: f64) -> Reading<WarmMean> {
    Ok(WarmMean { mean, deviation: Some(deviation), sessions: 100 })
}

/// A mode by its times per launch, in microseconds.
fn figures(mode: WarmMode, wall: f64, cpu: f64) -> WarmFigures {
    let no_pmu = || Err(Absent::because("this machine has no counters: its processor hides them (a virtual machine?)"));
    let means = [
        mean(wall * 1e-6, 6.2e-6),
        mean(cpu * 1e-6, 5.1e-6),
        mean((wall + 60.0) * 1e-6, 9.0e-6),
        mean((cpu + 210.0) * 1e-6, 8.4e-6),
        mean(1.02, 0.03),
        mean(0.21, 0.14),
        mean(if mode == WarmMode::Normal { 92.4 } else { 51.3 }, 0.3),
        no_pmu(),
        no_pmu(),
    ];
    let effect = |measure, change: f64| WarmEffect {
        measure,
        verdict: if change < 0.0 { Verdict::Faster } else { Verdict::Slower },
        change: Ok(change),
        interval: Ok(Interval { low: change - 0.006, high: change + 0.005 }),
    };
    let (usual, usual_cpu) = (493.0, 461.0);
    let normal = mode == WarmMode::Normal;
    let effects = [
        effect(WarmMeasure::Wall, wall / usual - 1.0),
        effect(WarmMeasure::Cpu, cpu / usual_cpu - 1.0),
        effect(WarmMeasure::AllWall, (wall + 60.0) / (usual + 20.0) - 1.0),
        effect(WarmMeasure::AllCpu, (cpu + 210.0) / (usual_cpu + 20.0) - 1.0),
    ];
    let later =
        |launch: usize| if mode == WarmMode::OnDemand && launch < 3 { (usual + 31.0) * 1e-6 } else { wall * 1e-6 };
    WarmFigures {
        mode,
        means: WarmMeasure::ALL.into_iter().zip(means).collect(),
        warm_ratio: Ok(match mode {
            WarmMode::Normal => 0.0,
            WarmMode::Prewarm => 1.0,
            WarmMode::OnDemand => 0.94,
        }),
        effects: if normal { vec![] } else { effects.to_vec() },
        break_even: match mode {
            WarmMode::Normal => Err(Absent::because("normal launches take no snapshot")),
            WarmMode::Prewarm => {
                Ok([even(7.9e-3, PaidBack::After(26), Some(28)), even(8.1e-3, PaidBack::Probably(61), None)])
            }
            WarmMode::OnDemand => Ok([even(0.0, PaidBack::After(4), Some(4)), even(7.4e-3, PaidBack::After(27), None)]),
        },
        course: (0..50).map(|launch| [later(launch), later(launch) - 30e-6]).collect(),
    }
}

fn even(taking: f64, paid_back: PaidBack, certain: Option<u64>) -> BreakEven {
    BreakEven { taking, paid_back, certain }
}

fn command(name: &str) -> Command {
    let argv: Vec<String> = name.split(' ').map(str::to_owned).collect();
    Command { name: name.to_owned(), program: format!("/usr/bin/{}", argv[0]).into(), argv, ..Command::default() }
}

fn report(programs: Vec<(&str, Reading<WarmTrial>, Reading<WarmProgram>)>) -> WarmBenchReport {
    let plan = WarmBenchPlan {
        programs: programs.iter().map(|(name, ..)| command(name)).collect(),
        count: 50,
        runs: 100,
        pause: Nanos::ZERO,
        cold: false,
        timeout: Nanos(10_000_000_000),
        seed: Seed(7_731),
    };
    let (trials, figures) = programs.into_iter().map(|(_, trial, program)| (trial, program)).unzip();
    let record = WarmBenchRecord {
        plan,
        started: Timestamp(1_763_000_000),
        host: made::host("kvm"),
        revision: Ok("1c2f".into()),
        counters: Err(Absent::because("this machine has no counters")),
        trials,
        elapsed: Nanos(14_200_000_000),
        ending: Ending::Spent,
    };
    WarmBenchReport { record, programs: figures }
}

fn gains() -> WarmProgram {
    let modes = vec![
        figures(WarmMode::Normal, 493.0, 461.0),
        figures(WarmMode::Prewarm, 179.0, 151.0),
        figures(WarmMode::OnDemand, 199.6, 171.2),
    ];
    WarmProgram { modes, notes: vec![] }
}

/// Two programs that gain.
pub(crate) fn usual() -> WarmBenchReport {
    report(vec![("true", Ok(trial()), Ok(gains())), ("cat /dev/null", Ok(trial()), Ok(gains()))])
}

/// A program that gains nothing, for it is refused, and one that does not end; cold, with rests.
pub(crate) fn refused() -> WarmBenchReport {
    let mut modes = vec![
        figures(WarmMode::Normal, 493.0, 461.0),
        figures(WarmMode::Prewarm, 531.0, 502.0),
        figures(WarmMode::OnDemand, 533.0, 503.0),
    ];
    for figures in &mut modes[1..] {
        figures.warm_ratio = Ok(0.0);
        figures.break_even = Ok([even(0.0, PaidBack::Never, None), even(0.8e-3, PaidBack::Never, None)]);
    }
    modes[2].warm_ratio = Err(Absent::because("its store has no counts"));
    modes[2].effects[0] = WarmEffect {
        verdict: Verdict::Undecided,
        change: Ok(0.01),
        interval: Ok(Interval { low: -0.004, high: 0.021 }),
        ..modes[2].effects[0].clone()
    };
    let why = "/opt/busybox: it is linked statically";
    let notes =
        vec![format!("it was launched as usual in all modes: {why}"), "it exited with status 1 each time".into()];
    let refusal = WarmTrial { refusal: Some(why.to_owned()), ..trial() };
    let endless = || Absent::because("it had not ended after 10 s");
    let mut report = report(vec![
        ("busybox true", Ok(refusal), Ok(WarmProgram { modes, notes })),
        ("sleep infinity", Err(endless()), Err(endless())),
    ]);
    (report.record.plan.cold, report.record.plan.pause) = (true, Nanos(50_000_000));
    report
}

/// One that was interrupted when there were few runs.
pub(crate) fn interrupted() -> WarmBenchReport {
    let few = || Absent::because("there are 3 runs, too few for an interval with two ends");
    let mut program = gains();
    for effect in program.modes.iter_mut().flat_map(|figures| &mut figures.effects) {
        (effect.verdict, effect.change, effect.interval) = (Verdict::Undecided, Err(few()), Err(few()));
    }
    for (_, mean) in program.modes.iter_mut().flat_map(|figures| &mut figures.means) {
        if let Ok(mean) = mean {
            (mean.deviation, mean.sessions) = (None, 1);
        }
    }
    let mut report = report(vec![("true", Ok(trial()), Ok(program))]);
    report.record.ending = Ending::Interrupted;
    report
}

/// More programs than have tables.
pub(crate) fn many() -> WarmBenchReport {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    report(names.into_iter().map(|name| (name, Ok(trial()), Ok(gains()))).collect())
}

/// All of them, by name.
pub(crate) fn all() -> Vec<(&'static str, WarmBenchReport)> {
    vec![
        ("warm-bench", usual()),
        ("warm-bench-refused", refused()),
        ("warm-bench-interrupted", interrupted()),
        ("warm-bench-many", many()),
    ]
}
