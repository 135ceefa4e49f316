//! Evaluates the record of a bench. The functions are pure, so a stored record gives the same report again.

mod break_even;

use steady_model::{Absent, CounterScope, Layout, Outcome, Reading};
use steady_process::runner::how;
use steady_stats::{MIN_PAIRS, Pair, Rules, Sequence, Slot};

use crate::record::{
    BenchRecord, BenchSession, BenchTrial, Effect, LaunchMode, Mean, Means, Measure, ModeFigures, Spent, of_mode,
};

/// The error rate of the verdicts of one measure, for both modes together.
const ALPHA: f64 = 0.05;
/// With fewer runs, no interval has two ends: the least p-value of n pairs is 2^(1 - n), and each of the two modes may
/// use half of the error rate.
pub const LEAST_RUNS: u32 = 7;
/// The smallest relative change that matters.
const RESOLUTION: f64 = 0.01;

/// Returns the record with its figures, verdicts and notes, which it derives from the sessions.
pub fn judged(mut record: BenchRecord) -> BenchRecord {
    let counters = record.counters.clone();
    for program in &mut record.programs {
        let judged = program.samples.as_ref().map_err(Clone::clone).and_then(|trial| {
            if trial.run_count() == 0 {
                return Err(Absent::because("the bench was interrupted before it had a session of each mode"));
            }
            let effects = effects(trial);
            let modes = LaunchMode::ALL.map(|mode| figures(&counters, trial, mode, &effects)).to_vec();
            let notes = notes(trial, &modes);
            Ok((modes, notes))
        });
        program.notes = judged.as_ref().ok().map(|judged| judged.1.clone());
        program.modes = judged.map(|judged| judged.0);
    }
    record
}

fn figures(
    counters: &Reading<CounterScope>,
    trial: &BenchTrial,
    mode: LaunchMode,
    effects: &[(LaunchMode, Effect)],
) -> ModeFigures {
    let sessions: Vec<&BenchSession> = trial.runs().filter_map(|run| Some(of_mode(run, mode)?.1)).collect();
    let counted: Vec<&BenchSession> = trial.counted().iter().filter(|session| session.mode == mode).collect();
    let mean_of = |measure: Measure| {
        let of = if is_counted(measure) { &counted } else { &sessions };
        let values = of.iter().map(|session| per_launch(counters, session, measure)).collect::<Reading<Vec<f64>>>()?;
        mean(&values)
    };
    let launches: u64 = sessions.iter().map(|session| session.launches_seconds.len() as u64).sum();
    let warm = sessions.iter().map(|session| session.warm.clone()).collect::<Reading<Vec<u64>>>();
    let course = course(&sessions);
    let figures = ModeFigures {
        mode,
        warm_ratio: warm.map(|warm| warm.iter().sum::<u64>() as f64 / launches.max(1) as f64),
        means: Means(Measure::ALL.into_iter().map(|measure| (measure, mean_of(measure))).collect()),
        effects: effects.iter().filter(|(of, _)| *of == mode).map(|(_, effect)| effect.clone()).collect(),
        break_even: match mode {
            LaunchMode::Normal => Err(Absent::because("normal launches use no snapshot")),
            _ if sessions.iter().all(|session| session.warm == Ok(0)) => {
                Err(Absent::because("no launch was from a snapshot"))
            }
            mode => break_even::break_even(trial, mode),
        },
        launch_wall_seconds: course.iter().map(|launch| launch[0]).collect(),
        launch_cpu_seconds: course.iter().map(|launch| launch[1]).collect(),
    };
    ModeFigures { break_even: break_even::supported(&figures), ..figures }
}

/// Whether the measure comes from the counted sessions.
fn is_counted(measure: Measure) -> bool {
    match measure {
        Measure::Migrations | Measure::Instructions | Measure::Cycles => true,
        Measure::Branches | Measure::BranchMisses | Measure::StalledFrontend | Measure::StalledBackend => true,
        Measure::Wall | Measure::Cpu | Measure::AllWall | Measure::AllCpu => false,
        Measure::Switches | Measure::Faults => false,
    }
}

