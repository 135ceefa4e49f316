//! Some processes run the one version while others run the other: the process is the unit, or the host where hosts have
//! one version each.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use steady_model::{ALL_PROCESSES, Absent, Reading, ReleaseWarning, RestsOn};
use steady_stats::release::{Estimated, HostShare, UnitCell, between_units, mean_in_time, mean_of_units, unit_effects};

use crate::answer::{Answer, HostAnswer, RouteAnswer};
use crate::effect::{Effect, Plain};
use crate::hosts;
use crate::window::{Line, longest};

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

/// What the units are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Processes of hosts that have both versions.
    Processes,
    /// Hosts, which have one version each.
    Hosts,
    /// The differences within hosts that have both, for their processes are not told apart.
    Differences,
}

/// The units of both sides, and how cells are made.
struct Units {
    /// By unit and side: its number. Processes that are not told apart may be of both sides.
    numbers: BTreeMap<(Unit, usize), usize>,
    kind: Kind,
    stretch: u64,
}

/// The answer of the lines, which are in order.
pub(crate) fn answer(lines: &[Line]) -> Answer {
    let units = Units::new(lines);
    let mut weights: BTreeMap<u32, f64> = BTreeMap::new();
    let mut routes = Vec::new();
    for of_route in lines.chunk_by(|one, other| one.row.route == other.row.route) {
        let (route, plain) = (of_route[0].row.route, Plain::of(of_route));
        if !plain.requests.contains(&0) {
            weights.insert(route, plain.cpu[0] + plain.cpu[1]);
            routes.push(RouteAnswer { route, plain, effect: units.judge(lines, &BTreeMap::from([(route, 1.0)])) });
        }
    }
    let counts = units.counts();
    let warnings = match (units.kind, counts) {
        (Kind::Differences, _) => Vec::new(),
        (_, [1, 1]) => vec![ReleaseWarning::OneProcessASide],
        _ if counts.iter().any(|&count| count < FEW) => vec![ReleaseWarning::FewProcesses { processes: counts }],
        _ => Vec::new(),
    };
    let (total, hosts) = (units.judge(lines, &weights), units.hosts(lines, &weights));
    Answer { rests_on: RestsOn::SameTime, total, routes, hosts, warnings, ..Answer::of_coins() }
}

/// How much the logarithm of wall time differs between the units of both sides, all routes by their requests. `None`
/// where one unit a side does not tell.
pub(crate) fn wall(lines: &[Line]) -> Option<Estimated> {
    let mut weights: BTreeMap<u32, f64> = BTreeMap::new();
    lines.iter().for_each(|line| *weights.entry(line.row.route).or_default() += line.requests());
    Units::new(lines).found(lines, &weights, |line| line.row.sums.wall_log).map(|effect| effect.estimated())
}

impl Units {
    fn new(lines: &[Line]) -> Units {
        let mut hosts: BTreeMap<u32, [bool; 2]> = BTreeMap::new();
        lines.iter().for_each(|line| hosts.entry(line.row.host).or_default()[line.side] = true);
        let mixed = |host: u32| hosts[&host] == [true, true];
        // Hosts with one version alone say nothing where others have both; where none has, hosts are what differs.
        let count = hosts.keys().filter(|host| mixed(**host)).count();
        let kind = match lines.iter().filter(|line| mixed(line.row.host)).map(|line| line.row.process).max() {
            None => Kind::Hosts,
            Some(ALL_PROCESSES) => Kind::Differences,
            Some(0) if count > 1 => Kind::Differences,
            Some(_) => Kind::Processes,
        };
        let unit = |line: &Line| (line.row.host, if kind == Kind::Hosts { 0 } else { line.row.process });
        let mut requests: BTreeMap<(Unit, usize), f64> = BTreeMap::new();
        for line in lines.iter().filter(|line| kind == Kind::Hosts || mixed(line.row.host)) {
            *requests.entry((unit(line), line.side)).or_default() += line.requests();
        }
        let of_side = |side: usize| requests.iter().filter(move |((_, of), _)| *of == side).map(|(_, n)| *n).collect();
        let least = [0, 1].map(|side| LEAST_SHARE * middle(of_side(side)));
        let kept = requests.iter().filter(|((_, side), n)| **n >= least[*side]);
        let numbers = kept.enumerate().map(|(number, (unit, _))| (*unit, number)).collect();
        Units { numbers, kind, stretch: stretch(lines, kind == Kind::Hosts) }
    }

    /// How many there are on each side.
    fn counts(&self) -> [usize; 2] {
        [0, 1].map(|side| self.numbers.keys().filter(|(_, of)| *of == side).count())
    }

    /// The effect on routes with these weights.
    fn judge(&self, lines: &[Line], weights: &BTreeMap<u32, f64>) -> Reading<Effect> {
        let found = match self.kind {
            Kind::Processes | Kind::Hosts if self.counts() == [1, 1] => {
                singles(lines, weights).map(|found| Effect::Student(found, 0.0))
            }
            _ => self.found(lines, weights, Line::log),
        };
        let why = match self.kind {
            Kind::Differences => "processes are not told apart, and one host does not say how much they differ",
            _ => "too few processes or too little time to tell how much processes differ",
        };
        found.ok_or_else(|| Absent::because(why))
    }

