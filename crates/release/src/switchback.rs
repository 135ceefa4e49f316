//! A coin for each pair of slots: the pair is the unit.

use std::collections::{BTreeMap, HashMap};

use steady_model::{Absent, Reading, ReleaseQuestion, ReleaseRows, RequestRuler, RestsOn};
use steady_stats::release::{CoinPairs, SlotPair};

use crate::answer::{Answer, RouteAnswer};
use crate::effect::{Effect, Plain};
use crate::window::{Line, Sides};
use crate::{means, rulers};

/// The share of pairs in which a ruler must have been read on both sides to be of use.
const MOST: f64 = 0.9;
/// The share of a slot's requests that the version of the other slot may have without the slot being dropped.
const STRAY: f64 = 0.02;

/// Sums of one pair of slots, by version.
#[derive(Default)]
struct Sums {
    /// Requests and logarithms, less their route's mean, by route.
    routes: BTreeMap<u32, [(f64, f64); 2]>,
    /// Requests by slot (first, second) and version.
    slots: [[f64; 2]; 2],
    /// Readings and their sum, by ruler: workers' and the agent's.
    rulers: BTreeMap<RequestRuler, [(f64, f64); 2]>,
}

/// The answer of the lines, which are in order.
pub(crate) fn answer(question: &ReleaseQuestion, rows: &ReleaseRows, lines: &[Line]) -> Answer {
    let Some(length) = lines.first().map(|line| u64::from(line.row.slot_seconds)).filter(|length| *length > 0) else {
        return Answer::of_coins();
    };
    let mut pairs = pairs(lines, length);
    pairs.retain(|_, sums| sums.whole());
    let workers = rows.rulers.iter().any(|row| row.process != 0);
    add_rulers(&mut pairs, question, rows, length, workers);
    let used = used(&pairs);
    let weights = weights(lines);
    let total = coins(&pairs, &used, |sums| sums.mixed(&weights));
    let routes = routes(lines, &pairs, &used);
    let rests_on = match (used.is_empty(), workers) {
        (true, _) => RestsOn::Coins,
        (false, true) => RestsOn::WorkerRulers,
        (false, false) => RestsOn::AgentRulers,
    };
    let usual = total.as_ref().ok().map(Effect::estimate);
    let by_means = usual.and_then(|usual| means::differ(&means::of_slots(lines, usual)?, usual));
    Answer { total, routes, rests_on, warnings: by_means.into_iter().collect(), ..Answer::of_coins() }
}

/// The second in which a pair of slots begins.
fn begin(second: u64, second_of_pair: bool, length: u64) -> u64 {
    if second_of_pair { second.saturating_sub(length) } else { second }
}

/// All pairs, by their begin. Costs are beside the mean of their route in their process, whichever version served them.
fn pairs(lines: &[Line], length: u64) -> BTreeMap<u64, Sums> {
    let mut means: HashMap<(u32, u32, u64), (f64, f64)> = HashMap::new();
    let place = |line: &Line| (line.row.route, line.row.host, line.row.process);
    for line in lines {
        let mean = means.entry(place(line)).or_default();
        mean.0 += line.requests();
        mean.1 += line.log();
    }
    let mut pairs: BTreeMap<u64, Sums> = BTreeMap::new();
    for line in lines {
        let (requests, log) = means[&place(line)];
        let sums = pairs.entry(begin(line.row.second, line.row.second_of_pair, length)).or_default();
        let own = &mut sums.routes.entry(line.row.route).or_default()[line.side];
        own.0 += line.requests();
        own.1 += line.log() - line.requests() * log / requests;
        sums.slots[usize::from(line.row.second_of_pair)][line.side] += line.requests();
    }
    pairs
}

impl Sums {
    /// Whether each slot had one version, and the other slot the other.
    fn whole(&self) -> bool {
        let [first, second] = self.slots;
        let one = |slot: [f64; 2]| slot[0].min(slot[1]) <= STRAY * (slot[0] + slot[1]);
        one(first) && one(second) && (first[1] > first[0]) != (second[1] > second[0]) && first != second
    }

    fn new_first(&self) -> bool {
        self.slots[0][1] > self.slots[0][0]
    }

