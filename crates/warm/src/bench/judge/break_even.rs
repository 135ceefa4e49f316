//! Computes after how many launches of a program its snapshot pays for itself.
//!
//! For each launch, the cost so far (the capture and the launches) is compared with the cost of as many normal
//! launches, over pairs of sessions of the same run. A capture before the first launch costs wall and CPU time; a
//! capture during the launches costs only CPU time. The start of `steady warm` itself is not included, because a
//! command pays for it once for all its programs.

use crate::record::{
    BenchSession, BenchTrial, BreakEven, LaunchMode, Measure, ModeFigures, PaidBack, Spent, finite, of_mode,
};
use steady_model::{Absent, Reading, Verdict};
use steady_stats::{MIN_PAIRS, mean, shift};

const ALPHA: f64 = 0.05;

/// Computes the break-even of a mode in wall time and in CPU time.
pub(super) fn break_even(trial: &BenchTrial, mode: LaunchMode) -> Reading<BreakEven> {
    let runs: Vec<Pair<'_>> = trial.runs().filter_map(|run| Pair::of(run, mode)).collect();
    if runs.is_empty() {
        return Err(Absent::because("no run has a session of each mode"));
    }
    Ok(BreakEven {
        wall: of(&runs, |spent| spent.wall.seconds(), |run| run.waited()),
        cpu: of(&runs, |spent| spent.cpu.seconds(), |run| run.used()),
    })
}

/// Returns the break-even of a mode without the numbers of launches that its other figures do not support.
pub(super) fn supported(figures: &ModeFigures) -> Reading<BreakEven> {
    let of = |one: PaidBack, measure| {
        let has_gain = figures.effect(measure).is_some_and(|effect| effect.verdict == Verdict::Faster);
        let unless =
            |why: &str, one: PaidBack| PaidBack { launches: Err(Absent::because(why)), extrapolated: false, ..one };
        if figures.has_few_snapshots() {
            let few = "too few launches were from a snapshot";
            return PaidBack { certain_launches: Err(Absent::because(few)), ..unless(few, one) };
        }
        match one.extrapolated && !has_gain {
            true => unless("not within the measured launches, and a gain per launch is not certain", one),
            false => one,
        }
    };
    let both = figures.break_even.clone()?;
    Ok(BreakEven { wall: of(both.wall, Measure::Wall), cpu: of(both.cpu, Measure::Cpu) })
}

/// The sessions of one run.
struct Pair<'a> {
    normal: &'a BenchSession,
    warm: &'a BenchSession,
    /// In its `before_seconds` it has the start of `steady warm` without a capture.
    on_demand: &'a BenchSession,
}

impl<'a> Pair<'a> {
    fn of(run: &'a [BenchSession], mode: LaunchMode) -> Option<Self> {
        let of = |mode| Some(of_mode(run, mode)?.1);
        Some(Pair { normal: of(LaunchMode::Normal)?, warm: of(mode)?, on_demand: of(LaunchMode::OnDemand)? })
    }

    /// Seconds that the first launch waited for the capture.
    fn waited(&self) -> f64 {
        self.warm.before_seconds.wall.seconds() - self.on_demand.before_seconds.wall.seconds()
    }

    /// CPU time of the capture, in seconds.
    fn used(&self) -> f64 {
        self.warm.before_seconds.cpu.seconds() - self.on_demand.before_seconds.cpu.seconds()
            + self.warm.beside_seconds.seconds()
    }
}

