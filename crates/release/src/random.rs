//! A coin for each request: what is left within cells of time and place, compared.

use std::collections::BTreeMap;

use steady_model::{Absent, Reading, ReleaseWarning};
use steady_stats::release::{Estimated, HostShare, Tally, Within, share, within};

use crate::answer::{Answer, RouteAnswer};
use crate::cells::{self, Cell, Cost};
use crate::effect::{Effect, Plain};
use crate::window::Line;
use crate::{hosts, means};

/// A route with fewer requests of either version has no change of its own, and is judged together with others like it.
const LEAST: u64 = 20;

/// One route, or several rare ones.
struct Part {
    cpu: f64,
    log: Option<Within>,
    plain: Option<(f64, Within)>,
    /// What each host says of the logarithm.
    hosts: BTreeMap<u32, HostShare>,
}

/// The answer of the lines, which are in order.
pub(crate) fn answer(lines: &[Line]) -> Answer {
    let (mut parts, mut routes, mut rare) = (Vec::new(), Vec::new(), Vec::new());
    for of_route in lines.chunk_by(|one, other| one.row.route == other.row.route) {
        let plain = Plain::of(of_route);
        if plain.requests.contains(&0) {
            continue;
        }
        let part = told_alone(&plain).then(|| Part::new(&[of_route]));
        let few = || Absent::because(format!("fewer than {LEAST} requests of one version, or never at the same time"));
        let effect = part.as_ref().and_then(Part::effect).ok_or_else(few);
        routes.push(RouteAnswer { route: of_route[0].row.route, plain, effect });
        match part {
            Some(part) if part.log.is_some() => parts.push(part),
            _ => rare.push(of_route),
        }
    }
    if !rare.is_empty() {
        parts.push(Part::new(&rare));
    }
    let total = total(&parts);
    let warnings = total.as_ref().ok().and_then(|total| means_differ(&parts, total)).into_iter().collect();
    let total = total.map(|total| Effect::Student(total, 0.0).among(&shares(&parts)));
    Answer { total, routes, hosts: hosts::each(lines, |_, routes| alone(routes)), warnings, ..Answer::of_coins() }
}

/// Whether a route has enough requests for a change of its own.
fn told_alone(plain: &Plain) -> bool {
    plain.requests.iter().all(|&n| n >= LEAST)
}

/// The effect on one host, whose lines are given by route.
fn alone(routes: &[&[Line]]) -> Reading<Effect> {
    let (usual, rare): (Vec<&[Line]>, Vec<&[Line]>) = routes.iter().partition(|lines| told_alone(&Plain::of(**lines)));
    let mut parts: Vec<Part> = usual.into_iter().map(|lines| Part::of_usual(&[lines])).collect();
    if !rare.is_empty() {
        parts.push(Part::of_usual(&rare));
    }
    total(&parts).map(|total| Effect::Student(total, 0.0))
}

impl Part {
    fn new(routes: &[&[Line]]) -> Part {
        let (cells, stretch) = usual_cells(routes);
        let log = Part::log(&cells);
        let plain = Plain::of(routes.iter().copied().flatten());
        let requests = (plain.requests[0] + plain.requests[1]) as f64;
        let means = within(&sides(&longer(&of_seconds(routes, Cost::Plain), stretch)));
        let hosts = log.as_ref().map(|log| shares_of_hosts(&cells, log)).unwrap_or_default();
        Part { cpu: plain.cpu[0] + plain.cpu[1], log, plain: means.map(|found| (requests, found)), hosts }
    }

    /// The usual request alone.
    fn of_usual(routes: &[&[Line]]) -> Part {
        let plain = Plain::of(routes.iter().copied().flatten());
        let log = Part::log(&usual_cells(routes).0);
        Part { cpu: plain.cpu[0] + plain.cpu[1], log, plain: None, hosts: BTreeMap::new() }
    }

    fn log(cells: &[Cell]) -> Option<Within> {
        within(&sides(cells)).filter(|found| found.requests.iter().all(|&n| n >= LEAST as f64))
    }

    fn effect(&self) -> Option<Effect> {
        let hosts: Vec<HostShare> = self.hosts.values().copied().collect();
        Some(Effect::Student(self.log?.estimated, 0.0).among(&hosts))
    }
}

fn of_seconds(routes: &[&[Line]], cost: Cost) -> Vec<Vec<Cell>> {
    routes.iter().map(|lines| cells::of_seconds(lines, cost)).collect()
}

fn longer(seconds: &[Vec<Cell>], stretch: u64) -> Vec<Cell> {
    seconds.iter().flat_map(|cells| cells::of_stretches(cells, stretch)).collect()
}

fn sides(cells: &[Cell]) -> Vec<[Tally; 2]> {
    cells.iter().map(|cell| cell.sides).collect()
}

/// The cells in which the usual request is compared, and how long they are.
fn usual_cells(routes: &[&[Line]]) -> (Vec<Cell>, u64) {
    let logs = of_seconds(routes, Cost::Log);
    let stretch = cells::best_stretch(&logs.concat());
    (longer(&logs, stretch), stretch)
}

/// What each host says of what was found.
fn shares_of_hosts(cells: &[Cell], found: &Within) -> BTreeMap<u32, HostShare> {
    let mut hosts: BTreeMap<u32, HostShare> = BTreeMap::new();
    for of_host in cells.chunk_by(|one, other| one.host == other.host) {
        let own = share(&sides(of_host), found);
        let sum = hosts.entry(of_host[0].host).or_default();
        *sum = HostShare { share: sum.share + own.share, beyond: sum.beyond + own.beyond };
    }
    let all: f64 = hosts.values().map(|host| host.share).sum();
    hosts.values_mut().for_each(|host| *host = HostShare { share: host.share / all, beyond: host.beyond / all });
    hosts
}

/// The same of all parts together, each with its share of CPU time.
fn shares(parts: &[Part]) -> Vec<HostShare> {
    let all: f64 = parts.iter().filter(|part| part.log.is_some()).map(|part| part.cpu).sum();
    let mut hosts: BTreeMap<u32, HostShare> = BTreeMap::new();
    for part in parts {
        for (host, own) in &part.hosts {
            let sum = hosts.entry(*host).or_default();
            sum.share += part.cpu / all * own.share;
            sum.beyond += part.cpu / all * own.beyond;
        }
    }
    hosts.into_values().collect()
}

/// The effects of the routes, each with its share of CPU time.
fn total(parts: &[Part]) -> Reading<Estimated> {
    let told: Vec<(f64, Estimated)> = parts.iter().filter_map(|part| Some((part.cpu, part.log?.estimated))).collect();
    let all: f64 = told.iter().map(|(cpu, _)| cpu).sum();
    Estimated::weighted(told.into_iter().map(|(cpu, effect)| (cpu / all, effect)))
        .ok_or_else(|| Absent::because(format!("fewer than {LEAST} requests of one version")))
}

/// Whether the plain means, compared within the same cells, contradict what the usual request did.
fn means_differ(parts: &[Part], total: &Estimated) -> Option<ReleaseWarning> {
    let known = || parts.iter().filter(|part| part.log.is_some()).filter_map(|part| Some((part.cpu, part.plain?)));
    let all: f64 = known().map(|(cpu, _)| cpu).sum();
    // Relative to the mean of both: to first order the same as the difference of logarithms.
    let relative_part = |(_, (requests, found)): (f64, (f64, Within))| (requests / all, found.estimated);
    means::differ(&Estimated::weighted(known().map(relative_part))?, total.effect)
}
