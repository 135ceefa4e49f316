//! A simulated launcher with known costs, to test the experiment and its report.

use crate::record::{BenchSession, LaunchMode, SessionCounts, Spent};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use steady_model::{Absent, Nanos, Outcome, Reading};

use super::experiment::{BenchError, SessionLauncher, SessionOrder};

/// A launcher that simulates sessions. Costs are in microseconds.
#[derive(Clone, Debug)]
pub struct SimulatedLauncher {
    /// Wall and CPU time of a normal launch.
    pub normal: (f64, f64),
    /// Wall and CPU time of a launch from a snapshot.
    pub warm: (f64, f64),
    /// What the hook adds to a launch as usual.
    pub hook: f64,
    /// CPU time of capturing a snapshot.
    pub taking: f64,
    /// On demand, the number of launches before the snapshot exists.
    pub late: usize,
    /// The range of the relative cost of sessions: 0.05 is ± 2.5 %.
    pub noise: f64,
    /// Indices of programs that are refused.
    pub refused: Vec<usize>,
    /// Indices of programs that do not end.
    pub endless: Vec<usize>,
    /// The number of sessions after which the user interrupts.
    pub interrupted_after: Option<u64>,
    coins: ChaCha12Rng,
    sessions: u64,
}

impl SimulatedLauncher {
    /// Creates a launcher with typical costs, where no program is refused or endless.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        SimulatedLauncher {
            normal: (500.0, 460.0),
            warm: (180.0, 150.0),
            hook: 40.0,
            taking: 8_000.0,
            late: 2,
            noise: 0.05,
            refused: vec![],
            endless: vec![],
            interrupted_after: None,
            coins: ChaCha12Rng::seed_from_u64(seed),
            sessions: 0,
        }
    }

    /// Simulates a launch, by its position in the session. Returns whether it was from a snapshot, and its cost.
    fn launch(&mut self, order: &SessionOrder, place: usize, factor: f64) -> (bool, Spent) {
        let refused = self.refused.contains(&order.program);
        let warm = match order.mode {
            LaunchMode::Normal => false,
            LaunchMode::Prewarm => !refused,
            LaunchMode::OnDemand => !refused && place >= self.late,
        };
        let hook = if order.mode == LaunchMode::Normal || warm { 0.0 } else { self.hook };
        let (wall, cpu) = if warm { self.warm } else { self.normal };
        let own = factor * (1.0 + 0.02 * self.coins.random::<f64>());
        (warm, Spent { wall: micros((wall + hook) * own), cpu: micros((cpu + hook) * own) })
    }
}

fn micros(value: f64) -> Nanos {
    Nanos::from_seconds(value * 1e-6)
}

impl SessionLauncher for SimulatedLauncher {
    fn session(&mut self, order: SessionOrder) -> Result<Reading<(BenchSession, Option<String>)>, BenchError> {
        if self.interrupted_after.is_some_and(|after| self.sessions >= after) {
            return Err(BenchError::Interrupted);
        }
        self.sessions += 1;
        if self.endless.contains(&order.program) {
            return Ok(Err(Absent::because("it had not ended after 10 s")));
        }
        let factor = 1.0 + self.noise * (self.coins.random::<f64>() - 0.5);
        let (mut launches, mut warm) = (vec![], 0);
        for place in 0..order.count as usize {
            let (from_snapshot, spent) = self.launch(&order, place, factor);
            launches.push(spent);
            warm += u64::from(from_snapshot);
        }
        let refusal = (order.mode == LaunchMode::Prewarm && self.refused.contains(&order.program))
            .then(|| "it is a static program".to_owned());
        let captured = if self.refused.contains(&order.program) { 500.0 } else { self.taking };
        let before = match order.mode {
            LaunchMode::Normal => 1_500.0,
            LaunchMode::Prewarm => 4_000.0 + captured,
            LaunchMode::OnDemand => 4_000.0,
        };
        let captures = if order.mode == LaunchMode::OnDemand { captured + 600.0 } else { 0.0 };
        let count = u64::from(order.count);
        let session = BenchSession {
            mode: order.mode,
            before_seconds: Spent { wall: micros(before * factor), cpu: micros(before * 0.9 * factor) },
            launches_seconds: launches,
            beside_seconds: micros(captures * factor),
            voluntary_switches: count,
            involuntary_switches: 1,
            minor_faults: 80 * count - 30 * warm,
            major_faults: 0,
            warm: Ok(warm),
            ended: Outcome::Exited(0),
            alike: true,
            counts: order.counted.then(|| SessionCounts { migrations: Some(count / 10), ..SessionCounts::default() }),
        };
        Ok(Ok((session, refusal)))
    }

    fn now(&self) -> Nanos {
        Nanos(self.sessions * 20_000_000)
    }
}