fn of(runs: &[Pair<'_>], time: fn(&Spent) -> f64, taking: fn(&Pair<'_>) -> f64) -> PaidBack {
    let both = |run: &Pair<'_>| run.warm.launches_seconds.len().min(run.normal.launches_seconds.len());
    let launches = runs.iter().map(both).min().unwrap_or(0);
    // All runs count equally. Weights from the costs would prefer runs with cheap normal launches, because launches from
    // a snapshot cost far less, and the gain would seem smaller than it is.
    let weights = vec![1.0; runs.len()];
    let takings: Vec<f64> = runs.iter().map(taking).collect();
    let mut behind = takings.clone();
    let (mut means, mut surely) = (Vec::with_capacity(launches), Vec::with_capacity(launches));
    for launch in 0..launches {
        for (behind, run) in behind.iter_mut().zip(runs) {
            *behind += time(&run.warm.launches_seconds[launch]) - time(&run.normal.launches_seconds[launch]);
        }
        means.push(mean(&behind, &weights));
        surely.push(runs.len() >= MIN_PAIRS && shift(&behind, &weights, ALPHA).interval.high <= 0.0);
    }
    let paid = from_where(&means.iter().map(|mean| *mean <= 0.0).collect::<Vec<_>>());
    let none = |why: &str| Absent::because(why);
    PaidBack {
        capture_seconds: finite(mean(&takings, &weights)),
        launches: paid.or_else(|| beyond(&means)).ok_or_else(|| none("later launches are no cheaper")),
        extrapolated: paid.is_none() && beyond(&means).is_some(),
        certain_launches: from_where(&surely).ok_or_else(|| none("not within the measured launches")),
    }
}

/// Returns the number of the first launch from which on the condition holds for all launches.
fn from_where(holds: &[bool]) -> Option<u64> {
    let first = holds.iter().rposition(|holds| !holds).map_or(0, |last| last + 1);
    (first < holds.len()).then_some(first as u64 + 1)
}

