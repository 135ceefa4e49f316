//! Estimator for a canary: some processes run one version while others run the other. The unit is the process, or the
//! host if hosts have one version each.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::record::{ReleaseWarning, RestsOn};
use steady_model::{ALL_PROCESSES, Absent, ProcessRow, Reading};
use steady_stats::release::{
    Estimated, HostShare, HostUnits, UnitCell, between_units, between_units_within, mean_in_time, mean_of_units,
    unit_effects, unit_ratios,
};

use super::design::{Answer, HostAnswer, RouteAnswer, versions_of_hosts};
use super::effect::{Effect, Plain, levels_of_strata};
use super::hosts;
use super::process_cpu::{self, ProcessCpu};
use super::window::{Line, longest};

/// With fewer processes or hosts of a version, the report has a warning.
pub(crate) const ENOUGH_UNITS: usize = 4;
/// A unit with a smaller share of the median unit's requests is left out, because all units have equal weight.
const LEAST_SHARE: f64 = 0.1;
/// Lengths that a cell may have, in seconds.
const LENGTHS: [u64; 6] = [1, 2, 5, 10, 30, 60];
/// Fewest requests per cell on average; the length of cells follows from it.
const REQUESTS_PER_CELL: f64 = 8.0;
/// Length of the slots of time by which two single processes are compared, in seconds.
const SLOT: u64 = 5;
/// What an interval includes for a difference between units that run the same code and that the units do not show, as a
/// logarithm. Two of 16 such processes differed by 2.7 % (`bench/run release_processes`). One unit per version shows
/// nothing about it, and several processes that one process forked have it in common.
const ALLOWANCE: f64 = 0.03;

/// Reason why versions that ran on one host each are not compared.
pub(super) const ONE_HOST_EACH: &str = "one host per version does not show how much hosts differ";

/// Returns what intervals include for differences that the processes of a version on one host may have in common. Those
/// of several hosts average out.
pub(super) fn allowance(hosts: usize) -> f64 {
    ALLOWANCE / (hosts as f64).max(1.0).sqrt()
}

/// A host and a process, by their indices. If hosts are the unit, the process is 0.
type Unit = (u32, u64);

/// Kind of unit that the comparison uses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Processes of hosts that have both versions.
    Processes,
    /// Hosts, because each has one version.
    Hosts,
    /// Differences within hosts that have both versions, because rows do not distinguish their processes.
    Differences,
}

/// Quantity that is compared between units.
#[derive(Clone, Copy)]
enum Measure {
    /// CPU time of requests divided by the cost of the same requests on other units.
    OfRequests,
    /// CPU time of requests as above, plus the unexplained CPU time of the processes if the estimate must include it.
    Total,
    /// Mean of a logarithm, of which the function returns a line's sum: the usual request.
    Usual(fn(&Line) -> f64),
}

/// Weight of each route and class.
type Weights = BTreeMap<(u32, u32), f64>;

/// Units of both sides, and the length of their cells.
struct Units {
    /// Number of each unit by unit and side. If rows do not distinguish processes, a unit may be on both sides.
    numbers: BTreeMap<(Unit, usize), usize>,
    kind: Kind,
    /// Length of cells, in seconds.
    stretch: u64,
    /// Logarithm of the CPU time of the processes divided by that of their requests, by number of the unit. Empty if
    /// the estimate does not include unexplained CPU time.
    processes: Vec<f64>,
    /// How much the CPU time of single processes differs from its mean over time, by slot of time and side.
    processes_in_slots: BTreeMap<(u64, usize), f64>,
}

