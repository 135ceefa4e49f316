//! Windows of requests, labelled anew by one of the designs, judged, and counted.

use std::collections::BTreeSet;
use std::path::Path;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use steady_model::{Assignment, ReleaseRows, Verdict};
use steady_release::{ReleaseReport, judge};

use super::made::{self, Label};
use super::recording::{AgentReading, Recorded, Recording, releases};
use super::simulated::{self, Service};
use super::{compact, means};

/// How versions come about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Way {
    /// A coin for each request, NEW with this share.
    Coin(f64),
    /// A coin for each pair of slots of so many seconds.
    Slots(u32),
    /// Every second process of a host, told to be canaries.
    Processes,
    /// Half of the processes, drawn.
    Drawn,
    /// OLD in the first half of the window, NEW in the second.
    After,
    /// The same, with the agent's rulers alone.
    AfterByAgent,
    /// OLD until the server was started anew, NEW from then on.
    Restart,
    /// The same, with the agent's rulers alone.
    RestartByAgent,
    /// As after, in the second in which the neighbours changed.
    Step,
}

impl Way {
    fn by_agent(self) -> bool {
        matches!(self, Way::AfterByAgent | Way::RestartByAgent)
    }
}

/// Where requests come from.
pub(crate) struct Source {
    pub(crate) requests: Vec<Recorded>,
    pub(crate) agent: Vec<AgentReading>,
    pub(crate) busy: Vec<Option<f64>>,
    /// Of each process, how often the server had been started anew before.
    pub(crate) restarts: Vec<u32>,
    /// The seconds in which other neighbours came than were there.
    pub(crate) changes: Vec<u64>,
    /// The seconds in which the server began to answer anew, with those of the beginning and the end.
    pub(crate) switches: Vec<u64>,
}

impl Source {
    /// The recording.
    pub(crate) fn recorded() -> Source {
        Source::of(Recording::read())
    }

    /// A stretch of one of the later recordings: `one` (the server was started anew again and again) or `canary` (16 workers).
    pub(crate) fn stretch(name: &str) -> Source {
        Source::compact(&releases().join(name))
    }

    /// A recording in its small form.
    pub(crate) fn compact(folder: &Path) -> Source {
        Source::of(compact::read(folder))
    }

    fn of(recording: Recording) -> Source {
        let Recording { requests, agent, busy, restarts, changes } = recording;
        let switches = switches(&requests, &restarts);
        Source { requests, agent, busy, restarts, changes, switches }
    }

    /// A simulated service.
    pub(crate) fn simulated(service: &Service, coin: &mut ChaCha8Rng) -> Source {
        let (requests, agent, busy) = simulated::requests(service, coin);
        Source { requests, agent, busy, restarts: Vec::new(), changes: Vec::new(), switches: Vec::new() }
    }

    /// Its first second, and the one behind its last.
    pub(crate) fn ends(&self) -> (u64, u64) {
        let at = |request: Option<&Recorded>| request.map_or(0, |request| made::second(request.end));
        (at(self.requests.first()) + 1, at(self.requests.last()))
    }

    /// A window of so many seconds, where this way of labelling may have one.
    pub(crate) fn drawn(&self, way: Way, seconds: u64, coin: &mut ChaCha8Rng) -> (u64, u64) {
        let (first, last) = self.ends();
        match way {
            Way::Restart | Way::RestartByAgent => {
                let switches = &self.switches;
                let at = coin.random_range(1..switches.len() - 1);
                // A restart has one window of a given length, however often it is drawn: both sides' lengths are drawn, too.
                let [before, after] = [0, 1].map(|_| coin.random_range(seconds / 3..=seconds / 2));
                (switches[at - 1].max(switches[at].saturating_sub(before)), switches[at + 1].min(switches[at] + after))
            }
            Way::Step => {
                let whole = |at: &&u64| self.undisturbed(**at - (**at).min(seconds / 2), seconds);
                let changes: Vec<&u64> = self.changes.iter().filter(whole).collect();
                let at = changes[coin.random_range(0..changes.len())];
                (at - seconds / 2, at + seconds / 2)
            }
            Way::After | Way::AfterByAgent if self.has_restarts() => loop {
                let from = coin.random_range(first..last - seconds);
                if self.undisturbed(from, seconds) {
                    break (from, from + seconds);
                }
            },
            _ if last - first > seconds => {
                let from = coin.random_range(first..last - seconds);
                (from, from + seconds)
            }
            _ => (first, first + seconds),
        }
    }

    /// Whether so many seconds were recorded from then on, and the server not started anew.
    fn undisturbed(&self, from: u64, seconds: u64) -> bool {
        self.switches.windows(2).any(|two| two[0] <= from && from + seconds < two[1])
    }

    /// Whether the server was started anew within the recording.
    pub(crate) fn has_restarts(&self) -> bool {
        self.restarts.iter().any(|restarts| *restarts > 0)
    }

