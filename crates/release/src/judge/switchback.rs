//! Estimator for a switchback: a coin chooses the order of the versions in each pair of slots. The pair is the unit.

use std::collections::{BTreeMap, HashMap};

use crate::record::{ReleaseQuestion, RestsOn};
use steady_model::{Absent, ProcessRow, Reading, ReleaseRows, RequestRuler};
use steady_stats::release::{CoinPairs, CostPair, HostShare, PairedTotal, SlotPair, paired_total};

use super::design::{Answer, RouteAnswer};
use super::effect::{Effect, Plain};
use super::groups::{Groups, POOLED};
use super::process_cpu::{ProcessCpu, Used};
use super::window::{Line, Sides};
use super::{hosts, rulers};

/// Share of the pairs in which a reading is needed on both sides to be used: of a ruler, or of the CPU time of
/// processes.
const MOST: f64 = 0.9;
/// Largest share of a slot's requests that may have the version of the other slot. Otherwise the pair is left out.
const STRAY: f64 = 0.02;

/// Requests of one version, route and class.
#[derive(Clone, Copy, Default)]
struct Cost {
    requests: f64,
    /// Sum of the logarithms minus the mean of the route and class in the process.
    log: f64,
    /// CPU time in nanoseconds.
    cpu: f64,
    /// CPU time of these requests if each cost the mean of its route and class, in nanoseconds.
    expected: f64,
}

/// Costs of OLD and NEW, by route and class or by group of these.
type Costs = BTreeMap<(u32, u32), [Cost; 2]>;

/// Sums of one pair of slots, by version. Rows of a fleet have many slots; then the sums are those of one stretch of
/// time.
#[derive(Default)]
struct SlotSums {
    /// Costs by route and class.
    strata: Costs,
    /// Costs by group. Strata that are compared as one are summed.
    groups: Costs,
    /// Requests by slot (first, second) and version. A stretch with many slots has all in the first.
    slots: [[f64; 2]; 2],
    /// Whether the sums are those of many slots.
    many: bool,
    /// CPU time of requests by version, in nanoseconds.
    cpu: [f64; 2],
    /// CPU time of processes by version.
    processes: [Used; 2],
    /// Number of readings and their sum, by ruler and version.
    rulers: BTreeMap<RequestRuler, [(f64, f64); 2]>,
}

/// All pairs by host and first second. Each host has coins of its own.
type Pairs = BTreeMap<(u32, u64), SlotSums>;

/// Estimates the effects. The lines must be sorted.
pub(crate) fn answer(
    question: &ReleaseQuestion,
    rows: &ReleaseRows,
    lines: &[Line],
    processes: &ProcessCpu<'_>,
) -> Answer {
    let Some(length) = lines.first().map(|line| u64::from(line.row.slot_seconds)) else { return Answer::of_coins() };
    let groups = Groups::of_pairs(lines, |line| begin(line.row.second, line.row.second_of_pair, length));
    let mut pairs = pairs(lines, length, &groups);
    pairs.retain(|_, sums| sums.whole());
    let workers = rows.rulers.iter().any(|row| row.process != 0);
    add_rulers(&mut pairs, question, rows, length, workers);
    let counts_processes = processes.counts() && add_processes(&mut pairs, processes, length);
    let used = used(&pairs);
    let weights = weights(lines, &groups);
    let total = total(pairs.iter(), &used, None, counts_processes);
    let usual = coins(pairs.iter(), &used, |sums| sums.mixed(&weights));
    let routes = routes(lines, &pairs, &used, &groups);
    let alone =
        |host, _: &[&[Line]]| self::total(pairs.range((host, 0)..=(host, u64::MAX)), &used, None, counts_processes);
    let hosts = hosts::each(lines, alone);
    let rests_on = match (used.is_empty(), workers) {
        (true, _) => RestsOn::Coins,
        (false, true) => RestsOn::WorkerRulers,
        (false, false) => RestsOn::AgentRulers,
    };
    Answer { total, usual, routes, hosts, groups, rests_on, counts_processes, ..Answer::of_coins() }
}

/// Returns the first second of a pair of slots. A row with many slots (length 0) counts as a pair of its own.
fn begin(second: u64, second_of_pair: bool, length: u64) -> u64 {
    if second_of_pair { second.saturating_sub(length) } else { second }
}