/// Estimates the effects. The lines must be sorted.
pub(crate) fn answer(lines: &[Line], processes: &ProcessCpu<'_>) -> Answer {
    let mut units = Units::new(lines);
    let counts_processes = processes.counts_by_process() && units.count_processes(processes);
    let mut weights = Weights::new();
    let mut routes = Vec::new();
    for of_route in lines.chunk_by(|one, other| one.row.route == other.row.route) {
        let (route, plain) = (of_route[0].row.route, Plain::of(of_route));
        if plain.requests.contains(&0) {
            continue;
        }
        let weight = |lines: &[Line]| (lines[0].stratum(), Plain::of(lines).cpu.iter().sum());
        let own: Weights = of_route.chunk_by(|one, other| one.stratum() == other.stratum()).map(weight).collect();
        routes.push(RouteAnswer {
            route,
            plain,
            effect: units.judge(lines, &own, Measure::OfRequests),
            usual: units.judge(lines, &own, Measure::Usual(Line::log)),
        });
        weights.extend(own);
    }
    let counts = units.counts();
    let warnings = match (units.kind, counts) {
        (Kind::Differences, _) => Vec::new(),
        (kind, [1, 1]) => {
            let allowance = (kind == Kind::Processes).then_some(ALLOWANCE);
            vec![ReleaseWarning::OneProcessASide { allowance }]
        }
        (kind, _) => {
            let few = counts.iter().any(|&count| count < ENOUGH_UNITS);
            let few = few.then_some(ReleaseWarning::FewProcesses { processes: counts });
            let forked = ReleaseWarning::ForkedProcesses { allowance: units.allowance() };
            few.into_iter().chain((kind == Kind::Processes).then_some(forked)).collect()
        }
    };
    Answer {
        counts_processes,
        rests_on: RestsOn::SameTime,
        total: units.judge(lines, &weights, Measure::Total),
        usual: units.judge(lines, &weights, Measure::Usual(Line::log)),
        routes,
        hosts: units.hosts(lines, &weights),
        warnings,
        ..Answer::of_coins()
    }
}

/// Estimates the effect on the logarithm of wall time. Routes are weighted by their requests. Returns `None` if there
/// is only one unit per side, whose error is unknown.
pub(crate) fn wall(lines: &[Line]) -> Option<Estimated> {
    let mut weights = Weights::new();
    lines.iter().for_each(|line| *weights.entry(line.stratum()).or_default() += line.requests());
    let measure = Measure::Usual(|line| line.row.sums.wall_log);
    let units = Units::new(lines);
    let found = units.found(lines, &weights, measure)?.estimated();
    // The allowance stands for two standard errors.
    Some(Estimated { variance: found.variance + (units.allowance() / 2.0).powi(2), ..found })
}

impl Units {
    fn new(lines: &[Line]) -> Units {
        // Hosts have both versions, or none has both; then hosts are the unit.
        let hosts = versions_of_hosts(lines);
        let kind = match lines.iter().map(|line| line.row.process).max() {
            _ if hosts.values().any(|sides| *sides != [true, true]) => Kind::Hosts,
            Some(ALL_PROCESSES) => Kind::Differences,
            Some(0) if hosts.len() > 1 => Kind::Differences,
            _ => Kind::Processes,
        };
        let unit = |line: &Line| (line.row.host, if kind == Kind::Hosts { 0 } else { line.row.process });
        let mut requests: BTreeMap<(Unit, usize), f64> = BTreeMap::new();
        for line in lines {
            *requests.entry((unit(line), line.side)).or_default() += line.requests();
        }
        let of_side = |side: usize| requests.iter().filter(move |((_, of), _)| *of == side).map(|(_, n)| *n).collect();
        let least = [0, 1].map(|side| LEAST_SHARE * middle(of_side(side)));
        let kept: Vec<(Unit, usize)> =
            requests.iter().filter(|((_, side), n)| **n >= least[*side]).map(|(unit, _)| *unit).collect();
        let on = |((host, _), side): &(Unit, usize)| (*host, *side);
        let places: HashSet<(u32, usize)> = kept.iter().map(on).collect();
        let is_comparable =
            |unit: &&(Unit, usize)| kind != Kind::Processes || places.contains(&(on(unit).0, 1 - on(unit).1));
        let comparable: Vec<(Unit, usize)> = kept.iter().filter(is_comparable).copied().collect();
        // If no host has large units of both versions, all of them count.
        let chosen = if comparable.is_empty() { requests.into_keys().collect() } else { comparable };
        let numbers = chosen.into_iter().enumerate().map(|(number, unit)| (unit, number)).collect();
        Units {
            numbers,
            kind,
            stretch: stretch(lines, kind == Kind::Hosts),
            processes: Vec::new(),
            processes_in_slots: BTreeMap::new(),
        }
    }

