//! Evaluates windows of requests under random labels of a design, and counts the results.

use std::collections::BTreeSet;
use std::path::Path;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use steady_model::{Assignment, ReleaseRows, RulerSums, Verdict};
use steady_release::{ReleaseReport, judge};

use super::made::{self, Label};
use super::recording::{AgentReading, Recorded, Recording, releases};
use super::simulated::{self, Service};
use super::{compact, means};

/// How the versions of requests are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Way {
    /// A coin for each request, with this share of NEW.
    Coin(f64),
    /// A coin for each pair of slots of this length, in seconds.
    Slots(u32),
    /// A canary on every second process of a host.
    Processes,
    /// A canary on half of the processes, chosen at random.
    Drawn,
    /// OLD in the first half of the window, NEW in the second.
    After,
    /// Like [`Way::After`], with the agent's rulers alone.
    AfterByAgent,
    /// OLD before a restart of the server, NEW after it.
    Restart,
    /// Like [`Way::Restart`], with the agent's rulers alone.
    RestartByAgent,
    /// Like [`Way::Restart`], with this share of the readings of all rulers, chosen at random.
    RestartThinned(f64),
    /// Like [`Way::After`], with the switch in a second in which the neighbours changed.
    Step,
}

impl Way {
    fn by_agent(self) -> bool {
        matches!(self, Way::AfterByAgent | Way::RestartByAgent)
    }

    fn share_of_readings(self) -> Option<f64> {
        if let Way::RestartThinned(share) = self { Some(share) } else { None }
    }
}

/// Recorded or simulated requests, and what was measured at the same time.
pub(crate) struct Source {
    pub(crate) requests: Vec<Recorded>,
    pub(crate) agent: Vec<AgentReading>,
    pub(crate) busy: Vec<Option<f64>>,
    /// Number of restarts of the server before each process.
    pub(crate) restarts: Vec<u32>,
    /// Seconds in which the set of neighbours changed.
    pub(crate) changes: Vec<u64>,
    /// First complete second after each start of the server, and the last second of the recording.
    pub(crate) switches: Vec<u64>,
}

impl Source {
    /// Reads the first recording.
    pub(crate) fn recorded() -> Source {
        Source::of(Recording::read())
    }

    /// Reads a part of one of the later recordings: `one` (the server restarts several times) or `canary` (16 workers).
    pub(crate) fn stretch(name: &str) -> Source {
        Source::compact(&releases().join(name))
    }

    /// Reads a recording in the compact form.
    pub(crate) fn compact(folder: &Path) -> Source {
        Source::of(compact::read(folder))
    }

    fn of(recording: Recording) -> Source {
        let Recording { requests, agent, busy, restarts, changes } = recording;
        let switches = switches(&requests, &restarts);
        Source { requests, agent, busy, restarts, changes, switches }
    }

    /// Simulates the requests of a service.
    pub(crate) fn simulated(service: &Service, coin: &mut ChaCha8Rng) -> Source {
        let (requests, agent, busy) = simulated::requests(service, coin);
        Source { requests, agent, busy, restarts: Vec::new(), changes: Vec::new(), switches: Vec::new() }
    }

    /// Returns the first complete second and the end (excluded).
    pub(crate) fn ends(&self) -> (u64, u64) {
        let at = |request: Option<&Recorded>| request.map_or(0, |request| made::second(request.end));
        (at(self.requests.first()) + 1, at(self.requests.last()))
    }

