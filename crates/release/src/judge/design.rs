//! Detects the design from how requests were assigned and from when each version served, and defines the result of a
//! design.

use std::collections::{BTreeMap, BTreeSet};

use steady_model::{Absent, Assignment, Reading};

use super::effect::{Effect, Plain};
use super::groups::Groups;
use super::window::Line;
use crate::record::{Refusal, ReleaseDesign, ReleaseWarning, RestsOn, Settling};

/// Length of the stretches in which the detection checks which versions served, in seconds.
const STRETCH: u64 = 10;
/// Versions count as simultaneous if both served in at least this share of the stretches of the rarer one.
const TOGETHER: f64 = 0.5;
/// Smallest share of the requests for which a design with weaker assumptions is preferred.
const ENOUGH: f64 = 0.1;

/// A design, and the lines that it uses.
pub(crate) struct Chosen {
    pub(crate) design: ReleaseDesign,
    pub(crate) lines: Vec<Line>,
    /// Number of requests left out because their version was chosen in another way.
    pub(crate) left_out: u64,
    /// Hosts left out because they served only one version, and their requests.
    pub(crate) hosts_left_out: (usize, u64),
}

/// Chooses the design. Returns `None` if no kind of assignment gave requests to both versions.
pub(crate) fn choose(mut lines: Vec<Line>) -> Option<Chosen> {
    let families: [fn(Assignment) -> bool; 3] = [
        |assignment| assignment == Assignment::Random,
        |assignment| assignment == Assignment::Slot,
        |assignment| matches!(assignment, Assignment::Canary | Assignment::None),
    ];
    let all: f64 = lines.iter().map(Line::requests).sum();
    let candidates: Vec<(usize, [f64; 2])> =
        families.iter().map(|family| requests(&lines, family)).enumerate().filter(|(_, sides)| both(sides)).collect();
    let large = candidates.iter().find(|(_, sides)| sides[0] + sides[1] >= ENOUGH * all);
    let (family, _) = large.or(candidates.first())?;
    let mut left_out = 0;
    lines.retain(|line| {
        let belongs = families[*family](line.row.assignment);
        left_out += if belongs { 0 } else { line.row.sums.requests };
        belongs
    });
    let design = match family {
        0 => ReleaseDesign::RandomPerRequest,
        1 => ReleaseDesign::Switchback,
        _ if served_together(&lines) => ReleaseDesign::Canary,
        _ => ReleaseDesign::OneAfterTheOther,
    };
    match design {
        ReleaseDesign::RandomPerRequest => left_out += keep_coins(&mut lines),
        ReleaseDesign::Switchback => left_out += keep_one_length(&mut lines),
        _ => {}
    }
    let hosts_left_out = match design {
        ReleaseDesign::Canary | ReleaseDesign::OneAfterTheOther => keep_hosts_of_both(&mut lines),
        _ => (0, 0),
    };
    Some(Chosen { design, lines, left_out, hosts_left_out })
}

/// Leaves out the hosts that served only one version, unless all did, because hosts differ. Returns their number and
/// that of their requests.
fn keep_hosts_of_both(lines: &mut Vec<Line>) -> (usize, u64) {
    let hosts = versions_of_hosts(lines);
    if !hosts.values().any(|sides| *sides == [true, true]) {
        return (0, 0);
    }
    let mut left_out = 0;
    lines.retain(|line| {
        let stays = hosts[&line.row.host] == [true, true];
        left_out += if stays { 0 } else { line.row.sums.requests };
        stays
    });
    (hosts.values().filter(|sides| **sides != [true, true]).count(), left_out)
}

/// Returns which versions each host served.
pub(crate) fn versions_of_hosts(lines: &[Line]) -> BTreeMap<u32, [bool; 2]> {
    let mut hosts: BTreeMap<u32, [bool; 2]> = BTreeMap::new();
    lines.iter().for_each(|line| hosts.entry(line.row.host).or_default()[line.side] = true);
    hosts
}

fn both(sides: &[f64; 2]) -> bool {
    sides.iter().all(|requests| *requests > 0.0)
}

fn requests(lines: &[Line], family: &fn(Assignment) -> bool) -> [f64; 2] {
    let mut sides = [0.0; 2];
    lines.iter().filter(|line| family(line.row.assignment)).for_each(|line| sides[line.side] += line.requests());
    sides
}

/// Returns whether both versions served during most of the time of the version that served for the shorter time.
///
/// If any host had both versions, only such hosts count, each by itself, because hosts may switch one by one.
fn served_together(lines: &[Line]) -> bool {
    let hosts = versions_of_hosts(lines);
    let mixed = |line: &Line| hosts[&line.row.host] == [true, true];
    let by_host = lines.iter().any(mixed);
    let mut stretches: BTreeMap<(u32, u64), [bool; 2]> = BTreeMap::new();
    for line in lines.iter().filter(|line| !by_host || mixed(line)) {
        let host = if by_host { line.row.host } else { 0 };
        stretches.entry((host, line.row.second / STRETCH)).or_default()[line.side] = true;
    }
    let count = |of: fn(&[bool; 2]) -> bool| stretches.values().filter(|served| of(served)).count() as f64;
    count(|served| served[0] && served[1]) >= TOGETHER * count(|served| served[0]).min(count(|served| served[1]))
}