    /// What several units say, of the sum of a logarithm.
    fn found(&self, lines: &[Line], weights: &BTreeMap<u32, f64>, of: fn(&Line) -> f64) -> Option<Effect> {
        let levels = self.levels(lines, weights, of);
        match self.kind {
            Kind::Differences => {
                let differences: Vec<f64> = self.differences(&levels).into_values().collect();
                mean_of_units(&differences).map(|found| Effect::Student(found, 0.0))
            }
            _ => self.between(&levels),
        }
    }

    /// How far each unit lies above what it shares its cells with, on routes with these weights.
    fn levels(&self, lines: &[Line], weights: &BTreeMap<u32, f64>, of: fn(&Line) -> f64) -> Vec<Option<f64>> {
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
        sums.into_iter().map(|sum| (sum.1 >= 0.5 * all && sum.1 > 0.0).then(|| sum.0 / sum.1)).collect()
    }

    /// The difference between the units of both sides, with the spread of the hosts that have both.
    fn between(&self, levels: &[Option<f64>]) -> Option<Effect> {
        let of_side = |wanted: usize| -> Vec<(u32, f64)> {
            let own = self.numbers.iter().filter(|((_, side), _)| *side == wanted);
            own.filter_map(|(((host, _), _), number)| Some((*host, levels[*number]?))).collect()
        };
        let sides = [of_side(0), of_side(1)];
        let [old, new] = [0, 1].map(|side| sides[side].iter().map(|one| one.1).collect::<Vec<f64>>());
        let effect = Effect::Student(between_units(&old, &new)?, 0.0);
        if self.kind == Kind::Hosts {
            return Some(effect);
        }
        let mut hosts: BTreeMap<u32, HostShare> = BTreeMap::new();
        for (units, sign) in sides.iter().zip([-1.0, 1.0]) {
            let count = units.len() as f64;
            let mean = units.iter().map(|one| one.1).sum::<f64>() / count;
            for (host, level) in units {
                let own = hosts.entry(*host).or_default();
                own.share += 0.5 / count;
                own.beyond += sign * (level - mean) / count;
            }
        }
        Some(effect.among(&hosts.into_values().collect::<Vec<HostShare>>()))
    }

    /// NEW less OLD within each host.
    fn differences(&self, levels: &[Option<f64>]) -> BTreeMap<u32, f64> {
        let level = |host: u32, process: u64, side: usize| levels[*self.numbers.get(&((host, process), side))?];
        let units = self.numbers.keys().filter(|(_, side)| *side == 1);
        let difference = |((host, process), _): &(Unit, usize)| {
            Some((*host, level(*host, *process, 1)? - level(*host, *process, 0)?))
        };
        units.filter_map(difference).collect()
    }

    /// Each host by itself.
    fn hosts(&self, lines: &[Line], weights: &BTreeMap<u32, f64>) -> Vec<HostAnswer> {
        let levels: BTreeMap<u32, f64> = match self.kind {
            Kind::Processes => {
                return hosts::each(lines, |_, routes| {
                    let lines = routes.concat();
                    let units = Units::new(&lines);
                    match units.counts() {
                        [1, 1] => Err(Absent::because("one process a side does not say how much processes differ")),
                        _ => units.judge(&lines, weights),
                    }
                });
            }
            Kind::Differences => self.differences(&self.levels(lines, weights, Line::log)),
            Kind::Hosts => {
                let levels = self.levels(lines, weights, Line::log);
                self.numbers.iter().filter_map(|(((host, _), _), number)| Some((*host, levels[*number]?))).collect()
            }
        };
        let mut hosts = hosts::each(lines, |host, _| match (self.kind, levels.get(&host)) {
            (Kind::Differences, Some(effect)) => {
                let unbounded = Estimated { effect: *effect, variance: f64::INFINITY, freedom: 1.0 };
                Ok(Effect::Student(unbounded, 0.0))
            }
            _ => Err(Absent::because("it served one version alone")),
        });
        hosts.iter_mut().for_each(|host| host.level = levels.get(&host.host).copied());
        hosts
    }

    /// The cells of one route, with the sum of a logarithm.
    fn cells(&self, lines: &[Line], of: fn(&Line) -> f64) -> Vec<UnitCell> {
        let mut numbers: HashMap<(u32, u64), usize> = HashMap::new();
        let mut cells = Vec::new();
        for line in lines {
            let by_host = self.kind == Kind::Hosts;
            let place = if by_host { 0 } else { line.row.host };
            let process = if by_host { 0 } else { line.row.process };
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
    // A cell is no shorter than a row, or rows of one host would be held against a part of their time on another.
    let row = longest(lines);
    let lengths = LENGTHS.map(|length| length.next_multiple_of(row));
    let enough = |length: &u64| {
        let cells = lines.iter().map(|line| place(line, *length)).collect::<HashSet<_>>().len();
        all >= REQUESTS_PER_CELL * cells as f64
    };
    lengths.into_iter().find(enough).unwrap_or(lengths[lengths.len() - 1])
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