    /// NEW less OLD, each route with its weight, of the routes that both slots had; and both together.
    fn mixed(&self, weights: &BTreeMap<u32, f64>) -> Option<(f64, f64)> {
        let (mut sum, mut level, mut all) = (0.0, 0.0, 0.0);
        for (route, [old, new]) in &self.routes {
            if old.0 > 0.0 && new.0 > 0.0 {
                let weight = weights.get(route).copied().unwrap_or(0.0);
                sum += weight * (new.1 / new.0 - old.1 / old.0);
                level += weight * (new.1 / new.0 + old.1 / old.0) / 2.0;
                all += weight;
            }
        }
        (all > 0.0).then(|| (sum / all, level / all))
    }
}

/// Adds what rulers read: workers' by the version that followed, the agent's by the slot.
fn add_rulers(
    pairs: &mut BTreeMap<u64, Sums>,
    question: &ReleaseQuestion,
    rows: &ReleaseRows,
    length: u64,
    workers: bool,
) {
    let sides = Sides::new(question, rows);
    let begins: Vec<u64> = pairs.keys().copied().collect();
    let window = question.from..question.to;
    for reading in rulers::readings(rows, window, workers, |row| (row.host, row.process, row.ruler)) {
        let at = begins.partition_point(|begin| *begin <= reading.second);
        let Some(&begin) = at.checked_sub(1).and_then(|at| begins.get(at)) else { continue };
        let Some(sums) = pairs.get_mut(&begin).filter(|_| reading.second < begin + 2 * length) else { continue };
        let in_first = reading.second < begin + length;
        let side = match reading.version {
            Some(version) => sides.of(version),
            None => Some(usize::from(sums.new_first() == in_first)),
        };
        if let Some(side) = side {
            let own = &mut sums.rulers.entry(reading.ruler).or_default()[side];
            own.0 += reading.readings;
            own.1 += reading.sum;
        }
    }
}

/// The rulers that were read in most pairs on both sides, the best ones first.
fn used(pairs: &BTreeMap<u64, Sums>) -> Vec<RequestRuler> {
    let both = |ruler: &RequestRuler| {
        let read = |sums: &&Sums| sums.rulers.get(ruler).is_some_and(|[old, new]| old.0 > 0.0 && new.0 > 0.0);
        pairs.values().filter(read).count() as f64 >= MOST * pairs.len() as f64
    };
    let order = [RequestRuler::Syscall, RequestRuler::Icode, RequestRuler::Alu, RequestRuler::Memory];
    if pairs.is_empty() { Vec::new() } else { order.into_iter().filter(both).collect() }
}

/// The share of CPU time of each route.
fn weights(lines: &[Line]) -> BTreeMap<u32, f64> {
    let mut weights: BTreeMap<u32, f64> = BTreeMap::new();
    lines.iter().for_each(|line| *weights.entry(line.row.route).or_default() += line.row.sums.cpu);
    weights
}

/// The pairs of which `cost` tells a difference (NEW less OLD) and a level, as coins.
fn coins(
    pairs: &BTreeMap<u64, Sums>,
    used: &[RequestRuler],
    cost: impl Fn(&Sums) -> Option<(f64, f64)>,
) -> Reading<Effect> {
    let pair = |sums: &Sums| {
        let (difference, level) = cost(sums)?;
        let sign = if sums.new_first() { 1.0 } else { -1.0 };
        let ruler = |ruler: &RequestRuler| match sums.rulers.get(ruler) {
            Some([old, new]) if old.0 > 0.0 && new.0 > 0.0 => sign * (new.1 / new.0 - old.1 / old.0),
            _ => 0.0,
        };
        let covariates = used.iter().map(ruler).collect();
        Some(SlotPair { difference: sign * difference, level, new_first: sums.new_first(), covariates })
    };
    let coins = CoinPairs::new(pairs.values().filter_map(pair).collect());
    match coins.estimate() {
        Some(estimate) => Ok(Effect::Coins(Box::new(coins), estimate)),
        None => Err(Absent::because("fewer than 6 pairs of slots had both versions")),
    }
}

fn routes(lines: &[Line], pairs: &BTreeMap<u64, Sums>, used: &[RequestRuler]) -> Vec<RouteAnswer> {
    let of_route = |lines: &[Line]| {
        let route = lines[0].row.route;
        let cost = |sums: &Sums| sums.mixed(&BTreeMap::from([(route, 1.0)]));
        let plain = Plain::of(lines);
        (!plain.requests.contains(&0)).then(|| RouteAnswer { route, plain, effect: coins(pairs, used, cost) })
    };
    lines.chunk_by(|one, other| one.row.route == other.row.route).filter_map(of_route).collect()
}
