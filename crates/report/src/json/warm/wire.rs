//! Sessions as they travel: apart from the model's types, so that either may change without the other.

use serde::{Deserialize, Serialize};
use steady_model::{
    Absent, Nanos, Outcome, Reading, WarmBenchPlan, WarmCounts, WarmMode, WarmRun, WarmSession, WarmSpent, WarmTrial,
};

use crate::json::ReadError;
use crate::json::check::{LONGEST, MOST, holds};
use crate::json::wire::{Seconds, join, required, split};

/// [`WarmBenchPlan`] in JSON, less the programs and the seed.
#[derive(Deserialize)]
pub(super) struct BenchPlanWire {
    count: u32,
    runs: u32,
    pause_seconds: Seconds,
    cold: bool,
    timeout_seconds: Seconds,
}

impl BenchPlanWire {
    pub(super) fn into_plan(self, programs: Vec<steady_model::Command>, seed: steady_model::Seed) -> WarmBenchPlan {
        let BenchPlanWire { count, runs, cold, .. } = self;
        let (pause, timeout) = (self.pause_seconds.0, self.timeout_seconds.0);
        WarmBenchPlan { programs, count, runs, pause, cold, timeout, seed }
    }
}

/// [`WarmTrial`] in JSON: the sessions by run, then those that were counted.
#[derive(Serialize, Deserialize)]
pub(super) struct TrialWire {
    /// How many sessions each run has.
    runs: Vec<usize>,
    /// Those of the runs, then the counted ones.
    sessions: Vec<SessionWire>,
    #[serde(deserialize_with = "required")]
    refusal: Option<String>,
}

/// [`WarmSession`] in JSON.
#[derive(Serialize, Deserialize)]
struct SessionWire {
    mode: WarmMode,
    before_seconds: (Seconds, Seconds),
    launches_seconds: Vec<(Seconds, Seconds)>,
    beside_seconds: Seconds,
    voluntary_switches: u64,
    involuntary_switches: u64,
    minor_faults: u64,
    major_faults: u64,
    #[serde(deserialize_with = "required")]
    warm: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warm_absent: Option<String>,
    ended: Outcome,
    alike: bool,
    #[serde(deserialize_with = "required")]
    counts: Option<CountsWire>,
}

/// [`WarmCounts`] in JSON.
#[derive(Serialize, Deserialize)]
struct CountsWire {
    #[serde(deserialize_with = "required")]
    migrations: Option<u64>,
    #[serde(deserialize_with = "required")]
    instructions: Option<u64>,
    #[serde(deserialize_with = "required")]
    cycles: Option<u64>,
}

impl From<&WarmTrial> for TrialWire {
    fn from(trial: &WarmTrial) -> Self {
        let sessions = trial.runs.iter().flat_map(|run| &run.0).chain(&trial.counted);
        TrialWire {
            runs: trial.runs.iter().map(|run| run.0.len()).collect(),
            sessions: sessions.map(SessionWire::from).collect(),
            refusal: trial.refusal.clone(),
        }
    }
}

impl TrialWire {
    pub(super) fn into_trial(self) -> Result<WarmTrial, ReadError> {
        let all = self
            .sessions
            .into_iter()
            .enumerate()
            .map(|(at, one)| one.into_session().map_err(|error| error.within(&format!("sessions[{at}]"))));
        let mut all = all.collect::<Result<Vec<WarmSession>, ReadError>>()?.into_iter();
        let runs: Vec<WarmRun> =
            self.runs.iter().map(|sessions| WarmRun(all.by_ref().take(*sessions).collect())).collect();
        let whole = runs.iter().zip(&self.runs).all(|(run, sessions)| run.0.len() == *sessions);
        holds(whole, "runs", "there are fewer sessions")?;
        Ok(WarmTrial { runs, counted: all.collect(), refusal: self.refusal })
    }
}

impl From<&WarmSession> for SessionWire {
    fn from(session: &WarmSession) -> Self {
        let spent = |spent: &WarmSpent| (Seconds(spent.wall), Seconds(spent.cpu));
        let (warm, warm_absent) = split(&session.warm, |warm| warm);
        SessionWire {
            mode: session.mode,
            before_seconds: spent(&session.before),
            launches_seconds: session.launches.iter().map(spent).collect(),
            beside_seconds: Seconds(session.beside),
            voluntary_switches: session.voluntary_switches,
            involuntary_switches: session.involuntary_switches,
            minor_faults: session.minor_faults,
            major_faults: session.major_faults,
            warm,
            warm_absent,
            ended: session.ended,
            alike: session.alike,
            counts: session.counts.map(|counts| {
                let WarmCounts { migrations, instructions, cycles } = counts;
                CountsWire { migrations, instructions, cycles }
            }),
        }
    }
}

impl SessionWire {
    fn into_session(self) -> Result<WarmSession, ReadError> {
        let spent = |(wall, cpu): (Seconds, Seconds)| WarmSpent { wall: wall.0, cpu: cpu.0 };
        let warm: Reading<u64> = join("warm", self.warm, self.warm_absent.map(|why| Absent(why).0))?;
        let session = WarmSession {
            mode: self.mode,
            before: spent(self.before_seconds),
            launches: self.launches_seconds.into_iter().map(spent).collect(),
            beside: self.beside_seconds.0,
            voluntary_switches: self.voluntary_switches,
            involuntary_switches: self.involuntary_switches,
            minor_faults: self.minor_faults,
            major_faults: self.major_faults,
            warm,
            ended: self.ended,
            alike: self.alike,
            counts: self.counts.map(|counts| {
                let CountsWire { migrations, instructions, cycles } = counts;
                WarmCounts { migrations, instructions, cycles }
            }),
        };
        check(&session)?;
        Ok(session)
    }
}

/// Whether a session's numbers are such that there can be.
fn check(session: &WarmSession) -> Result<(), ReadError> {
    holds(!session.launches.is_empty(), "launches_seconds", "there is none")?;
    let short = |spent: &WarmSpent| spent.wall < LONGEST && spent.cpu < LONGEST;
    holds(session.launches.iter().all(short), "launches_seconds", "longer than any measuring")?;
    let whole: Nanos = session.first(session.launches.len()).wall;
    holds(whole < LONGEST, "launches_seconds", "longer than any measuring")?;
    holds(short(&session.before) && session.beside < LONGEST, "before_seconds", "longer than any measuring")?;
    let counts = [session.voluntary_switches, session.involuntary_switches, session.minor_faults, session.major_faults];
    holds(counts.iter().all(|count| *count <= MOST), "minor_faults", "more than there can be")?;
    let warm = session.warm.as_ref().map_or(0, |warm| *warm);
    holds(warm <= session.launches.len() as u64, "warm", "more than there were launches")
}
