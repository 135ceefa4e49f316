//! A coin for each pair of slots: the pair is the unit.

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

/// The share of pairs in which a ruler must have been read on both sides to be of use.
const MOST: f64 = 0.9;
/// The share of a slot's requests that the version of the other slot may have without the slot being dropped.
const STRAY: f64 = 0.02;

/// Requests of one version, route and class.
#[derive(Clone, Copy, Default)]
struct Cost {
    requests: f64,
    /// Logarithms, less the mean of the route and class in the process.
    log: f64,
    cpu: f64,
    /// What these requests would cost if each cost the mean of its route and class.
    expected: f64,
}

/// OLD and NEW, by route and class or groups of these.
type Costs = BTreeMap<(u32, u32), [Cost; 2]>;

/// Sums of one pair of slots, by version; of rows that hold many slots, those of one stretch of time.
#[derive(Default)]
struct Sums {
    /// By route and class.
    strata: Costs,
    /// The same, with those together that are compared as one.
    groups: Costs,
    /// Requests by slot (first, second) and version; all of a stretch with many slots are in the first.
    slots: [[f64; 2]; 2],
    /// Whether these are many slots, and the CPU time of each version in them.
    many: bool,
    cpu: [f64; 2],
    /// CPU time of processes by version.
    processes: [Used; 2],
    /// Readings and their sum, by ruler: workers' and the agent's.
    rulers: BTreeMap<RequestRuler, [(f64, f64); 2]>,
}

/// All pairs, by their begin, on each of the hosts, which throw coins of their own.
type Pairs = BTreeMap<(u32, u64), Sums>;

/// The answer of the lines, which are in order.
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

/// The second in which a pair of slots begins; a row that holds many slots stands alone.
fn begin(second: u64, second_of_pair: bool, length: u64) -> u64 {
    if second_of_pair { second.saturating_sub(length) } else { second }
}