    /// Includes the unexplained CPU time of processes. Returns whether it is known for every unit.
    fn count_processes(&mut self, processes: &ProcessCpu<'_>) -> bool {
        let by_host = self.kind == Kind::Hosts;
        let unit =
            |row: &ProcessRow, side: Option<usize>| Some(((row.host, if by_host { 0 } else { row.process }), side?));
        let used = processes.by(unit);
        let factor = |unit: &(Unit, usize)| Some(used.get(unit)?.factor()?.ln());
        // The numbers of units are in the order of the map, so the positions of factors are the numbers.
        let factors: Option<Vec<f64>> = self.numbers.keys().map(factor).collect();
        self.processes = factors.unwrap_or_default();
        if !self.processes.is_empty() && self.counts() == [1, 1] {
            let in_slots = |((_, stretch, side), beyond): ((u32, u64, usize), f64)| ((stretch, side), beyond);
            self.processes_in_slots = processes.over_time(|_| 0).into_iter().map(in_slots).collect();
        }
        !self.processes.is_empty()
    }

    /// Returns [`allowance`] for these units. If the unit is the host, the spread of the units shows the differences.
    fn allowance(&self) -> f64 {
        if self.kind != Kind::Processes {
            return 0.0;
        }
        let hosts: BTreeSet<u32> = self.numbers.keys().map(|((host, _), _)| *host).collect();
        allowance(hosts.len())
    }

    /// Returns the number of units on each side.
    fn counts(&self) -> [usize; 2] {
        [0, 1].map(|side| self.numbers.keys().filter(|(_, of)| *of == side).count())
    }

    /// Estimates the effect on the routes and classes that have weights.
    fn judge(&self, lines: &[Line], weights: &Weights, measure: Measure) -> Reading<Effect> {
        let is_single = self.counts() == [1, 1];
        let found = match (self.kind, measure) {
            // Two processes of a host differ by a few per cent at most, two hosts by any amount.
            (Kind::Hosts, _) if is_single => None,
            (Kind::Processes, Measure::OfRequests | Measure::Total) if is_single => {
                let beyond = self.beyond_requests(measure);
                let shift = |found: Estimated| {
                    let own = |side: usize| self.numbers.iter().find(|((_, of), _)| *of == side).map(|(_, at)| *at);
                    let difference = beyond(own(1)) - beyond(own(0));
                    Estimated { effect: found.effect + difference, ..found }
                };
                let found = self.single_totals(lines, weights, measure);
                found.map(|found| Effect::Student(shift(found), ALLOWANCE))
            }
            (Kind::Processes, Measure::Usual(_)) if is_single => {
                self.singles(lines, weights).map(|found| Effect::Student(found, ALLOWANCE))
            }
            _ => self.found(lines, weights, measure),
        };
        let why = match self.kind {
            Kind::Differences => {
                "rows do not distinguish processes, and one host does not show how much processes differ"
            }
            Kind::Hosts if is_single => ONE_HOST_EACH,
            _ if is_single => {
                "one process per version needs at least half a minute in which both versions serve the same routes"
            }
            Kind::Hosts => "hosts of both versions served the same routes at the same times too rarely",
            Kind::Processes => "processes of both versions served the same routes at the same times too rarely",
        };
        found.ok_or_else(|| Absent::because(why))
    }

    /// Estimates the effect from several units per side.
    fn found(&self, lines: &[Line], weights: &Weights, measure: Measure) -> Option<Effect> {
        let levels = self.levels(lines, weights, measure);
        match self.kind {
            Kind::Differences => {
                let differences: Vec<f64> = self.differences(&levels).into_values().collect();
                mean_of_units(&differences).map(|found| Effect::Student(found, 0.0))
            }
            _ => self.between(&levels),
        }
    }

