//! After how many launches of a program its snapshot is paid back.
//!
//! What it cost so far is held against as many normal launches, launch by launch, over pairs of sessions out of one run:
//! the taking, then each launch. Taken before, it is waited for; taken beside, only its CPU time is spent. What `steady warm`
//! itself needs to start is in neither: that is once for all programs of a command.

use steady_model::{Absent, BreakEven, PaidBack, Reading, WarmMode, WarmRun, WarmSession, WarmSpent, WarmTrial};
use steady_stats::{MIN_PAIRS, mean, shift, weights};

const ALPHA: f64 = 0.05;

/// By wall time and by CPU time.
pub(super) fn break_even(trial: &WarmTrial, mode: WarmMode) -> Reading<[BreakEven; 2]> {
    let runs: Vec<Pair<'_>> = trial.runs.iter().filter_map(|run| Pair::of(run, mode)).collect();
    if runs.is_empty() {
        return Err(Absent::because("there is no run with a session of each mode"));
    }
    Ok([
        of(&runs, |spent| spent.wall.seconds(), |run| run.waited()),
        of(&runs, |spent| spent.cpu.seconds(), |run| run.used()),
    ])
}

/// The sessions of one run.
struct Pair<'a> {
    normal: &'a WarmSession,
    warm: &'a WarmSession,
    /// Whose start is that of `steady warm` alone.
    on_demand: &'a WarmSession,
}

impl<'a> Pair<'a> {
    fn of(run: &'a WarmRun, mode: WarmMode) -> Option<Self> {
        let of = |mode| Some(run.of(mode)?.1);
        Some(Pair { normal: of(WarmMode::Normal)?, warm: of(mode)?, on_demand: of(WarmMode::OnDemand)? })
    }

    /// How long the first launch waited for the taking.
    fn waited(&self) -> f64 {
        self.warm.before.wall.seconds() - self.on_demand.before.wall.seconds()
    }

    /// CPU time of the taking.
    fn used(&self) -> f64 {
        self.warm.before.cpu.seconds() - self.on_demand.before.cpu.seconds() + self.warm.beside.seconds()
    }
}

fn of(runs: &[Pair<'_>], time: fn(&WarmSpent) -> f64, taking: fn(&Pair<'_>) -> f64) -> BreakEven {
    let launches = runs.iter().map(|run| run.warm.launches.len().min(run.normal.launches.len())).min().unwrap_or(0);
    let all = |session: &WarmSession| session.launches.iter().map(time).sum::<f64>();
    let weights = weights(&runs.iter().map(|run| (all(run.normal), all(run.warm))).collect::<Vec<_>>());
    let takings: Vec<f64> = runs.iter().map(taking).collect();
    let mut behind = takings.clone();
    let (mut means, mut surely) = (Vec::with_capacity(launches), Vec::with_capacity(launches));
    for launch in 0..launches {
        for (behind, run) in behind.iter_mut().zip(runs) {
            *behind += time(&run.warm.launches[launch]) - time(&run.normal.launches[launch]);
        }
        means.push(mean(&behind, &weights));
        surely.push(runs.len() >= MIN_PAIRS && shift(&behind, &weights, ALPHA).interval.high <= 0.0);
    }
    let paid = from_where(&means.iter().map(|mean| *mean <= 0.0).collect::<Vec<_>>());
    BreakEven {
        taking: mean(&takings, &weights),
        paid_back: paid.map_or_else(|| beyond(&means), PaidBack::After),
        certain: from_where(&surely),
    }
}

/// From which launch on it holds for all further ones.
fn from_where(holds: &[bool]) -> Option<u64> {
    let first = holds.iter().rposition(|holds| !holds).map_or(0, |last| last + 1);
    (first < holds.len()).then_some(first as u64 + 1)
}

/// Where the second half of the launches would lead.
fn beyond(behind: &[f64]) -> PaidBack {
    let (Some(last), Some(middle)) = (behind.last(), behind.get(behind.len().saturating_sub(1) / 2)) else {
        return PaidBack::Never;
    };
    let gained = (middle - last) / (behind.len() - 1 - (behind.len() - 1) / 2).max(1) as f64;
    match gained > 0.0 {
        true => PaidBack::Probably((behind.len() as f64 + last / gained).ceil() as u64),
        false => PaidBack::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steady_model::{Nanos, Outcome};

    fn session(mode: WarmMode, before: u64, launches: &[u64], beside: u64) -> WarmSession {
        let spent = |micros: u64| WarmSpent { wall: Nanos(micros * 1_000), cpu: Nanos(micros * 1_000) };
        WarmSession {
            mode,
            before: spent(before),
            launches: launches.iter().map(|micros| spent(*micros)).collect(),
            beside: Nanos(beside * 1_000),
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

    fn trial(prewarm: (u64, &[u64]), on_demand: (u64, &[u64]), normal: u64) -> WarmTrial {
        let normals = vec![normal; on_demand.1.len()];
        let run = WarmRun(vec![
            session(WarmMode::OnDemand, 1_000, on_demand.1, on_demand.0),
            session(WarmMode::Normal, 100, &normals, 0),
            session(WarmMode::Prewarm, 1_000 + prewarm.0, prewarm.1, 0),
        ]);
        WarmTrial { runs: vec![run; 8], ..WarmTrial::default() }
    }

    fn paid(trial: &WarmTrial, mode: WarmMode) -> [(PaidBack, Option<u64>); 2] {
        break_even(trial, mode).unwrap().map(|one| (one.paid_back, one.certain))
    }

    #[test]
    fn the_taking_is_paid_back_by_what_later_launches_save() {
        // The first two are dearer by 20, each later one is cheaper by 60: 20, 40, -20.
        let trial = trial((130, &[40; 4]), (150, &[120, 120, 40, 40]), 100);
        let both = (PaidBack::After(3), Some(3));
        assert_eq!(paid(&trial, WarmMode::OnDemand)[0], both);
        // With 150 of CPU beside: 170, 190, 130, 70, and 60 are saved each time.
        assert_eq!(paid(&trial, WarmMode::OnDemand)[1], (PaidBack::Probably(6), None));
        // 130 waited for, 60 saved each time.
        assert_eq!(paid(&trial, WarmMode::Prewarm), [both, both]);
        assert!((break_even(&trial, WarmMode::Prewarm).unwrap()[0].taking - 130e-6).abs() < 1e-12);
    }

    #[test]
    fn what_saves_nothing_is_never_paid_back() {
        let trial = trial((10, &[100; 4]), (10, &[110; 4]), 100);
        assert_eq!(paid(&trial, WarmMode::OnDemand), [(PaidBack::Never, None); 2]);
        assert_eq!(paid(&trial, WarmMode::Prewarm)[0], (PaidBack::Never, None));
    }

    #[test]
    fn few_runs_are_never_certain() {
        let mut few = trial((10, &[40; 4]), (10, &[40; 4]), 100);
        few.runs.truncate(MIN_PAIRS - 1);
        assert_eq!(paid(&few, WarmMode::OnDemand)[1], (PaidBack::After(1), None));
    }
}