    /// The rows of a window under labels drawn with `coin`; NEW costs `1 + effect` times as much. Requests that were recorded of
    /// the slower code are left out, and their rulers kept.
    pub(crate) fn window(&self, from: u64, to: u64, way: Way, effect: f64, coin: &mut ChaCha8Rng) -> ReleaseRows {
        let (key, swap): (u64, bool) = (coin.random(), coin.random());
        let agent = made::within(&self.agent, from, to, |reading| reading.at);
        let requests = made::within(&self.requests, from, to, |request| request.end);
        let drawn = if way == Way::Drawn { half_of(requests, key) } else { BTreeSet::new() };
        let started = |request: &Recorded| self.restarts.get(request.process as usize).copied().unwrap_or(0);
        let before = requests.iter().map(started).min().unwrap_or(0);
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
                Way::Drawn => (drawn.contains(&request.process), Assignment::Canary, 0),
                Way::Restart | Way::RestartByAgent => (started(request) > before, Assignment::None, 0),
                Way::After | Way::AfterByAgent | Way::Step => {
                    (made::second(request.end) >= from.midpoint(to), Assignment::None, 0)
                }
            };
            let factor = if request.version == 2 { 0.0 } else { 1.0 };
            let factor = factor * if version { 1.0 + effect } else { 1.0 };
            Label { version: u32::from(version), assignment, slot_seconds, factor, class: 0 }
        };
        let mut rows = made::rows(requests, agent, label);
        rows.seconds = made::seconds(&self.busy, from, to);
        if way.by_agent() {
            rows.rulers.retain(|row| row.process == 0);
        }
        rows
    }
}

fn switches(requests: &[Recorded], restarts: &[u32]) -> Vec<u64> {
    let (mut switches, mut begun) = (Vec::new(), None);
    for request in requests {
        let own = Some(restarts[request.process as usize]);
        if own > begun {
            begun = own;
            switches.push(made::second(request.end) + 1);
        }
    }
    switches.extend(requests.last().map(|request| made::second(request.end)));
    switches
}

/// Half of the processes that served.
fn half_of(requests: &[Recorded], key: u64) -> BTreeSet<u64> {
    let mut coin = ChaCha8Rng::seed_from_u64(key);
    let all: BTreeSet<u64> = requests.iter().map(|request| request.process).collect();
    let mut all: Vec<u64> = all.into_iter().collect();
    all.shuffle(&mut coin);
    all.into_iter().step_by(2).collect()
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
    /// Intervals of the median of wall time that there are, and those that do not hold zero.
    pub(crate) medians: (usize, usize),
    /// Of all windows, refused ones too: what means of wall time and of CPU time say.
    pub(crate) means: [Vec<means::Told>; 2],
}

impl Count {
    pub(crate) fn add(&mut self, report: &ReleaseReport, effect: f64) {
        self.windows += 1;
        if !report.refused.is_empty() {
            self.refused += 1;
            return;
        }
        self.warned += usize::from(!report.warnings.is_empty());
        if let Some(interval) = report.wall.as_ref().ok().and_then(|wall| wall.median_interval().ok()) {
            self.medians.0 += 1;
            self.medians.1 += usize::from(!interval.holds(0.0));
        }
        let total = &report.total;
        let decided = matches!(total.verdict, Verdict::Faster | Verdict::Slower);
        let right = if effect > 0.0 { Verdict::Slower } else { Verdict::Faster };
        self.decided += usize::from(decided);
        self.wrong += usize::from(decided && (effect == 0.0 || total.verdict != right));
        self.same += usize::from(total.verdict == Verdict::Same);
        if let (Ok(change), Ok(interval)) = (&total.change, &total.interval()) {
            self.errors.push(change - effect);
            self.half_widths += interval.half_width();
            self.missed += usize::from(!interval.holds(effect));
        }
    }

    /// Adds what windows of another recording came to.
    pub(crate) fn join(&mut self, other: Count) {
        self.windows += other.windows;
        self.refused += other.refused;
        self.decided += other.decided;
        self.wrong += other.wrong;
        self.same += other.same;
        self.missed += other.missed;
        self.errors.extend(other.errors);
        self.half_widths += other.half_widths;
        self.warned += other.warned;
        self.medians = (self.medians.0 + other.medians.0, self.medians.1 + other.medians.1);
        self.means.iter_mut().zip(other.means).for_each(|(all, told)| all.extend(told));
    }

    /// What plain means say of a window.
    pub(crate) fn add_means(&mut self, rows: &ReleaseRows) {
        self.means.iter_mut().zip(means::of(rows)).for_each(|(all, told)| all.push(told));
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

/// How many windows are judged: ten times as many in `./test --all`, which finds rates that are a little too high.
pub(crate) fn repeated(windows: usize) -> usize {
    let all = std::env::var_os("STEADY_TESTS").is_some_and(|value| value == "all");
    if all { 10 * windows } else { windows }
}

/// Judges so many windows, each somewhere in the source, under labels drawn anew.
pub(crate) fn judged(source: &Source, windows: usize, seconds: u64, way: Way, effect: f64, seed: u64) -> Count {
    let mut coin = ChaCha8Rng::seed_from_u64(seed);
    let mut count = Count::default();
    for _ in 0..windows {
        let (from, to) = source.drawn(way, seconds, &mut coin);
        let rows = source.window(from, to, way, effect, &mut coin);
        count.add(&judge(&made::question(from, to), &rows).expect("both versions served"), effect);
        count.add_means(&rows);
    }
    count
}