/// Leaves out times at which one version had a share of 0, as before the start of a rollout. Returns the number of
/// requests left out.
///
/// The requests of the other version at such times have none to compare with. The times are runs of one version on a
/// host that are too long for the coin's share elsewhere.
fn keep_coins(lines: &mut Vec<Line>) -> u64 {
    /// A run with a smaller probability under the coin is left out.
    const CHANCE: f64 = 1e-6;
    let mut seconds: BTreeMap<(u32, u64), [f64; 2]> = BTreeMap::new();
    lines.iter().for_each(|line| {
        seconds.entry((line.row.host, line.row.second)).or_default()[line.side] += line.requests();
    });
    let sum = |of: &[(&(u32, u64), &[f64; 2])]| {
        [0, 1].map(|side: usize| of.iter().map(|(_, sides)| sides[side]).sum::<f64>())
    };
    let served: Vec<(&(u32, u64), &[f64; 2])> = seconds.iter().collect();
    let whole = sum(&served);
    let mut gone: BTreeSet<(u32, u64)> = BTreeSet::new();
    for of_host in served.chunk_by(|one, other| one.0.0 == other.0.0) {
        let on_host = sum(of_host);
        let alone = |sides: &[f64; 2]| (0..2).find(|side| sides[1 - side] <= 0.0);
        for run in of_host.chunk_by(|one, other| alone(one.1).is_some() && alone(one.1) == alone(other.1)) {
            let Some(side) = alone(run[0].1) else { continue };
            let own = sum(run)[side];
            let reference = if on_host[1 - side] > 0.0 { on_host } else { whole };
            let share = reference[1 - side] / (reference[0] + reference[1] - own);
            if own * (-share).ln_1p() < CHANCE.ln() {
                gone.extend(run.iter().map(|(place, _)| **place));
            }
        }
    }
    let mut left_out = 0;
    lines.retain(|line| {
        let stays = !gone.contains(&(line.row.host, line.row.second));
        left_out += if stays { 0 } else { line.row.sums.requests };
        stays
    });
    left_out
}

/// Keeps the slots of the length that has the most requests, because slots of different lengths cannot form pairs.
/// Returns the number of requests left out.
fn keep_one_length(lines: &mut Vec<Line>) -> u64 {
    let mut lengths: BTreeMap<u32, u64> = BTreeMap::new();
    lines.iter().for_each(|line| *lengths.entry(line.row.slot_seconds).or_default() += line.row.sums.requests);
    let Some((&length, _)) = lengths.iter().max_by_key(|(_, requests)| **requests) else { return 0 };
    lines.retain(|line| line.row.slot_seconds == length);
    lengths.iter().filter(|(other, _)| **other != length).map(|(_, requests)| requests).sum()
}

/// Result for one route.
pub(crate) struct RouteAnswer {
    /// Index of the route in the rows.
    pub(crate) route: u32,
    /// Unadjusted sums of the route.
    pub(crate) plain: Plain,
    /// Effect on the total of the route.
    pub(crate) effect: Reading<Effect>,
    /// Effect on the usual request of the route.
    pub(crate) usual: Reading<Effect>,
}

impl RouteAnswer {
    /// Creates the result of a route that was compared only together with others.
    pub(crate) fn pooled(route: u32, plain: Plain) -> RouteAnswer {
        let why = || {
            Absent::because(
                "which requests are on this route depends on the version, so it was compared together with others",
            )
        };
        RouteAnswer { route, plain, effect: Err(why()), usual: Err(why()) }
    }
}

/// Result for one host, if there are several.
pub(crate) struct HostAnswer {
    /// Index of the host in the rows.
    pub(crate) host: u32,
    /// Unadjusted sums of the host.
    pub(crate) plain: Plain,
    /// Effect on the total of the host.
    pub(crate) effect: Reading<Effect>,
    /// Cost of the host relative to other hosts, as a logarithm, if it has only one version.
    pub(crate) level: Option<f64>,
}

/// Result of a design's estimator.
pub(crate) struct Answer {
    /// How the estimate is adjusted for load.
    pub(crate) rests_on: RestsOn,
    /// Effect on the total of all routes.
    pub(crate) total: Reading<Effect>,
    /// Effect on the usual request; routes are weighted by CPU time.
    pub(crate) usual: Reading<Effect>,
    /// Routes that both versions served, and routes that were compared only together with others.
    pub(crate) routes: Vec<RouteAnswer>,
    /// Result for each host; empty if there is only one.
    pub(crate) hosts: Vec<HostAnswer>,
    /// Routes and classes that were compared as one.
    pub(crate) groups: Groups,
    /// Reasons of a refusal; empty if there is an answer.
    pub(crate) refused: Vec<Refusal>,
    /// Another design that would probably give a verdict.
    pub(crate) settle: Option<Settling>,
    /// Whether the total compares the CPU time of processes instead of requests alone.
    pub(crate) counts_processes: bool,
    /// Warnings that depend on the design.
    pub(crate) warnings: Vec<ReleaseWarning>,
}

impl Answer {
    /// Creates an empty result of a design with a coin. The estimators fill it in.
    pub(crate) fn of_coins() -> Answer {
        Answer {
            rests_on: RestsOn::Coins,
            total: Err(Absent::because("nothing was compared")),
            usual: Err(Absent::because("nothing was compared")),
            routes: Vec::new(),
            hosts: Vec::new(),
            groups: Groups::default(),
            refused: Vec::new(),
            settle: None,
            counts_processes: false,
            warnings: Vec::new(),
        }
    }
}