/// Returns the mean of a measure over the launches of a session.
fn per_launch(counters: &Reading<CounterScope>, session: &BenchSession, measure: Measure) -> Reading<f64> {
    let launches = session.launches_seconds.len().max(1) as f64;
    let counts = session.counts.unwrap_or_default();
    let counted = |count: Option<u64>, why: &dyn Fn() -> Absent| count.map(|count| count as f64).ok_or_else(why);
    let of_hardware = || {
        counters
            .as_ref()
            .err()
            .cloned()
            .unwrap_or_else(|| Absent::because("this CPU does not count it, or has too few counters"))
    };
    let all = session.all();
    let whole = match measure {
        Measure::Wall => all.wall.seconds(),
        Measure::Cpu => all.cpu.seconds(),
        Measure::AllWall => (session.before_seconds.wall + all.wall).seconds(),
        Measure::AllCpu => (session.before_seconds.cpu + all.cpu + session.beside_seconds).seconds(),
        Measure::Switches => (session.voluntary_switches + session.involuntary_switches) as f64,
        Measure::Faults => (session.minor_faults + session.major_faults) as f64,
        Measure::Migrations => counted(counts.migrations, &|| Absent::because("the kernel did not count them"))?,
        Measure::Instructions => counted(counts.instructions, &of_hardware)?,
        Measure::Cycles => counted(counts.cycles, &of_hardware)?,
        Measure::Branches => counted(counts.branches, &of_hardware)?,
        Measure::BranchMisses => counted(counts.branch_misses, &of_hardware)?,
        Measure::StalledFrontend => counted(counts.stalled_frontend, &of_hardware)?,
        Measure::StalledBackend => counted(counts.stalled_backend, &of_hardware)?,
    };
    Ok(whole / launches)
}

fn mean(values: &[f64]) -> Reading<Mean> {
    if values.is_empty() {
        return Err(Absent::because("no session was counted"));
    }
    let (count, sum) = (values.len() as f64, values.iter().sum::<f64>());
    let mean = sum / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt());
    Ok(Mean { mean, deviation, sessions: values.len() })
}

/// Compares both modes with normal launches, by pairs of sessions of the same run. There is one look, at the end.
fn effects(trial: &BenchTrial) -> Vec<(LaunchMode, Effect)> {
    let modes = &LaunchMode::ALL[1..];
    let judged = |measure: Measure| {
        let pairs: Vec<Vec<Pair>> = modes.iter().map(|mode| pairs(trial, *mode, measure)).collect();
        let grain = if matches!(measure, Measure::Wall | Measure::AllWall) { 1e-9 } else { 1e-6 };
        let rules = Rules { alpha: ALPHA, resolution: RESOLUTION, limits: vec![], grain };
        let look = Sequence::new(rules, modes.len()).look(&pairs, 1.0, true);
        let comparisons = modes.iter().zip(look.contenders).map(move |(mode, estimate)| {
            let runs = if estimate.pairs == 1 { "1 run is".to_owned() } else { format!("{} runs are", estimate.pairs) };
            let enough = if estimate.pairs < LEAST_RUNS as usize {
                format!(", which needs {LEAST_RUNS} or more (--runs)")
            } else {
                String::new()
            };
            let few = || Absent(format!("{runs} too few for an interval with two ends{enough}"));
            let ends = estimate.verdict_low.zip(estimate.verdict_high).ok_or_else(few);
            let effect = Effect {
                measure,
                verdict: estimate.verdict,
                change: estimate.size.change.filter(|_| estimate.pairs >= MIN_PAIRS).ok_or_else(few),
                low: ends.clone().and_then(|ends| end(ends.0, "no lower end")),
                high: ends.and_then(|ends| end(ends.1, "no upper end")),
            };
            (*mode, effect)
        });
        comparisons.collect::<Vec<_>>()
    };
    Measure::JUDGED.into_iter().flat_map(judged).collect()
}

