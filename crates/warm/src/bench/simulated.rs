//! A machine that launches nothing: known costs, so that the experiment and its report can be held to them.

use crate::record::{BenchSession, LaunchMode, SessionCounts, Spent};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use steady_model::{Absent, Nanos, Outcome, Reading};

use super::experiment::{BenchError, SessionLauncher, SessionOrder};

/// What launches cost, in microseconds.
#[derive(Clone, Debug)]
pub struct SimulatedLauncher {
    /// A normal launch: wall and CPU time.
    pub normal: (f64, f64),
    /// One from a snapshot.
    pub warm: (f64, f64),
    /// What the hook adds to a launch without one.
    pub hook: f64,
    /// CPU time that a snapshot takes.
    pub taking: f64,
    /// How many launches are over when it has been taken beside them.
    pub late: usize,
    /// How much a session's launches are dearer or cheaper than others', as a share.
    pub noise: f64,
    /// Programs that are refused a snapshot.
    pub refused: Vec<usize>,
    /// Programs that do not end.
    pub endless: Vec<usize>,
    /// After how many sessions the user asks to stop.
    pub interrupted_after: Option<u64>,
    coins: ChaCha12Rng,
    sessions: u64,
}

impl SimulatedLauncher {
    /// One with costs as they are usual, and none of the rest.
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

    /// A launch, by its place in the session.
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
        let taken = if self.refused.contains(&order.program) { 500.0 } else { self.taking };
        let before = match order.mode {
            LaunchMode::Normal => 1_500.0,
            LaunchMode::Prewarm => 4_000.0 + taken,
            LaunchMode::OnDemand => 4_000.0,
        };
        let beside = if order.mode == LaunchMode::OnDemand { taken + 600.0 } else { 0.0 };
        let count = u64::from(order.count);
        let session = BenchSession {
            mode: order.mode,
            before_seconds: Spent { wall: micros(before * factor), cpu: micros(before * 0.9 * factor) },
            launches_seconds: launches,
            beside_seconds: micros(beside * factor),
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
