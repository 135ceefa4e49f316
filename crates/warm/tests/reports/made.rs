//! Records of benches, made by hand: a normal one, one with programs that gain nothing or cannot be measured, an
//! interrupted one, and one of many programs.

use steady_feature::attended::AttendedCommand;
use steady_model::*;
use steady_warm::*;

use crate::shared;

/// A session with 12 launches. The first `cold` launches are as usual and take `micros.0`, the others `micros.1`.
fn session(mode: LaunchMode, run: usize, cold: usize, micros: (u64, u64)) -> BenchSession {
    let wobble = |launch: usize| ((run * 7 + launch * 3) % 11) as u64;
    let spent = |launch: usize| {
        let base = if launch < cold { micros.0 } else { micros.1 };
        Spent { wall: Nanos((base + wobble(launch)) * 1_000), cpu: Nanos((base - 30 + wobble(launch)) * 1_000) }
    };
    let launches = 12;
    let warm = if mode == LaunchMode::Normal { 0 } else { launches - cold };
    BenchSession {
        mode,
        before_seconds: Spent { wall: Nanos(2_100_000), cpu: Nanos(1_900_000) },
        launches_seconds: (0..launches).map(spent).collect(),
        beside_seconds: Nanos(if mode == LaunchMode::OnDemand { 7_400_000 } else { 0 }),
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

fn trial() -> BenchTrial {
    let run = |run: usize| {
        let all = [(LaunchMode::Normal, 12), (LaunchMode::Prewarm, 0), (LaunchMode::OnDemand, 3)];
        all.into_iter().map(|(mode, cold)| session(mode, run, cold, (490, 180))).collect()
    };
    let counts = SessionCounts { migrations: Some(3), ..SessionCounts::default() };
    let counted = |mode| BenchSession { counts: Some(counts), ..session(mode, 0, 3, (520, 200)) };
    let mut trial = BenchTrial::default();
    (0..4).for_each(|at| trial.push_run(run(at)));
    LaunchMode::ALL.map(counted).into_iter().for_each(|session| trial.push_counted(session));
    trial
}

fn mean(mean: f64, deviation: f64) -> Reading<Mean> {
    Ok(Mean { mean, deviation: Some(deviation), sessions: 100 })
}

/// The figures of a mode, from its times per launch in microseconds.
fn figures(mode: LaunchMode, wall: f64, cpu: f64) -> ModeFigures {
    let no_pmu = || Err(Absent::because("this machine has no counters: its processor hides them (a virtual machine?)"));
    let means = [
        mean(wall * 1e-6, 6.2e-6),
        mean(cpu * 1e-6, 5.1e-6),
        mean((wall + 60.0) * 1e-6, 9.0e-6),
        mean((cpu + 210.0) * 1e-6, 8.4e-6),
        mean(1.02, 0.03),
        mean(0.21, 0.14),
        mean(if mode == LaunchMode::Normal { 92.4 } else { 51.3 }, 0.3),
    ];
    let means = means.into_iter().chain(std::iter::repeat_with(no_pmu));
    let effect = |measure, change: f64| Effect {
        measure,
        verdict: if change < 0.0 { Verdict::Faster } else { Verdict::Slower },
        change: Ok(change),
        low: Ok(change - 0.006),
        high: Ok(change + 0.005),
    };
    let (usual, usual_cpu) = (493.0, 461.0);
    let normal = mode == LaunchMode::Normal;
    let effects = [
        effect(Measure::Wall, wall / usual - 1.0),
        effect(Measure::Cpu, cpu / usual_cpu - 1.0),
        effect(Measure::AllWall, (wall + 60.0) / (usual + 20.0) - 1.0),
        effect(Measure::AllCpu, (cpu + 210.0) / (usual_cpu + 20.0) - 1.0),
    ];
    let later =
        |launch: usize| if mode == LaunchMode::OnDemand && launch < 3 { (usual + 31.0) * 1e-6 } else { wall * 1e-6 };
    ModeFigures {
        mode,
        means: Means(Measure::ALL.into_iter().zip(means).collect()),
        warm_ratio: Ok(match mode {
            LaunchMode::Normal => 0.0,
            LaunchMode::Prewarm => 1.0,
            LaunchMode::OnDemand => 0.94,
        }),
        effects: if normal { vec![] } else { effects.to_vec() },
        break_even: match mode {
            LaunchMode::Normal => Err(Absent::because("normal launches use no snapshot")),
            LaunchMode::Prewarm => Ok(BreakEven {
                wall: even(7.9e-3, Some(26), Some(28)),
                cpu: PaidBack { extrapolated: true, ..even(8.1e-3, Some(61), None) },
            }),
            LaunchMode::OnDemand => {
                Ok(BreakEven { wall: even(0.0, Some(4), Some(4)), cpu: even(7.4e-3, Some(27), None) })
            }
        },
        launch_wall_seconds: (0..50).map(later).collect(),
        launch_cpu_seconds: (0..50).map(|launch| later(launch) - 30e-6).collect(),
    }
}

fn even(taking: f64, launches: Option<u64>, certain: Option<u64>) -> PaidBack {
    PaidBack {
        capture_seconds: Ok(taking),
        launches: launches.ok_or_else(|| Absent::because("later launches are no cheaper")),
        extrapolated: false,
        certain_launches: certain.ok_or_else(|| Absent::because("not within the measured launches")),
    }
}

fn command(name: &str) -> AttendedCommand {
    let argv: Vec<String> = name.split(' ').map(str::to_owned).collect();
    AttendedCommand { name: name.to_owned(), program: format!("/usr/bin/{}", argv[0]).into(), argv }
}

/// A program with the figures of its modes, and notes.
fn program(name: &str, modes: Vec<ModeFigures>, notes: &[&str]) -> BenchProgram {
    let mut program = BenchProgram::new(command(name), Ok(trial()));
    program.modes = Ok(modes);
    program.notes = Some(notes.iter().map(|note| (*note).to_owned()).collect());
    program
}

fn record(programs: Vec<BenchProgram>) -> BenchRecord {
    BenchRecord {
        kind: BenchKind::Bench,
        seed: Seed(7_731),
        started: Timestamp(1_763_000_000),
        elapsed_seconds: Nanos(14_200_000_000),
        host: shared::host("kvm"),
        revision: Ok("1c2f".into()),
        counters: shared::absent("this machine has no counters"),
        programs,
        confidence: 0.95,
        ending: Ending::Spent,
        plan: BenchPlan {
            count: 50,
            runs: 100,
            pause_seconds: Nanos::ZERO,
            cold: false,
            sync: false,
            timeout_seconds: Nanos(10_000_000_000),
        },
    }
}

fn gains() -> Vec<ModeFigures> {
    vec![
        figures(LaunchMode::Normal, 493.0, 461.0),
        figures(LaunchMode::Prewarm, 179.0, 151.0),
        figures(LaunchMode::OnDemand, 199.6, 171.2),
    ]
}

/// Two programs that gain.
pub(crate) fn usual() -> BenchRecord {
    record(vec![program("true", gains(), &[]), program("cat /dev/null", gains(), &[])])
}

/// A program that gains nothing because it is refused, and one that does not end; with a cold page cache and pauses.
pub(crate) fn refused() -> BenchRecord {
    let mut modes = vec![
        figures(LaunchMode::Normal, 493.0, 461.0),
        figures(LaunchMode::Prewarm, 531.0, 502.0),
        figures(LaunchMode::OnDemand, 533.0, 503.0),
    ];
    for figures in &mut modes[1..] {
        figures.warm_ratio = Ok(0.0);
        figures.break_even = shared::absent("no launch was from a snapshot");
    }
    modes[2].warm_ratio = shared::absent("its store has no counts");
    modes[2].break_even = Ok(BreakEven { wall: even(0.0, None, None), cpu: even(0.8e-3, None, None) });
    modes[2].effects[0] = Effect {
        verdict: Verdict::Undecided,
        change: Ok(0.01),
        low: Ok(-0.004),
        high: Ok(0.021),
        ..modes[2].effects[0].clone()
    };
    let why = "/opt/busybox: it is linked statically";
    let notes = [&format!("it was launched as usual in all modes: {why}"), "it exited with status 1 each time"];
    let mut busybox = program("busybox true", modes, &notes);
    busybox.samples.as_mut().unwrap().refusal = Some(why.to_owned());
    let endless = "it had not ended after 10 s";
    let mut sleep = BenchProgram::new(command("sleep infinity"), shared::absent(endless));
    sleep.modes = shared::absent(endless);
    let mut record = record(vec![busybox, sleep]);
    (record.plan.cold, record.plan.pause_seconds) = (true, Nanos(50_000_000));
    record
}

/// A bench that was interrupted after few runs.
pub(crate) fn interrupted() -> BenchRecord {
    let few = || shared::absent("3 runs are too few for an interval with two ends, which needs 7 or more (--runs)");
    let mut modes = gains();
    for effect in modes.iter_mut().flat_map(|figures| &mut figures.effects) {
        (effect.verdict, effect.change, effect.low, effect.high) = (Verdict::Undecided, few(), few(), few());
    }
    for (_, mean) in modes.iter_mut().flat_map(|figures| &mut figures.means.0) {
        if let Ok(mean) = mean {
            (mean.deviation, mean.sessions) = (None, 1);
        }
    }
    BenchRecord { ending: Ending::Interrupted, ..record(vec![program("true", modes, &[])]) }
}

/// More programs than the text report shows tables of.
pub(crate) fn many() -> BenchRecord {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    record(names.into_iter().map(|name| program(name, gains(), &[])).collect())
}

/// All records, by name.
pub(crate) fn all() -> Vec<(&'static str, BenchRecord)> {
    vec![
        ("warm-bench", usual()),
        ("warm-bench-refused", refused()),
        ("warm-bench-interrupted", interrupted()),
        ("warm-bench-many", many()),
    ]
}