/// A number that is as good as drawn, from a request count and CPU time in nanoseconds (the finaliser of SplitMix64).
fn lot(requests: f64, cpu: f64) -> u64 {
    const MICROSECOND: f64 = 1e3;
    let mut bits = (requests as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (cpu / MICROSECOND).round() as u64;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// All pairs. Logarithms are beside the mean of their route and class in their process, whichever version served them.
fn pairs(lines: &[Line], length: u64, groups: &Groups) -> Pairs {
    // By side first, and both added then: the same to the last bit whichever is called NEW.
    let mut means: HashMap<_, [(f64, f64); 2]> = HashMap::new();
    // Of all processes and hosts: a mean of few requests would hide what their own version changed.
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

impl Sums {
    /// Whether each slot had one version, and the other slot the other; a stretch with many slots has to have both.
    fn whole(&self) -> bool {
        let [first, second] = self.slots;
        if self.many {
            return first.iter().all(|requests| *requests > 0.0);
        }
        let one = |slot: [f64; 2]| slot[0].min(slot[1]) <= STRAY * (slot[0] + slot[1]);
        one(first) && one(second) && (first[1] > first[0]) != (second[1] > second[0]) && first != second
    }

    /// Whether NEW has the first slot. Of many slots each version has as many first ones: all coins of a stretch
    /// together fell so or the other way round with the same chance, so either half of it may count as the first, and
    /// the halves draw lots.
    fn new_first(&self) -> bool {
        let [old, new] = self.slots[0];
        if self.many { lot(new, self.cpu[1]) > lot(old, self.cpu[0]) } else { new > old }
    }

    /// NEW less OLD, each route with its weight, of the routes that both slots had; and both together.
    fn mixed(&self, weights: &BTreeMap<(u32, u32), f64>) -> Option<(f64, f64)> {
        let (mut sum, mut level, mut all) = (0.0, 0.0, 0.0);
        // What is pooled has its weight under its own number, and none by route.
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

    /// Cost over expected cost, OLD and NEW, of one route or all, and the expected cost of both.
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

    /// By how much each ruler differs between the slots, first less second.
    fn ruler_differences(&self, used: &[RequestRuler]) -> Vec<f64> {
        let sign = if self.new_first() { 1.0 } else { -1.0 };
        let difference = |ruler: &RequestRuler| match self.rulers.get(ruler) {
            Some([old, new]) if old.0 > 0.0 && new.0 > 0.0 => sign * (new.1 / new.0 - old.1 / old.0),
            _ => 0.0,
        };
        used.iter().map(difference).collect()
    }
}

/// Adds what rulers read: workers' by the version that followed, the agent's by the slot.
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
            // Which of many slots it ran in is not known.
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
        let slot = length > 0 && u64::from(row.slot_seconds) == length;
        slot.then_some((row.host, row.second, side?))
    };
    for ((host, second, side), used) in processes.by(of_slots) {
        let there = (host, second.saturating_sub(length))..=(host, second);
        if let Some((_, sums)) = pairs.range_mut(there).next_back() {
            sums.processes[side].add(used);
        }
    }
    let known = |sums: &&Sums| sums.processes.iter().all(|used| used.factor().is_some());
    pairs.values().filter(known).count() as f64 >= MOST * pairs.len().max(1) as f64
}

/// The rulers that were read in most pairs on both sides, the best ones first.
fn used(pairs: &Pairs) -> Vec<RequestRuler> {
    let both = |ruler: &RequestRuler| {
        let read = |sums: &&Sums| sums.rulers.get(ruler).is_some_and(|[old, new]| old.0 > 0.0 && new.0 > 0.0);
        pairs.values().filter(read).count() as f64 >= MOST * pairs.len() as f64
    };
    let order = [RequestRuler::Syscall, RequestRuler::Icode, RequestRuler::Alu, RequestRuler::Memory];
    if pairs.is_empty() { Vec::new() } else { order.into_iter().filter(both).collect() }
}

/// The CPU time of each route and class, and of those that are pooled.
fn weights(lines: &[Line], groups: &Groups) -> BTreeMap<(u32, u32), f64> {
    let mut weights = BTreeMap::new();
    for of_stratum in lines.chunk_by(|one, other| one.stratum() == other.stratum()) {
        let stratum = of_stratum[0].stratum();
        let [old, new] = Plain::of(of_stratum).cpu;
        *weights.entry(if groups.is_pooled(stratum) { POOLED } else { stratum }).or_default() += old + new;
    }
    weights
}

/// The change of the total on one route or all; with the spread of the hosts of the pairs.
fn total<'a>(
    pairs: impl Iterator<Item = (&'a (u32, u64), &'a Sums)>,
    used: &[RequestRuler],
    only: Option<u32>,
    counts_processes: bool,
) -> Reading<Effect> {
    let pair = |((host, _), sums): (&(u32, u64), &Sums)| {
        let (mut costs, weight) = sums.standardised(only)?;
        if counts_processes {
            costs = [costs[0] * sums.processes[0].factor()?, costs[1] * sums.processes[1].factor()?];
        }
        let covariates = sums.ruler_differences(used);
        Some((*host, CostPair { costs, weight, new_first: sums.new_first(), covariates }))
    };
    let (places, pairs): (Vec<u32>, Vec<CostPair>) = pairs.filter_map(pair).unzip();
    let PairedTotal { estimated, shares } = paired_total(&pairs).ok_or_else(few)?;
    let mut hosts: BTreeMap<u32, HostShare> = BTreeMap::new();
    for (host, pair) in places.iter().zip(shares) {
        let own = hosts.entry(*host).or_default();
        *own = HostShare { share: own.share + pair.share, beyond: own.beyond + pair.beyond };
    }
    Ok(Effect::Student(estimated, 0.0).among(&hosts.into_values().collect::<Vec<HostShare>>()))
}

fn few() -> Absent {
    Absent::because("fewer than 6 pairs of slots had both versions")
}

/// The pairs of which `cost` tells a difference (NEW less OLD) and a level, as coins; with the spread of their hosts.
fn coins<'a>(
    pairs: impl Iterator<Item = (&'a (u32, u64), &'a Sums)>,
    used: &[RequestRuler],
    cost: impl Fn(&Sums) -> Option<(f64, f64)>,
) -> Reading<Effect> {
    let pair = |((host, _), sums): (&(u32, u64), &Sums)| {
        let (difference, level) = cost(sums)?;
        let sign = if sums.new_first() { 1.0 } else { -1.0 };
        let covariates = sums.ruler_differences(used);
        let pair = SlotPair { difference: sign * difference, level, new_first: sums.new_first(), covariates };
        Some((*host, pair))
    };
    let (places, pairs): (Vec<u32>, Vec<SlotPair>) = pairs.filter_map(pair).unzip();
    let coins = CoinPairs::new(pairs);
    let estimate = coins.estimate().ok_or_else(few)?;
    let mut hosts: BTreeMap<u32, HostShare> = BTreeMap::new();
    let each = 1.0 / places.len() as f64;
    for (host, beyond) in places.iter().zip(coins.beyond(estimate)) {
        let own = hosts.entry(*host).or_default();
        *own = HostShare { share: own.share + each, beyond: own.beyond + each * beyond };
    }
    let hosts: Vec<HostShare> = hosts.into_values().collect();
    Ok(Effect::Coins(Box::new(coins), estimate).among(&hosts))
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