/// Extrapolates the slope of the second half of the launches to zero; `None` if later launches are no cheaper.
fn beyond(behind: &[f64]) -> Option<u64> {
    let (last, middle) = (behind.last()?, behind.get(behind.len().saturating_sub(1) / 2)?);
    let gained = (middle - last) / (behind.len() - 1 - (behind.len() - 1) / 2).max(1) as f64;
    (gained > 0.0).then(|| (behind.len() as f64 + last / gained).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Effect, Means};
    use steady_model::{Nanos, Outcome};

    fn session(mode: LaunchMode, before: u64, launches: &[u64], captures: u64) -> BenchSession {
        let spent = |micros: u64| Spent { wall: Nanos(micros * 1_000), cpu: Nanos(micros * 1_000) };
        BenchSession {
            mode,
            before_seconds: spent(before),
            launches_seconds: launches.iter().map(|micros| spent(*micros)).collect(),
            beside_seconds: Nanos(captures * 1_000),
            voluntary_switches: 0,
            involuntary_switches: 0,
            minor_faults: 0,
            major_faults: 0,
            warm: Ok(0),
            ended: Outcome::Exited(0),
            alike: true,
            counts: None,
        }
    }

    fn runs(runs: usize, prewarm: (u64, &[u64]), on_demand: (u64, &[u64]), normal: u64) -> BenchTrial {
        let normals = vec![normal; on_demand.1.len()];
        let run = vec![
            session(LaunchMode::OnDemand, 1_000, on_demand.1, on_demand.0),
            session(LaunchMode::Normal, 100, &normals, 0),
            session(LaunchMode::Prewarm, 1_000 + prewarm.0, prewarm.1, 0),
        ];
        let mut trial = BenchTrial::default();
        (0..runs).for_each(|_| trial.push_run(run.clone()));
        trial
    }

    fn trial(prewarm: (u64, &[u64]), on_demand: (u64, &[u64]), normal: u64) -> BenchTrial {
        runs(8, prewarm, on_demand, normal)
    }

    /// The number of launches, whether that is extrapolated, and from which launch on it is certain.
    type Paid = (Option<u64>, bool, Option<u64>);

    /// The break-even in wall time and in CPU time.
    fn paid(trial: &BenchTrial, mode: LaunchMode) -> [Paid; 2] {
        let both = break_even(trial, mode).unwrap();
        [both.wall, both.cpu].map(|one| (one.launches.ok(), one.extrapolated, one.certain_launches.ok()))
    }

    #[test]
    fn later_savings_pay_for_the_capture() {
        // The first two launches cost 20 more, each later one 60 less: sums of 20, 40, -20.
        let trial = trial((130, &[40; 4]), (150, &[120, 120, 40, 40]), 100);
        let both = (Some(3), false, Some(3));
        assert_eq!(paid(&trial, LaunchMode::OnDemand)[0], both);
        // With 150 of CPU time for the capture the sums are 170, 190, 130, 70, and then fall by 60 each time.
        assert_eq!(paid(&trial, LaunchMode::OnDemand)[1], (Some(6), true, None));
        // The capture of prewarm costs 130, and each launch saves 60.
        assert_eq!(paid(&trial, LaunchMode::Prewarm), [both, both]);
        assert!(
            (break_even(&trial, LaunchMode::Prewarm).unwrap().wall.capture_seconds.unwrap() - 130e-6).abs() < 1e-12
        );
    }

    #[test]
    fn a_snapshot_that_saves_nothing_never_pays_for_itself() {
        let trial = trial((10, &[100; 4]), (10, &[110; 4]), 100);
        assert_eq!(paid(&trial, LaunchMode::OnDemand), [(None, false, None); 2]);
        assert_eq!(paid(&trial, LaunchMode::Prewarm)[0], (None, false, None));
    }

    #[test]
    fn a_number_of_launches_needs_enough_snapshots_and_beyond_the_measured_ones_a_gain() {
        let extrapolated = trial((130, &[40; 4]), (150, &[120, 120, 40, 40]), 100);
        let stated = |warm_ratio, verdict| {
            let effect = |measure| Effect { measure, verdict, change: Ok(0.0), low: Ok(0.0), high: Ok(0.0) };
            let figures = ModeFigures {
                mode: LaunchMode::OnDemand,
                warm_ratio: Ok(warm_ratio),
                means: Means(vec![]),
                effects: vec![effect(Measure::Wall), effect(Measure::Cpu)],
                break_even: break_even(&extrapolated, LaunchMode::OnDemand),
                launch_wall_seconds: vec![],
                launch_cpu_seconds: vec![],
            };
            let BreakEven { wall, cpu } = supported(&figures).unwrap();
            [wall, cpu].map(|one| (one.launches.ok(), one.extrapolated, one.certain_launches.ok()))
        };
        assert_eq!(stated(0.9, Verdict::Faster), paid(&extrapolated, LaunchMode::OnDemand));
        assert_eq!(stated(0.9, Verdict::Undecided), [(Some(3), false, Some(3)), (None, false, None)]);
        assert_eq!(stated(0.1, Verdict::Faster), [(None, false, None); 2]);
    }

    /// In half of the runs a normal launch costs 80, in the other half 120. Four launches gain 360 on average, and the
    /// capture costs 350.
    #[test]
    fn runs_with_expensive_launches_count_as_much_as_others() {
        let mut trial = BenchTrial::default();
        for run in 0..8 {
            let normal = [80, 120][run % 2];
            trial.push_run(vec![
                session(LaunchMode::OnDemand, 1_000, &[normal; 4], 0),
                session(LaunchMode::Normal, 100, &[normal; 4], 0),
                session(LaunchMode::Prewarm, 1_350, &[10; 4], 0),
            ]);
        }
        let [wall, cpu] = paid(&trial, LaunchMode::Prewarm);
        assert_eq!((wall.0, wall.1), (Some(4), false));
        assert_eq!(wall, cpu);
    }

    #[test]
    fn with_few_runs_nothing_is_certain() {
        let few = runs(MIN_PAIRS - 1, (10, &[40; 4]), (10, &[40; 4]), 100);
        assert_eq!(paid(&few, LaunchMode::OnDemand)[1], (Some(1), false, None));
    }
}