/// Returns a pseudo-random number from a request count and CPU time in nanoseconds (the finaliser of SplitMix64).
fn hash(requests: f64, cpu: f64) -> u64 {
    const MICROSECOND: f64 = 1e3;
    let mut bits = (requests as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (cpu / MICROSECOND).round() as u64;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Sums the lines of each pair. From logarithms, the mean of their route and class in their process is subtracted, over
/// both versions.
fn pairs(lines: &[Line], length: u64, groups: &Groups) -> Pairs {
    // Sums are kept by side and added at the end, so that exchanging the versions gives the same bits.
    let mut means: HashMap<_, [(f64, f64); 2]> = HashMap::new();
    // Mean costs are over all processes and hosts. A mean of few requests would contain the effect of their own
    // version.
    let mut costs: BTreeMap<(u32, u32), Plain> = BTreeMap::new();
    let place = |line: &Line, key: (u32, u32)| (key, line.row.host, line.row.process);
    let keys = |line: &Line| {
        let (stratum, group) = (line.stratum(), groups.of(line.stratum()));
        std::iter::once(stratum).chain((group != stratum).then_some(group))
    };
    for line in lines {
        for key in keys(line) {
            let mean = &mut means.entry(place(line, key)).or_default()[line.side];
            mean.0 += line.requests();
            mean.1 += line.log();
            let cost = costs.entry(key).or_default();
            cost.requests[line.side] += line.row.sums.requests;
            cost.cpu[line.side] += line.row.sums.cpu;
        }
    }
    let cost = |Plain { requests: [old_requests, new_requests], cpu: [old, new] }: &Plain| {
        (old + new) / (old_requests + new_requests) as f64
    };
    let costs: BTreeMap<(u32, u32), f64> = costs.iter().map(|(key, plain)| (*key, cost(plain))).collect();
    let of = |line: &Line, key: (u32, u32)| {
        let [old, new] = means[&place(line, key)];
        let (requests, log) = (old.0 + new.0, old.1 + new.1);
        Cost {
            requests: line.requests(),
            log: line.log() - line.requests() * log / requests,
            cpu: line.row.sums.cpu,
            expected: line.requests() * costs[&key],
        }
    };
    let mut pairs = Pairs::new();
    for line in lines {
        let begin = begin(line.row.second, line.row.second_of_pair, length);
        let sums = pairs.entry((line.row.host, begin)).or_default();
        sums.many = length == 0;
        sums.cpu[line.side] += line.row.sums.cpu;
        let (stratum, group) = (line.stratum(), groups.of(line.stratum()));
        sums.strata.entry(stratum).or_default()[line.side].add(&of(line, stratum));
        sums.groups.entry(group).or_default()[line.side].add(&of(line, group));
        sums.slots[usize::from(line.row.second_of_pair)][line.side] += line.requests();
    }
    pairs
}

impl Cost {
    fn add(&mut self, other: &Cost) {
        self.requests += other.requests;
        self.log += other.log;
        self.cpu += other.cpu;
        self.expected += other.expected;
    }
}

impl SlotSums {
    /// Returns whether the slots had one version each, and different ones. A stretch with many slots must have both.
    fn whole(&self) -> bool {
        let [first, second] = self.slots;
        if self.many {
            return first.iter().all(|requests| *requests > 0.0);
        }
        let one = |slot: [f64; 2]| slot[0].min(slot[1]) <= STRAY * (slot[0] + slot[1]);
        one(first) && one(second) && (first[1] > first[0]) != (second[1] > second[0]) && first != second
    }

    /// Returns whether NEW has the first slot.
    ///
    /// In a stretch with many slots, both versions have first slots. All coins of the stretch have the same probability
    /// as all their opposites, so either version may count as the first. A hash of the sums decides.
    fn new_first(&self) -> bool {
        let [old, new] = self.slots[0];
        if self.many { hash(new, self.cpu[1]) > hash(old, self.cpu[0]) } else { new > old }
    }

    /// Returns the weighted mean difference NEW minus OLD over the routes that both slots had, and the weighted mean
    /// level.
    fn mixed(&self, weights: &BTreeMap<(u32, u32), f64>) -> Option<(f64, f64)> {
        let (mut sum, mut level, mut all) = (0.0, 0.0, 0.0);
        // Pooled strata have one weight under the number of their group, and none of their own.
        let pooled = self.groups.get_key_value(&POOLED);
        for (stratum, [old, new]) in self.strata.iter().chain(pooled) {
            if old.requests > 0.0 && new.requests > 0.0 {
                let weight = weights.get(stratum).copied().unwrap_or(0.0);
                let [old, new] = [old, new].map(|cost| cost.log / cost.requests);
                sum += weight * (new - old);
                level += weight * (new + old) / 2.0;
                all += weight;
            }
        }
        (all > 0.0).then(|| (sum / all, level / all))
    }

    /// Returns the cost divided by the expected cost of OLD and of NEW, on one route or all, and the sum of the
    /// expected costs.
    fn standardised(&self, only: Option<u32>) -> Option<([f64; 2], f64)> {
        let (mut cpu, mut expected) = ([0.0; 2], [0.0; 2]);
        let chosen = match only {
            Some(route) => self.strata.range((route, 0)..=(route, u32::MAX)),
            None => self.groups.range(..),
        };
        for (_, sides) in chosen {
            for (side, cost) in sides.iter().enumerate() {
                cpu[side] += cost.cpu;
                expected[side] += cost.expected;
            }
        }
        let both = expected.iter().all(|expected| *expected > 0.0);
        both.then(|| ([0, 1].map(|side| cpu[side] / expected[side]), expected[0] + expected[1]))
    }

    /// Returns the difference of each ruler between the slots, first minus second.
    fn ruler_differences(&self, used: &[RequestRuler]) -> Vec<f64> {
        let sign = if self.new_first() { 1.0 } else { -1.0 };
        let difference = |ruler: &RequestRuler| match self.rulers.get(ruler) {
            Some([old, new]) if old.0 > 0.0 && new.0 > 0.0 => sign * (new.1 / new.0 - old.1 / old.0),
            _ => 0.0,
        };
        used.iter().map(difference).collect()
    }
}

/// Adds the readings of rulers: of workers by the version of the request that followed, of the agent by slot.
fn add_rulers(pairs: &mut Pairs, question: &ReleaseQuestion, rows: &ReleaseRows, length: u64, workers: bool) {
    let sides = Sides::new(question, rows);
    let window = question.from..question.to;
    let last = (2 * length).max(1) - 1;
    for reading in rulers::readings(rows, window, workers, |row| (row.host, row.process, row.ruler)) {
        let there = (reading.host, reading.second.saturating_sub(last))..=(reading.host, reading.second);
        let Some(((_, begin), sums)) = pairs.range_mut(there).next_back() else { continue };
        let in_first = reading.second < begin + length;
        let side = match reading.version {
            Some(version) => sides.of(version),
            // In a stretch with many slots, the slot of a reading is not known.
            None => (length > 0).then(|| usize::from(sums.new_first() == in_first)),
        };
        if let Some(side) = side {
            let own = &mut sums.rulers.entry(reading.ruler).or_default()[side];
            own.0 += reading.readings;
            own.1 += reading.sum;
        }
    }
}

/// Adds the CPU time of processes by slot. Returns whether it is known for both slots of most pairs.
fn add_processes(pairs: &mut Pairs, processes: &ProcessCpu<'_>, length: u64) -> bool {
    let of_slots = |row: &ProcessRow, side: Option<usize>| {
        (u64::from(row.slot_seconds) == length).then_some((row.host, row.second, side?))
    };
    for ((host, second, side), used) in processes.by(of_slots) {
        let there = (host, second.saturating_sub(length))..=(host, second);
        if let Some((_, sums)) = pairs.range_mut(there).next_back() {
            sums.processes[side].add(used);
        }
    }
    let known = |sums: &&SlotSums| sums.processes.iter().all(|used| used.factor().is_some());
    pairs.values().filter(known).count() as f64 >= MOST * pairs.len().max(1) as f64
}

/// Returns the rulers with readings on both sides of most pairs, in a fixed order of preference.
fn used(pairs: &Pairs) -> Vec<RequestRuler> {
    let both = |ruler: &RequestRuler| {
        let read = |sums: &&SlotSums| sums.rulers.get(ruler).is_some_and(|[old, new]| old.0 > 0.0 && new.0 > 0.0);
        pairs.values().filter(read).count() as f64 >= MOST * pairs.len() as f64
    };
    let order = [RequestRuler::Syscall, RequestRuler::Icode, RequestRuler::Alu, RequestRuler::Memory];
    if pairs.is_empty() { Vec::new() } else { order.into_iter().filter(both).collect() }
}

/// Returns the CPU time of each route and class as its weight. Pooled strata have one weight together.
fn weights(lines: &[Line], groups: &Groups) -> BTreeMap<(u32, u32), f64> {
    let mut weights = BTreeMap::new();
    for of_stratum in lines.chunk_by(|one, other| one.stratum() == other.stratum()) {
        let stratum = of_stratum[0].stratum();
        let [old, new] = Plain::of(of_stratum).cpu;
        *weights.entry(if groups.is_pooled(stratum) { POOLED } else { stratum }).or_default() += old + new;
    }
    weights
}

/// Estimates the effect on the total of one route or all. The interval includes the spread of hosts if there are
/// enough.
fn total<'a>(
    pairs: impl Iterator<Item = (&'a (u32, u64), &'a SlotSums)>,
    used: &[RequestRuler],
    only: Option<u32>,
    counts_processes: bool,
) -> Reading<Effect> {
    let pair = |((host, _), sums): (&(u32, u64), &SlotSums)| {
        let (mut costs, weight) = sums.standardised(only)?;
        if counts_processes {
            costs = [costs[0] * sums.processes[0].factor()?, costs[1] * sums.processes[1].factor()?];
        }
        let covariates = sums.ruler_differences(used);
        Some((*host, CostPair { costs, weight, new_first: sums.new_first(), covariates }))
    };
    let (places, pairs): (Vec<u32>, Vec<CostPair>) = pairs.filter_map(pair).unzip();
    let PairedTotal { estimated, shares } = paired_total(&pairs).ok_or_else(too_few_pairs)?;
    let mut hosts: BTreeMap<u32, HostShare> = BTreeMap::new();
    for (host, pair) in places.iter().zip(shares) {
        let own = hosts.entry(*host).or_default();
        *own = HostShare { share: own.share + pair.share, beyond: own.beyond + pair.beyond };
    }
    Ok(Effect::Student(estimated, 0.0).with_hosts(&hosts.into_values().collect::<Vec<HostShare>>()))
}

fn too_few_pairs() -> Absent {
    Absent::because("fewer than 6 pairs of slots had both versions")
}

/// Estimates an effect by the coins of the pairs. `cost` returns the difference NEW minus OLD and the level of a pair.
/// The interval includes the spread of hosts if there are enough.
fn coins<'a>(
    pairs: impl Iterator<Item = (&'a (u32, u64), &'a SlotSums)>,
    used: &[RequestRuler],
    cost: impl Fn(&SlotSums) -> Option<(f64, f64)>,
) -> Reading<Effect> {
    let pair = |((host, _), sums): (&(u32, u64), &SlotSums)| {
        let (difference, level) = cost(sums)?;
        let sign = if sums.new_first() { 1.0 } else { -1.0 };
        let covariates = sums.ruler_differences(used);
        let pair = SlotPair { difference: sign * difference, level, new_first: sums.new_first(), covariates };
        Some((*host, pair))
    };
    let (places, pairs): (Vec<u32>, Vec<SlotPair>) = pairs.filter_map(pair).unzip();
    let coins = CoinPairs::new(pairs);
    let estimate = coins.estimate().ok_or_else(too_few_pairs)?;
    let mut hosts: BTreeMap<u32, HostShare> = BTreeMap::new();
    let each = 1.0 / places.len() as f64;
    for (host, beyond) in places.iter().zip(coins.beyond(estimate)) {
        let own = hosts.entry(*host).or_default();
        *own = HostShare { share: own.share + each, beyond: own.beyond + each * beyond };
    }
    let hosts: Vec<HostShare> = hosts.into_values().collect();
    Ok(Effect::Coins(Box::new(coins), estimate).with_hosts(&hosts))
}

fn routes(lines: &[Line], pairs: &Pairs, used: &[RequestRuler], groups: &Groups) -> Vec<RouteAnswer> {
    let of_route = |lines: &[Line]| {
        let route = lines[0].row.route;
        let plain = Plain::of(lines);
        if groups.is_pooled_route(route) {
            return Some(RouteAnswer::pooled(route, plain));
        }
        let own = weights(lines, groups);
        (!plain.requests.contains(&0)).then(|| RouteAnswer {
            route,
            plain,
            effect: total(pairs.iter(), used, Some(route), false),
            usual: coins(pairs.iter(), used, |sums| sums.mixed(&own)),
        })
    };
    lines.chunk_by(|one, other| one.row.route == other.row.route).filter_map(of_route).collect()
}
