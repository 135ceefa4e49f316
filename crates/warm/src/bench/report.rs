//! From the record to figures: pure, so that a record gives the same report whenever it is read.

mod break_even;
mod notes;

use steady_model::{
    Absent, Interval, Layout, Reading, WarmBenchRecord, WarmBenchReport, WarmEffect, WarmFigures, WarmMean,
    WarmMeasure, WarmMode, WarmProgram, WarmSession, WarmTrial,
};
use steady_stats::{MIN_PAIRS, Pair, Rules, Sequence, Slot};

/// The error of the verdicts of one measure, for both modes together.
const ALPHA: f64 = 0.05;
/// A change that does not matter.
const RESOLUTION: f64 = 0.01;

/// The report on what was measured.
pub fn report(record: WarmBenchRecord) -> WarmBenchReport {
    let programs = record.trials.iter().map(|trial| {
        trial.as_ref().map_err(Clone::clone).and_then(|trial| {
            if trial.runs.is_empty() {
                return Err(Absent::because("it was interrupted before there was a session of each mode"));
            }
            Ok(program(&record, trial))
        })
    });
    let programs = programs.collect();
    WarmBenchReport { programs, record }
}

fn program(record: &WarmBenchRecord, trial: &WarmTrial) -> WarmProgram {
    let effects = effects(trial);
    let modes: Vec<WarmFigures> =
        WarmMode::ALL.into_iter().map(|mode| figures(record, trial, mode, &effects)).collect();
    let notes = notes::notes(trial, &modes);
    WarmProgram { modes, notes }
}

fn figures(
    record: &WarmBenchRecord,
    trial: &WarmTrial,
    mode: WarmMode,
    effects: &[(WarmMode, WarmEffect)],
) -> WarmFigures {
    let sessions: Vec<&WarmSession> = trial.runs.iter().filter_map(|run| Some(run.of(mode)?.1)).collect();
    let counted: Vec<&WarmSession> = trial.counted.iter().filter(|session| session.mode == mode).collect();
    let mean_of = |measure: WarmMeasure| {
        let of = if is_counted(measure) { &counted } else { &sessions };
        let values = of.iter().map(|session| per_launch(record, session, measure)).collect::<Reading<Vec<f64>>>()?;
        mean(&values)
    };
    let launches: u64 = sessions.iter().map(|session| session.launches.len() as u64).sum();
    let warm = sessions.iter().map(|session| session.warm.clone()).collect::<Reading<Vec<u64>>>();
    WarmFigures {
        mode,
        means: WarmMeasure::ALL.into_iter().map(|measure| (measure, mean_of(measure))).collect(),
        warm_ratio: warm.map(|warm| warm.iter().sum::<u64>() as f64 / launches.max(1) as f64),
        effects: effects.iter().filter(|(of, _)| *of == mode).map(|(_, effect)| effect.clone()).collect(),
        break_even: match mode {
            WarmMode::Normal => Err(Absent::because("normal launches take no snapshot")),
            _ if sessions.iter().all(|session| session.warm == Ok(0)) => {
                Err(Absent::because("no launch was from a snapshot"))
            }
            mode => break_even::break_even(trial, mode),
        },
        course: course(&sessions),
    }
}

/// Whether it is read in sessions of their own.
fn is_counted(measure: WarmMeasure) -> bool {
    matches!(measure, WarmMeasure::Migrations | WarmMeasure::Instructions | WarmMeasure::Cycles)
}

/// A session's mean over its launches.
fn per_launch(record: &WarmBenchRecord, session: &WarmSession, measure: WarmMeasure) -> Reading<f64> {
    let launches = session.launches.len().max(1) as f64;
    let counts = session.counts.unwrap_or_default();
    let counted = |count: Option<u64>, why: &dyn Fn() -> Absent| count.map(|count| count as f64).ok_or_else(why);
    let of_hardware =
        || record.counters.as_ref().err().cloned().unwrap_or_else(|| Absent::because("not all were counted"));
    let all = session.first(session.launches.len());
    let whole = match measure {
        WarmMeasure::Wall => all.wall.seconds(),
        WarmMeasure::Cpu => all.cpu.seconds(),
        WarmMeasure::AllWall => (session.before.wall + all.wall).seconds(),
        WarmMeasure::AllCpu => (session.before.cpu + all.cpu + session.beside).seconds(),
        WarmMeasure::Switches => (session.voluntary_switches + session.involuntary_switches) as f64,
        WarmMeasure::Faults => (session.minor_faults + session.major_faults) as f64,
        WarmMeasure::Migrations => counted(counts.migrations, &|| Absent::because("the kernel did not count them"))?,
        WarmMeasure::Instructions => counted(counts.instructions, &of_hardware)?,
        WarmMeasure::Cycles => counted(counts.cycles, &of_hardware)?,
    };
    Ok(whole / launches)
}

