//! Some processes run the one version while others run the other: the process is the unit, or the host where hosts have one
//! version each.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use steady_model::{Absent, Reading, ReleaseWarning, RestsOn};
use steady_stats::release::{Estimated, UnitCell, between_units, mean_in_time, unit_effects};

use crate::answer::{Answer, RouteAnswer};
use crate::effect::{Effect, Plain};
use crate::window::Line;

/// With fewer processes on a side, the reader is told.
const FEW: usize = 4;
/// A process with less than this share of the median's requests tells too little to count as much as the others.
const LEAST_SHARE: f64 = 0.1;
/// Stretches of time of cells, in seconds: so long that a cell has so many requests on average.
const LENGTHS: [u64; 6] = [1, 2, 5, 10, 30, 60];
const REQUESTS_PER_CELL: f64 = 8.0;
/// The length of the slots by which two single processes are compared, in seconds.
const SLOT: u64 = 5;

/// Which host, and which process; all processes of a host are one where hosts are the unit.
type Unit = (u32, u64);

/// The units of both sides, and how cells are made.
struct Units {
    /// By unit and side: its number. What was counted from outside has no processes, and may be of both sides.
    numbers: BTreeMap<(Unit, usize), usize>,
    hosts: bool,
    stretch: u64,
}

/// The answer of the lines, which are in order.
pub(crate) fn answer(lines: &[Line]) -> Answer {
    let units = Units::new(lines);
    let mut counts = [0, 0];
    units.numbers.keys().for_each(|(_, side)| counts[*side] += 1);
    let single = counts == [1, 1];
    let judge = |weights: &BTreeMap<u32, f64>| {
        let found = if single { singles(lines, weights) } else { units.between(lines, weights, Line::log) };
        let few = || Absent::because("too few processes or too little time to tell how much processes differ");
        found.map(|found| Effect::Student(found, 0.0)).ok_or_else(few)
    };
    let mut weights: BTreeMap<u32, f64> = BTreeMap::new();
    let mut routes = Vec::new();
    for of_route in lines.chunk_by(|one, other| one.row.route == other.row.route) {
        let (route, plain) = (of_route[0].row.route, Plain::of(of_route));
        if !plain.requests.contains(&0) {
            weights.insert(route, plain.cpu[0] + plain.cpu[1]);
            routes.push(RouteAnswer { route, plain, effect: judge(&BTreeMap::from([(route, 1.0)])) });
        }
    }
    let total: Reading<Effect> = judge(&weights);
    let warnings = match counts {
        [1, 1] => vec![ReleaseWarning::OneProcessASide],
        _ if counts.iter().any(|&count| count < FEW) => vec![ReleaseWarning::FewProcesses { processes: counts }],
        _ => Vec::new(),
    };
    Answer { rests_on: RestsOn::SameTime, total, routes, warnings, ..Answer::of_coins() }
}

/// How much the logarithm of wall time differs between the units of both sides, all routes by their requests. `None`
/// where one unit a side does not tell.
pub(crate) fn wall(lines: &[Line]) -> Option<Estimated> {
    let mut weights: BTreeMap<u32, f64> = BTreeMap::new();
    lines.iter().for_each(|line| *weights.entry(line.row.route).or_default() += line.requests());
    Units::new(lines).between(lines, &weights, |line| line.row.sums.wall_log)
}

impl Units {
    fn new(lines: &[Line]) -> Units {
        let mut hosts: BTreeMap<u32, [bool; 2]> = BTreeMap::new();
        lines.iter().for_each(|line| hosts.entry(line.row.host).or_default()[line.side] = true);
        let mixed = |host: u32| hosts[&host] == [true, true];
        // Hosts with one version alone say nothing where others have both; where none has, hosts are what differs.
        let by_host = !hosts.keys().any(|host| mixed(*host));
        let unit = |line: &Line| (line.row.host, if by_host { 0 } else { line.row.process });
        let mut requests: BTreeMap<(Unit, usize), f64> = BTreeMap::new();
        for line in lines.iter().filter(|line| by_host || mixed(line.row.host)) {
            *requests.entry((unit(line), line.side)).or_default() += line.requests();
        }
        let least = LEAST_SHARE * middle(requests.values().copied().collect());
        let kept = requests.into_iter().filter(|(_, n)| *n >= least);
        let numbers = kept.enumerate().map(|(number, (unit, _))| (unit, number)).collect();
        let stretch = stretch(lines, by_host);
        Units { numbers, hosts: by_host, stretch }
    }