    /// Returns the cost of each unit relative to the units that it shares cells with, as a logarithm.
    fn levels(&self, lines: &[Line], weights: &Weights, measure: Measure) -> Vec<Option<f64>> {
        match measure {
            Measure::OfRequests | Measure::Total => {
                let (cells, count) = self.cost_cells(lines, weights);
                let ratios = unit_ratios(&cells, count, self.numbers.len());
                let beyond = self.beyond_requests(measure);
                ratios.into_iter().enumerate().map(|(at, ratio)| Some(ratio? + beyond(Some(at)))).collect()
            }
            Measure::Usual(of) => self.usual_levels(lines, weights, of),
        }
    }

    /// Returns a function from the number of a unit to what unexplained CPU time adds to the logarithm of its cost.
    fn beyond_requests(&self, measure: Measure) -> impl Fn(Option<usize>) -> f64 {
        let known = match measure {
            Measure::Total => self.processes.as_slice(),
            _ => &[],
        };
        move |unit| unit.and_then(|at| known.get(at)).copied().unwrap_or(0.0)
    }

    /// Returns the cells of all routes and classes that have weights, with CPU time, and the number of cells.
    fn cost_cells(&self, lines: &[Line], weights: &Weights) -> (Vec<UnitCell>, usize) {
        let (mut all, mut count) = (Vec::new(), 0);
        for of_stratum in lines.chunk_by(|one, other| one.stratum() == other.stratum()) {
            if weights.contains_key(&of_stratum[0].stratum()) {
                let cells = self.cells(of_stratum, |line| line.row.sums.cpu);
                let own = cells.iter().map(|cell| cell.cell + 1).max().unwrap_or(0);
                all.extend(cells.into_iter().map(|cell| UnitCell { cell: count + cell.cell, ..cell }));
                count += own;
            }
        }
        (all, count)
    }

    /// Compares single units: the ratio of their costs, with an error from slots of time.
    fn single_totals(&self, lines: &[Line], weights: &Weights, measure: Measure) -> Option<Estimated> {
        let slots = self.slots(lines, weights);
        let mut all: BTreeMap<(u32, u32), Plain> = BTreeMap::new();
        let own = lines.iter().filter(|line| self.number(line).is_some());
        own.for_each(|line| all.entry(line.stratum()).or_default().add(line));
        let levels = levels_of_strata(&all);
        let ratio = |strata: &Strata| {
            let cpu = |side: usize| strata.values().map(|sides| sides[side].cpu).sum::<f64>();
            let expected = |side: usize| {
                let one = |(stratum, sides): (&(u32, u32), &[Served; 2])| sides[side].requests * levels[stratum];
                strata.iter().map(one).sum::<f64>()
            };
            let expected = [0, 1].map(expected);
            let both = expected.iter().all(|expected| *expected > 0.0);
            both.then(|| (expected[0] + expected[1], [0, 1].map(|side| cpu(side) / expected[side])))
        };
        // The CPU time of processes beyond that of requests is part of the error, too.
        let beyond = |slot: u64| match measure {
            Measure::Total => {
                let stretch = process_cpu::stretch(slot * SLOT);
                let of = |side: usize| self.processes_in_slots.get(&(stretch, side)).copied().unwrap_or(0.0);
                of(1) - of(0)
            }
            _ => 0.0,
        };
        let (beyond, ratios): (Vec<f64>, Vec<(f64, [f64; 2])>) =
            slots.iter().filter_map(|(slot, strata)| Some((beyond(*slot), ratio(strata)?))).unzip();
        let total = [0, 1].map(|side| ratios.iter().map(|(weight, costs)| weight * costs[side]).sum::<f64>());
        let effect = total[1].ln() - total[0].ln();
        // Contribution of each slot to the logarithm of the ratio of the sums, to first order.
        let count = ratios.len() as f64;
        let part = |(weight, [old, new]): &(f64, [f64; 2])| effect + count * weight * (new / total[1] - old / total[0]);
        let parts = ratios.iter().map(part).zip(beyond).map(|(part, beyond)| part + beyond);
        let found = mean_in_time(&parts.collect::<Vec<f64>>())?;
        effect.is_finite().then_some(Estimated { effect, ..found })
    }