    /// Draws a random window of `seconds` seconds that is suitable for this way of choosing versions.
    pub(crate) fn drawn(&self, way: Way, seconds: u64, coin: &mut ChaCha8Rng) -> (u64, u64) {
        let (first, last) = self.ends();
        match way {
            Way::Restart | Way::RestartByAgent | Way::RestartThinned(_) => {
                let switches = &self.switches;
                let at = coin.random_range(1..switches.len() - 1);
                // The lengths of both sides are random too. Otherwise a restart would have only one window.
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

    /// Returns whether the recording has `seconds` seconds from `from` on without a restart of the server.
    fn undisturbed(&self, from: u64, seconds: u64) -> bool {
        self.switches.windows(2).any(|two| two[0] <= from && from + seconds < two[1])
    }

    /// Returns whether the server restarts within the recording.
    pub(crate) fn has_restarts(&self) -> bool {
        self.restarts.iter().any(|restarts| *restarts > 0)
    }

    /// Returns the rows of a window under random labels. NEW costs `1 + effect` times as much. Requests of the slower
    /// code in the recording are left out, but their rulers are used.
    pub(crate) fn window(&self, from: u64, to: u64, way: Way, effect: f64, coin: &mut ChaCha8Rng) -> ReleaseRows {
        let (key, swap): (u64, bool) = (coin.random(), coin.random());
        let agent = made::within(&self.agent, from, to, |reading| reading.at);
        let requests = made::within(&self.requests, from, to, |request| request.end);
        let drawn = if way == Way::Drawn { half_of(requests, key) } else { BTreeSet::new() };
        let started = |request: &Recorded| self.restarts.get(request.process as usize).copied().unwrap_or(0);
        let before = requests.iter().map(started).min().unwrap_or(0);
        let thinned = way.share_of_readings().map(|share| thin(requests, agent, share, key));
        let (requests, agent) = thinned.as_ref().map_or((requests, agent), |(requests, agent)| (requests, agent));
        let label = |request: &Recorded| {
            let began = made::second(request.end - request.wall);
            let (version, assignment, slot_seconds) = match way {
                Way::Coin(share) => (coin.random::<f64>() < share, Assignment::Random, 0),
                Way::Slots(seconds) => {
                    let slot = began / u64::from(seconds);
                    // Each host has coins of its own.
                    let pair = (slot / 2) ^ (u64::from(request.host) << 32);
                    let coin: bool = ChaCha8Rng::seed_from_u64(key ^ pair).random();
                    (coin ^ (slot % 2 == 1), Assignment::Slot, seconds)
                }
                Way::Processes => (swap ^ (request.process % 2 == 1), Assignment::Canary, 0),
                Way::Drawn => (drawn.contains(&request.process), Assignment::Canary, 0),
                Way::Restart | Way::RestartByAgent | Way::RestartThinned(_) => {
                    (started(request) > before, Assignment::None, 0)
                }
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

/// Keeps each reading of a ruler with probability `share`.
fn thin(requests: &[Recorded], agent: &[AgentReading], share: f64, key: u64) -> (Vec<Recorded>, Vec<AgentReading>) {
    let mut coin = ChaCha8Rng::seed_from_u64(key);
    let requests = requests.iter().map(|request| {
        let ruler = request.ruler.filter(|_| coin.random_bool(share));
        Recorded { ruler, ..*request }
    });
    let requests = requests.collect();
    let agent = agent.iter().filter_map(|reading| {
        let sums = thin_sums(reading.sums, share, &mut coin)?;
        Some(AgentReading { sums, ..*reading })
    });
    (requests, agent.collect())
}

/// Returns the sums of a random selection of the readings, or `None` if it is empty. Only the sums of all readings are
/// known, so the mean of the selection is drawn from the distribution of such means.
fn thin_sums(all: RulerSums, share: f64, coin: &mut ChaCha8Rng) -> Option<RulerSums> {
    let readings = (0..all.readings).filter(|_| coin.random_bool(share)).count() as u64;
    if readings == 0 || readings == all.readings {
        return (readings > 0).then_some(all);
    }
    let [all_readings, kept] = [all.readings, readings].map(|count| count as f64);
    let mean = all.log / all_readings;
    let variance = (all.log_squared / all_readings - mean * mean).max(0.0);
    let log = kept * (mean + simulated::normal(coin) * (variance * (1.0 / kept - 1.0 / all_readings)).sqrt());
    Some(RulerSums { readings, log, log_squared: log * log / kept + kept * variance })
}

/// Chooses half of the processes at random.
fn half_of(requests: &[Recorded], key: u64) -> BTreeSet<u64> {
    let mut coin = ChaCha8Rng::seed_from_u64(key);
    let all: BTreeSet<u64> = requests.iter().map(|request| request.process).collect();
    let mut all: Vec<u64> = all.into_iter().collect();
    all.shuffle(&mut coin);
    all.into_iter().step_by(2).collect()
}

/// Results of many evaluated windows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count {
    pub(crate) windows: usize,
    pub(crate) refused: usize,
    /// Number of verdicts `faster` or `slower`.
    pub(crate) decided: usize,
    /// Number of verdicts `faster` or `slower` with the wrong sign, or without a true effect.
    pub(crate) wrong: usize,
    /// Number of verdicts `same`.
    pub(crate) same: usize,
    /// Number of intervals that do not contain the truth.
    pub(crate) missed: usize,
    /// Estimates minus the truth.
    pub(crate) errors: Vec<f64>,
    /// Sum of the half widths of the intervals.
    pub(crate) half_widths: f64,
    /// Number of reports with warnings.
    pub(crate) warned: usize,
    /// Number of intervals of the change of the median wall time, and of those that do not contain zero.
    pub(crate) medians: (usize, usize),
    /// Number of intervals of the usual request that do not contain the truth.
    pub(crate) usual: usize,
    /// Comparisons of the means of wall time and of CPU time in all windows, including refused ones.
    pub(crate) means: [Vec<means::MeanChange>; 2],
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
        if let Ok(interval) = report.usual.interval() {
            self.usual += usize::from(!interval.holds(effect));
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

    /// Adds the results of other windows.
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
        self.usual += other.usual;
        self.medians = (self.medians.0 + other.medians.0, self.medians.1 + other.medians.1);
        self.means.iter_mut().zip(other.means).for_each(|(all, more)| all.extend(more));
    }

    /// Adds the comparison of the means of a window.
    pub(crate) fn add_means(&mut self, rows: &ReleaseRows) {
        self.means.iter_mut().zip(means::of(rows)).for_each(|(all, change)| all.push(change));
    }

    /// Returns the number of windows that are not refused.
    pub(crate) fn judged(&self) -> usize {
        self.windows - self.refused
    }

    /// Returns a count divided by the number of windows that are not refused.
    pub(crate) fn share(&self, count: usize) -> f64 {
        count as f64 / self.judged().max(1) as f64
    }

    /// Returns the share that an event of probability `share` exceeds in one of 1,000 experiments of this size.
    pub(crate) fn most(&self, share: f64) -> f64 {
        share + 3.1 * (share * (1.0 - share) / self.judged().max(1) as f64).sqrt()
    }

    /// Returns the mean of the estimates' errors, and their standard deviation.
    pub(crate) fn spread(&self) -> (f64, f64) {
        let n = self.errors.len().max(1) as f64;
        let mean = self.errors.iter().sum::<f64>() / n;
        (mean, (self.errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / n).sqrt())
    }
}

/// Returns the number of windows to evaluate: ten times as many with `./test --all`, to find rates slightly too high.
pub(crate) fn repeated(windows: usize) -> usize {
    let all = std::env::var_os("STEADY_TESTS").is_some_and(|value| value == "all");
    if all { 10 * windows } else { windows }
}

/// Evaluates random windows of the source under random labels.
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