    /// The difference between the units of both sides, of routes with these weights.
    fn between(&self, lines: &[Line], weights: &BTreeMap<u32, f64>, of: fn(&Line) -> f64) -> Option<Estimated> {
        let mut sums = vec![(0.0, 0.0); self.numbers.len()];
        for of_route in lines.chunk_by(|one, other| one.row.route == other.row.route) {
            let Some(weight) = weights.get(&of_route[0].row.route) else { continue };
            let cells = self.cells(of_route, of);
            let count = cells.iter().map(|cell| cell.cell + 1).max().unwrap_or(0);
            let effects = unit_effects(&cells, count, self.numbers.len());
            let served: BTreeSet<usize> = cells.iter().map(|cell| cell.unit).collect();
            for unit in served {
                sums[unit].0 += weight * effects[unit];
                sums[unit].1 += weight;
            }
        }
        // A unit without a route that others had cannot be held against them.
        let all = sums.iter().map(|sum| sum.1).fold(0.0, f64::max);
        let of_side = |wanted: usize| -> Vec<f64> {
            let own = self.numbers.iter().filter(|((_, side), _)| *side == wanted).map(|(_, number)| sums[*number]);
            own.filter(|sum| sum.1 >= 0.5 * all && sum.1 > 0.0).map(|sum| sum.0 / sum.1).collect()
        };
        between_units(&of_side(0), &of_side(1))
    }

    /// The cells of one route, with the sum of a logarithm.
    fn cells(&self, lines: &[Line], of: fn(&Line) -> f64) -> Vec<UnitCell> {
        let mut numbers: HashMap<(u32, u64), usize> = HashMap::new();
        let mut cells = Vec::new();
        for line in lines {
            let place = if self.hosts { 0 } else { line.row.host };
            let process = if self.hosts { 0 } else { line.row.process };
            let Some(unit) = self.numbers.get(&((line.row.host, process), line.side)) else { continue };
            let count = numbers.len();
            let cell = *numbers.entry((place, line.row.second / self.stretch)).or_insert(count);
            cells.push(UnitCell { cell, unit: *unit, n: line.requests(), y: of(line) });
        }
        cells
    }
}

/// The shortest stretch in which cells have enough requests on average.
fn stretch(lines: &[Line], by_host: bool) -> u64 {
    let place =
        |line: &Line, length: u64| (line.row.route, if by_host { 0 } else { line.row.host }, line.row.second / length);
    let all: f64 = lines.iter().map(Line::requests).sum();
    let enough = |length: &u64| {
        let cells = lines.iter().map(|line| place(line, *length)).collect::<HashSet<_>>().len();
        all >= REQUESTS_PER_CELL * cells as f64
    };
    LENGTHS.into_iter().find(enough).unwrap_or(LENGTHS[LENGTHS.len() - 1])
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// One unit a side: their difference by slots of time.
fn singles(lines: &[Line], weights: &BTreeMap<u32, f64>) -> Option<Estimated> {
    let mut slots: BTreeMap<u64, BTreeMap<u32, [(f64, f64); 2]>> = BTreeMap::new();
    for line in lines {
        let slot = slots.entry(line.row.second / SLOT).or_default();
        let own = &mut slot.entry(line.row.route).or_default()[line.side];
        own.0 += line.requests();
        own.1 += line.log();
    }
    let difference = |routes: &BTreeMap<u32, [(f64, f64); 2]>| {
        let (mut sum, mut all) = (0.0, 0.0);
        for (route, [old, new]) in routes {
            if let Some(weight) = weights.get(route).filter(|_| old.0 > 0.0 && new.0 > 0.0) {
                sum += weight * (new.1 / new.0 - old.1 / old.0);
                all += weight;
            }
        }
        (all > 0.0).then(|| sum / all)
    };
    mean_in_time(&slots.values().filter_map(difference).collect::<Vec<f64>>())
}
