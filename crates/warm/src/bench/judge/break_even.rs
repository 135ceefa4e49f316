//! After how many launches of a program its snapshot is paid back.
//!
//! What it cost so far is held against as many normal launches, launch by launch, over pairs of sessions out of one run:
//! the taking, then each launch. Taken before, it is waited for; taken beside, only its CPU time is spent. What `steady warm`
//! itself needs to start is in neither: that is once for all programs of a command.

use crate::record::{BenchSession, BenchTrial, BreakEven, LaunchMode, PaidBack, Spent, finite, of_mode};
use steady_model::{Absent, Reading};
use steady_stats::{MIN_PAIRS, mean, shift, weights};

const ALPHA: f64 = 0.05;

/// By wall time and by CPU time.
pub(super) fn break_even(trial: &BenchTrial, mode: LaunchMode) -> Reading<BreakEven> {
    let runs: Vec<Pair<'_>> = trial.runs().filter_map(|run| Pair::of(run, mode)).collect();
    if runs.is_empty() {
        return Err(Absent::because("there is no run with a session of each mode"));
    }
    Ok(BreakEven {
        wall: of(&runs, |spent| spent.wall.seconds(), |run| run.waited()),
        cpu: of(&runs, |spent| spent.cpu.seconds(), |run| run.used()),
    })
}

/// The sessions of one run.
struct Pair<'a> {
    normal: &'a BenchSession,
    warm: &'a BenchSession,
    /// Whose start is that of `steady warm` alone.
    on_demand: &'a BenchSession,
}

impl<'a> Pair<'a> {
    fn of(run: &'a [BenchSession], mode: LaunchMode) -> Option<Self> {
        let of = |mode| Some(of_mode(run, mode)?.1);
        Some(Pair { normal: of(LaunchMode::Normal)?, warm: of(mode)?, on_demand: of(LaunchMode::OnDemand)? })
    }

    /// How long the first launch waited for the taking.
    fn waited(&self) -> f64 {
        self.warm.before_seconds.wall.seconds() - self.on_demand.before_seconds.wall.seconds()
    }

    /// CPU time of the taking.
    fn used(&self) -> f64 {
        self.warm.before_seconds.cpu.seconds() - self.on_demand.before_seconds.cpu.seconds()
            + self.warm.beside_seconds.seconds()
    }
}

fn of(runs: &[Pair<'_>], time: fn(&Spent) -> f64, taking: fn(&Pair<'_>) -> f64) -> PaidBack {
    let both = |run: &Pair<'_>| run.warm.launches_seconds.len().min(run.normal.launches_seconds.len());
    let launches = runs.iter().map(both).min().unwrap_or(0);
    let all = |session: &BenchSession| session.launches_seconds.iter().map(time).sum::<f64>();
    let weights = weights(&runs.iter().map(|run| (all(run.normal), all(run.warm))).collect::<Vec<_>>());
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
        taking_seconds: finite(mean(&takings, &weights)),
        launches: paid.or_else(|| beyond(&means)).ok_or_else(|| none("later launches are no cheaper")),
        extrapolated: paid.is_none() && beyond(&means).is_some(),
        certain_launches: from_where(&surely).ok_or_else(|| none("not within the launches that were measured")),
    }
}

/// From which launch on it holds for all further ones.
fn from_where(holds: &[bool]) -> Option<u64> {
    let first = holds.iter().rposition(|holds| !holds).map_or(0, |last| last + 1);
    (first < holds.len()).then_some(first as u64 + 1)
}

/// Where the second half of the launches would lead; nowhere if later launches are no cheaper.
fn beyond(behind: &[f64]) -> Option<u64> {
    let (last, middle) = (behind.last()?, behind.get(behind.len().saturating_sub(1) / 2)?);
    let gained = (middle - last) / (behind.len() - 1 - (behind.len() - 1) / 2).max(1) as f64;
    (gained > 0.0).then(|| (behind.len() as f64 + last / gained).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use steady_model::{Nanos, Outcome};

    fn session(mode: LaunchMode, before: u64, launches: &[u64], beside: u64) -> BenchSession {
        let spent = |micros: u64| Spent { wall: Nanos(micros * 1_000), cpu: Nanos(micros * 1_000) };
        BenchSession {
            mode,
            before_seconds: spent(before),
            launches_seconds: launches.iter().map(|micros| spent(*micros)).collect(),
            beside_seconds: Nanos(beside * 1_000),
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

    /// After how many launches, whether that is extrapolated, and from which launch on it is certain.
    type Paid = (Option<u64>, bool, Option<u64>);

    /// By wall time and by CPU time.
    fn paid(trial: &BenchTrial, mode: LaunchMode) -> [Paid; 2] {
        let both = break_even(trial, mode).unwrap();
        [both.wall, both.cpu].map(|one| (one.launches.ok(), one.extrapolated, one.certain_launches.ok()))
    }

    #[test]
    fn the_taking_is_paid_back_by_what_later_launches_save() {
        // The first two are dearer by 20, each later one is cheaper by 60: 20, 40, -20.
        let trial = trial((130, &[40; 4]), (150, &[120, 120, 40, 40]), 100);
        let both = (Some(3), false, Some(3));
        assert_eq!(paid(&trial, LaunchMode::OnDemand)[0], both);
        // With 150 of CPU beside: 170, 190, 130, 70, and 60 are saved each time.
        assert_eq!(paid(&trial, LaunchMode::OnDemand)[1], (Some(6), true, None));
        // 130 waited for, 60 saved each time.
        assert_eq!(paid(&trial, LaunchMode::Prewarm), [both, both]);
        assert!((break_even(&trial, LaunchMode::Prewarm).unwrap().wall.taking_seconds.unwrap() - 130e-6).abs() < 1e-12);
    }

    #[test]
    fn what_saves_nothing_is_never_paid_back() {
        let trial = trial((10, &[100; 4]), (10, &[110; 4]), 100);
        assert_eq!(paid(&trial, LaunchMode::OnDemand), [(None, false, None); 2]);
        assert_eq!(paid(&trial, LaunchMode::Prewarm)[0], (None, false, None));
    }

    #[test]
    fn few_runs_are_never_certain() {
        let few = runs(MIN_PAIRS - 1, (10, &[40; 4]), (10, &[40; 4]), 100);
        assert_eq!(paid(&few, LaunchMode::OnDemand)[1], (Some(1), false, None));
    }
}
