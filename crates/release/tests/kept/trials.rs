//! Windows of requests, labelled anew by one of the designs, judged, and counted.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use steady_model::{Assignment, ReleaseReport, ReleaseRows, Verdict};
use steady_release::judge;

use super::made::{self, Label};
use super::recording::{AgentReading, Recorded, Recording};
use super::simulated::{self, Service};

/// How versions come about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Way {
    /// A coin for each request, NEW with this share.
    Coin(f64),
    /// A coin for each pair of slots of so many seconds.
    Slots(u32),
    /// Every second process of a host, told to be canaries.
    Processes,
    /// OLD in the first half of the window, NEW in the second.
    After,
    /// The same, with the agent's rulers alone.
    AfterByAgent,
}

/// Where requests come from.
pub(crate) struct Source {
    pub(crate) requests: Vec<Recorded>,
    pub(crate) agent: Vec<AgentReading>,
    pub(crate) busy: Vec<f64>,
}

impl Source {
    /// The recording.
    pub(crate) fn recorded() -> Source {
        let Recording { requests, agent, busy } = Recording::read();
        Source { requests, agent, busy }
    }

    /// A simulated service.
    pub(crate) fn simulated(service: &Service, coin: &mut ChaCha8Rng) -> Source {
        let (requests, agent, busy) = simulated::requests(service, coin);
        Source { requests, agent, busy }
    }

    /// Its first second, and the one behind its last.
    pub(crate) fn ends(&self) -> (u64, u64) {
        let at = |request: Option<&Recorded>| request.map_or(0, |request| made::second(request.end));
        (at(self.requests.first()) + 1, at(self.requests.last()))
    }

    /// The rows of a window under labels drawn with `coin`; NEW costs `1 + effect` times as much. Requests that were recorded of
    /// the slower code are left out, and their rulers kept.
    pub(crate) fn window(&self, from: u64, to: u64, way: Way, effect: f64, coin: &mut ChaCha8Rng) -> ReleaseRows {
        let (key, swap): (u64, bool) = (coin.random(), coin.random());
        let label = |request: &Recorded| {
            let began = made::second(request.end - request.wall);
            let (version, assignment, slot_seconds) = match way {
                Way::Coin(share) => (coin.random::<f64>() < share, Assignment::Random, 0),
                Way::Slots(seconds) => {
                    let slot = began / u64::from(seconds);
                    let coin: bool = ChaCha8Rng::seed_from_u64(key ^ (slot / 2)).random();
                    (coin ^ (slot % 2 == 1), Assignment::Slot, seconds)
                }
                Way::Processes => (swap ^ (request.process % 2 == 1), Assignment::Canary, 0),
                Way::After | Way::AfterByAgent => (made::second(request.end) >= from.midpoint(to), Assignment::None, 0),
            };
            let factor = if request.version == 2 { 0.0 } else { 1.0 };
            let factor = factor * if version { 1.0 + effect } else { 1.0 };
            Label { version: u32::from(version), assignment, slot_seconds, factor }
        };
        let requests = made::within(&self.requests, from, to, |request| request.end);
        let agent = made::within(&self.agent, from, to, |reading| reading.at);
        let mut rows = made::rows(requests, agent, label);
        rows.seconds = made::seconds(&self.busy, from, to);
        if way == Way::AfterByAgent {
            rows.rulers.retain(|row| row.process == 0);
        }
        rows
    }
}

/// What judged windows came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count {
    pub(crate) windows: usize,
    pub(crate) refused: usize,
    /// Faster or slower.
    pub(crate) decided: usize,
    /// Of those, with the wrong sign, or where there was nothing to find.
    pub(crate) wrong: usize,
    /// `same`.
    pub(crate) same: usize,
    /// Intervals that do not hold the truth.
    pub(crate) missed: usize,
    /// Estimates less the truth.
    pub(crate) errors: Vec<f64>,
    pub(crate) half_widths: f64,
    pub(crate) warned: usize,
}

impl Count {
    pub(crate) fn add(&mut self, report: &ReleaseReport, effect: f64) {
        self.windows += 1;
        if !report.refused.is_empty() {
            self.refused += 1;
            return;
        }
        self.warned += usize::from(!report.warnings.is_empty());
        let total = &report.total;
        let decided = matches!(total.verdict, Verdict::Faster | Verdict::Slower);
        let right = if effect > 0.0 { Verdict::Slower } else { Verdict::Faster };
        self.decided += usize::from(decided);
        self.wrong += usize::from(decided && (effect == 0.0 || total.verdict != right));
        self.same += usize::from(total.verdict == Verdict::Same);
        if let (Ok(change), Ok(interval)) = (&total.change, &total.interval) {
            self.errors.push(change - effect);
            self.half_widths += interval.half_width();
            self.missed += usize::from(!interval.holds(effect));
        }
    }

    /// Windows that were judged.
    pub(crate) fn judged(&self) -> usize {
        self.windows - self.refused
    }

    /// The share of what was judged.
    pub(crate) fn share(&self, count: usize) -> f64 {
        count as f64 / self.judged().max(1) as f64
    }

    /// The most that a rate of `share` shows in so many windows, but for one time in a thousand.
    pub(crate) fn most(&self, share: f64) -> f64 {
        share + 3.1 * (share * (1.0 - share) / self.judged().max(1) as f64).sqrt()
    }

    /// The mean of the estimates' errors, and their standard deviation.
    pub(crate) fn spread(&self) -> (f64, f64) {
        let n = self.errors.len().max(1) as f64;
        let mean = self.errors.iter().sum::<f64>() / n;
        (mean, (self.errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / n).sqrt())
    }
}

/// Judges so many windows, each somewhere in the source, under labels drawn anew.
pub(crate) fn judged(source: &Source, windows: usize, seconds: u64, way: Way, effect: f64, seed: u64) -> Count {
    let mut coin = ChaCha8Rng::seed_from_u64(seed);
    let (first, last) = source.ends();
    let mut count = Count::default();
    for _ in 0..windows {
        let from = if last - first > seconds { coin.random_range(first..last - seconds) } else { first };
        let rows = source.window(from, from + seconds, way, effect, &mut coin);
        let report = judge(&made::question(from, from + seconds), &rows).expect("both versions served");
        count.add(&report, effect);
    }
    count
}