fn mean(values: &[f64]) -> Reading<WarmMean> {
    if values.is_empty() {
        return Err(Absent::because("no session was counted"));
    }
    let (count, sum) = (values.len() as f64, values.iter().sum::<f64>());
    let mean = sum / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt());
    Ok(WarmMean { mean, deviation, sessions: values.len() })
}

/// The modes against normal launches: pairs of sessions out of one run, all looked at once.
fn effects(trial: &WarmTrial) -> Vec<(WarmMode, WarmEffect)> {
    let modes = &WarmMode::ALL[1..];
    let judged = |measure: WarmMeasure| {
        let pairs: Vec<Vec<Pair>> = modes.iter().map(|mode| pairs(trial, *mode, measure)).collect();
        let grain = if matches!(measure, WarmMeasure::Wall | WarmMeasure::AllWall) { 1e-9 } else { 1e-6 };
        let rules = Rules { alpha: ALPHA, resolution: RESOLUTION, limits: vec![], grain };
        let look = Sequence::new(rules, modes.len()).look(&pairs, 1.0, true);
        let told = modes.iter().zip(look.contenders).map(move |(mode, estimate)| {
            let runs = if estimate.pairs == 1 { "is 1 run".to_owned() } else { format!("are {} runs", estimate.pairs) };
            let few = || Absent(format!("there {runs}, too few for an interval with two ends"));
            let interval = estimate.verdict_low.zip(estimate.verdict_high).map(|(low, high)| Interval { low, high });
            let effect = WarmEffect {
                measure,
                verdict: estimate.verdict,
                change: estimate.size.change.filter(|_| estimate.pairs >= MIN_PAIRS).ok_or_else(few),
                interval: interval.ok_or_else(few),
            };
            (*mode, effect)
        });
        told.collect::<Vec<_>>()
    };
    WarmMeasure::JUDGED.into_iter().flat_map(judged).collect()
}

fn pairs(trial: &WarmTrial, mode: WarmMode, measure: WarmMeasure) -> Vec<Pair> {
    let cost = |session: &WarmSession| {
        let all = session.first(session.launches.len());
        match measure {
            WarmMeasure::Wall => all.wall.seconds(),
            WarmMeasure::AllWall => (session.before.wall + all.wall).seconds(),
            WarmMeasure::AllCpu => (session.before.cpu + all.cpu + session.beside).seconds(),
            _ => all.cpu.seconds(),
        }
    };
    let pair = |run: &steady_model::WarmRun| {
        let ((old_place, old), (new_place, new)) = (run.of(WarmMode::Normal)?, run.of(mode)?);
        let slot = Slot { order: if new_place > old_place { 1 } else { -1 }, cpu: 0 };
        Some(Pair { layout: Layout::Turns, slot, old: cost(old), new: cost(new) })
    };
    trial.runs.iter().filter_map(pair).collect()
}

/// What each launch of a session takes, by its place: means over the sessions.
fn course(sessions: &[&WarmSession]) -> Vec<[f64; 2]> {
    let longest = sessions.iter().map(|session| session.launches.len()).max().unwrap_or(0);
    let at = |place: usize| {
        let all: Vec<_> = sessions.iter().filter_map(|session| session.launches.get(place)).collect();
        let count = all.len().max(1) as f64;
        let sum = |of: fn(&steady_model::WarmSpent) -> f64| all.iter().map(|spent| of(spent)).sum::<f64>() / count;
        [sum(|spent| spent.wall.seconds()), sum(|spent| spent.cpu.seconds())]
    };
    (0..longest).map(at).collect()
}