    /// Returns the mean logarithm of each unit relative to the units that it shares cells with.
    fn usual_levels(&self, lines: &[Line], weights: &Weights, of: fn(&Line) -> f64) -> Vec<Option<f64>> {
        let mut sums = vec![(0.0, 0.0); self.numbers.len()];
        for of_stratum in lines.chunk_by(|one, other| one.stratum() == other.stratum()) {
            let Some(weight) = weights.get(&of_stratum[0].stratum()) else { continue };
            let cells = self.cells(of_stratum, of);
            let count = cells.iter().map(|cell| cell.cell + 1).max().unwrap_or(0);
            let effects = unit_effects(&cells, count, self.numbers.len());
            let served: BTreeSet<usize> = cells.iter().map(|cell| cell.unit).collect();
            for unit in served {
                sums[unit].0 += weight * effects[unit];
                sums[unit].1 += weight;
            }
        }
        // A unit that served less than half of the weight is left out, because its mix of routes is not comparable.
        let all = sums.iter().map(|sum| sum.1).fold(0.0, f64::max);
        sums.into_iter().map(|sum| (sum.1 >= 0.5 * all && sum.1 > 0.0).then(|| sum.0 / sum.1)).collect()
    }

    /// Estimates the difference between the units of both sides. If hosts have both versions, units are compared within
    /// hosts, and the interval includes the spread of the hosts' differences.
    fn between(&self, levels: &[Option<f64>]) -> Option<Effect> {
        let of_side = |wanted: usize| -> Vec<(u32, f64)> {
            let own = self.numbers.iter().filter(|((_, side), _)| *side == wanted);
            own.filter_map(|(((host, _), _), number)| Some((*host, levels[*number]?))).collect()
        };
        let sides = [of_side(0), of_side(1)];
        if self.kind == Kind::Hosts {
            let [old, new] = sides.map(|side| side.into_iter().map(|one| one.1).collect::<Vec<f64>>());
            return between_units(&old, &new).map(|found| Effect::Student(found, 0.0));
        }
        let [old, new] = sides;
        let mut hosts: BTreeMap<u32, HostUnits> = BTreeMap::new();
        old.into_iter().for_each(|(host, level)| hosts.entry(host).or_default().old.push(level));
        new.into_iter().for_each(|(host, level)| hosts.entry(host).or_default().new.push(level));
        hosts.retain(|_, units| units.weight() > 0.0);
        let hosts: Vec<HostUnits> = hosts.into_values().collect();
        let found = between_units_within(&hosts)?;
        let all: f64 = hosts.iter().map(HostUnits::weight).sum();
        let share = |host: &HostUnits| {
            let share = host.weight() / all;
            HostShare { share, beyond: share * (host.difference() - found.effect) }
        };
        Some(Effect::Student(found, self.allowance()).with_hosts(&hosts.iter().map(share).collect::<Vec<HostShare>>()))
    }

    /// Returns the difference NEW minus OLD within each host.
    fn differences(&self, levels: &[Option<f64>]) -> BTreeMap<u32, f64> {
        let level = |host: u32, process: u64, side: usize| levels[*self.numbers.get(&((host, process), side))?];
        let units = self.numbers.keys().filter(|(_, side)| *side == 1);
        let difference = |((host, process), _): &(Unit, usize)| {
            Some((*host, level(*host, *process, 1)? - level(*host, *process, 0)?))
        };
        units.filter_map(difference).collect()
    }

    /// Estimates the effect of each host.
    fn hosts(&self, lines: &[Line], weights: &Weights) -> Vec<HostAnswer> {
        let levels: BTreeMap<u32, f64> = match self.kind {
            Kind::Processes => {
                return hosts::each(lines, |_, routes| {
                    let lines = routes.concat();
                    let units = Units::new(&lines);
                    match units.counts() {
                        [1, 1] => {
                            Err(Absent::because("one process per version does not show how much processes differ"))
                        }
                        _ => units.judge(&lines, weights, Measure::Total),
                    }
                });
            }
            Kind::Differences => self.differences(&self.levels(lines, weights, Measure::Total)),
            Kind::Hosts => {
                let levels = self.levels(lines, weights, Measure::Total);
                self.numbers.iter().filter_map(|(((host, _), _), number)| Some((*host, levels[*number]?))).collect()
            }
        };
        let mut hosts = hosts::each(lines, |host, _| match (self.kind, levels.get(&host)) {
            (Kind::Differences, Some(effect)) => {
                let unbounded = Estimated { effect: *effect, variance: f64::INFINITY, freedom: 1.0 };
                Ok(Effect::Student(unbounded, 0.0))
            }
            _ => Err(Absent::because("it served only one version")),
        });
        hosts.iter_mut().for_each(|host| host.level = levels.get(&host.host).copied());
        hosts
    }