fn pairs(trial: &BenchTrial, mode: LaunchMode, measure: Measure) -> Vec<Pair> {
    let cost = |session: &BenchSession| {
        let all = session.all();
        match measure {
            Measure::Wall => all.wall.seconds(),
            Measure::AllWall => (session.before_seconds.wall + all.wall).seconds(),
            Measure::AllCpu => (session.before_seconds.cpu + all.cpu + session.beside_seconds).seconds(),
            _ => all.cpu.seconds(),
        }
    };
    let pair = |run: &[BenchSession]| {
        let ((old_place, old), (new_place, new)) = (of_mode(run, LaunchMode::Normal)?, of_mode(run, mode)?);
        let slot = Slot { order: if new_place > old_place { 1 } else { -1 }, cpu: 0 };
        Some(Pair { layout: Layout::Turns, slot, old: cost(old), new: cost(new) })
    };
    trial.runs().filter_map(pair).collect()
}

/// Returns an end of an interval; a reason if the interval is unbounded there.
fn end(value: f64, otherwise: &str) -> Reading<f64> {
    Some(value).filter(|value| value.is_finite()).ok_or_else(|| Absent::because(otherwise))
}

/// Returns mean wall and CPU time in seconds of each launch of a session, by its position, over the sessions.
fn course(sessions: &[&BenchSession]) -> Vec<[f64; 2]> {
    let longest = sessions.iter().map(|session| session.launches_seconds.len()).max().unwrap_or(0);
    let at = |place: usize| {
        let all: Vec<_> = sessions.iter().filter_map(|session| session.launches_seconds.get(place)).collect();
        let count = all.len().max(1) as f64;
        let sum = |of: fn(&Spent) -> f64| all.iter().map(|spent| of(spent)).sum::<f64>() / count;
        [sum(|spent| spent.wall.seconds()), sum(|spent| spent.cpu.seconds())]
    };
    (0..longest).map(at).collect()
}

/// If a smaller share of prewarmed launches is from a snapshot, a note says so.
const NEARLY_ALL: f64 = 0.99;

/// Returns the remarks that readers should know, as sentences.
fn notes(trial: &BenchTrial, modes: &[ModeFigures]) -> Vec<String> {
    let mut notes = Vec::new();
    let ratio = |mode| {
        let figures = modes.iter().find(|figures: &&ModeFigures| figures.mode == mode)?;
        figures.warm_ratio.as_ref().ok().copied()
    };
    let (prewarm, on_demand) = (ratio(LaunchMode::Prewarm), ratio(LaunchMode::OnDemand));
    let from_snapshots = [prewarm, on_demand].into_iter().flatten().any(|ratio| ratio > 0.0);
    // A reason of one session is none of the program if other sessions had launches from a snapshot.
    let refusal = trial.refusal.as_ref().filter(|_| !from_snapshots);
    match (refusal, prewarm) {
        (Some(why), _) => notes.push(format!("it was launched as usual in all modes: {why}")),
        (None, Some(ratio)) if ratio < NEARLY_ALL => {
            notes.push(format!("prewarmed, only {:.0} % of the launches were from a snapshot", (ratio * 100.0).floor()))
        }
        _ => {}
    }
    if refusal.is_none() && on_demand == Some(0.0) && prewarm != Some(0.0) {
        let advice = "use more launches (--count) or a pause between them (--pause)";
        notes.push(format!("on demand, all launches were over before the snapshot existed: {advice}"));
    }
    notes.extend(ends(trial));
    notes
}

/// States how the program ended, unless all launches exited with status 0.
fn ends(trial: &BenchTrial) -> Option<String> {
    let sessions = || trial.sessions().iter();
    let first = sessions().next()?;
    let other = sessions().find(|session: &&BenchSession| !session.alike || session.ended != first.ended);
    match other {
        Some(other) => Some(format!(
            "not all launches ended in the same way: {} it {}, {} it {}",
            words(first.mode),
            how(&first.ended),
            words(other.mode),
            how(&other.ended)
        )),
        None if first.ended == Outcome::Exited(0) => None,
        None => Some(format!("it {} each time", how(&first.ended))),
    }
}

fn words(mode: LaunchMode) -> &'static str {
    match mode {
        LaunchMode::Normal => "launched as usual",
        LaunchMode::Prewarm => "prewarmed",
        LaunchMode::OnDemand => "on demand",
    }
}