    /// Returns the number of the unit of a line, if it is compared.
    fn number(&self, line: &Line) -> Option<usize> {
        let process = if self.kind == Kind::Hosts { 0 } else { line.row.process };
        self.numbers.get(&((line.row.host, process), line.side)).copied()
    }

    /// Returns the cells of one route and class. `of` returns the sum of a line that is compared.
    fn cells(&self, lines: &[Line], of: fn(&Line) -> f64) -> Vec<UnitCell> {
        let mut numbers: HashMap<(u32, u64), usize> = HashMap::new();
        let mut cells = Vec::new();
        for line in lines {
            let place = if self.kind == Kind::Hosts { 0 } else { line.row.host };
            let Some(unit) = self.number(line) else { continue };
            let count = numbers.len();
            let cell = *numbers.entry((place, line.row.second / self.stretch)).or_insert(count);
            cells.push(UnitCell { cell, unit, n: line.requests(), y: of(line) });
        }
        cells
    }

    /// Sums the requests of the units on routes and classes that have weights, by slot of time.
    fn slots(&self, lines: &[Line], weights: &Weights) -> BTreeMap<u64, Strata> {
        let mut slots: BTreeMap<u64, Strata> = BTreeMap::new();
        let is_compared = |line: &&Line| weights.contains_key(&line.stratum()) && self.number(line).is_some();
        for line in lines.iter().filter(is_compared) {
            let own =
                &mut slots.entry(line.row.second / SLOT).or_default().entry(line.stratum()).or_default()[line.side];
            own.add(&Served { requests: line.requests(), cpu: line.row.sums.cpu, log: line.log() });
        }
        slots
    }

    /// Compares single units: the difference of their usual requests, with an error from slots of time.
    fn singles(&self, lines: &[Line], weights: &Weights) -> Option<Estimated> {
        let difference = |strata: &Strata| {
            let (mut sum, mut all) = (0.0, 0.0);
            for (stratum, [old, new]) in strata {
                if old.requests > 0.0 && new.requests > 0.0 {
                    let weight = weights[stratum];
                    sum += weight * (new.log / new.requests - old.log / old.requests);
                    all += weight;
                }
            }
            (all > 0.0).then(|| sum / all)
        };
        let slots = self.slots(lines, weights);
        mean_in_time(&slots.values().filter_map(difference).collect::<Vec<f64>>())
    }
}

/// Returns the shortest length at which cells have enough requests on average.
fn stretch(lines: &[Line], by_host: bool) -> u64 {
    let place =
        |line: &Line, length: u64| (line.stratum(), if by_host { 0 } else { line.row.host }, line.row.second / length);
    let all: f64 = lines.iter().map(Line::requests).sum();
    // A cell is at least as long as a row. Otherwise rows of one host would be compared with a part of their time on
    // another.
    let row = longest(lines);
    let lengths = LENGTHS.map(|length| length.next_multiple_of(row));
    let enough = |length: &u64| {
        let cells = lines.iter().map(|line| place(line, *length)).collect::<HashSet<_>>().len();
        all >= REQUESTS_PER_CELL * cells as f64
    };
    lengths.into_iter().find(enough).unwrap_or(lengths[lengths.len() - 1])
}

/// Returns the upper median, or 0 if there are no values.
fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Sums over requests of one version. CPU times are in nanoseconds.
#[derive(Clone, Copy, Default)]
struct Served {
    requests: f64,
    cpu: f64,
    log: f64,
}

impl Served {
    fn add(&mut self, other: &Served) {
        self.requests += other.requests;
        self.cpu += other.cpu;
        self.log += other.log;
    }
}

/// Sums of OLD and NEW by route and class.
type Strata = BTreeMap<(u32, u32), [Served; 2]>;
