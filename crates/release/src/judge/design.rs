//! How two versions came to be compared, from how requests were assigned and from who served when; and what a design answers.

use std::collections::{BTreeMap, BTreeSet};

use steady_model::{Absent, Assignment, Reading};

use super::effect::{Effect, Plain};
use super::groups::Groups;
use super::window::Line;
use crate::record::{Refusal, ReleaseDesign, ReleaseWarning, RestsOn, Settling};

/// Seconds that are taken together when it is asked who served when.
const STRETCH: u64 = 10;
/// The share of a version's time in which the other served as well from which on they count as simultaneous.
const TOGETHER: f64 = 0.5;
/// A stronger design is taken where it has this share of the requests at least.
const ENOUGH: f64 = 0.1;

/// The design, the lines that belong to it, and how many requests of others there are. `None` where no way of assigning
/// gave requests to both versions.
pub(crate) fn choose(mut lines: Vec<Line>) -> Option<(ReleaseDesign, Vec<Line>, u64)> {
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
    Some((design, lines, left_out))
}

fn both(sides: &[f64; 2]) -> bool {
    sides.iter().all(|requests| *requests > 0.0)
}

fn requests(lines: &[Line], family: &fn(Assignment) -> bool) -> [f64; 2] {
    let mut sides = [0.0; 2];
    lines.iter().filter(|line| family(line.row.assignment)).for_each(|line| sides[line.side] += line.requests());
    sides
}

/// Whether both served in most of the time in which the one that served for the shorter time did: on the same host,
/// where any host had both, for hosts may change over one by one.
fn served_together(lines: &[Line]) -> bool {
    let mut hosts: BTreeMap<u32, [bool; 2]> = BTreeMap::new();
    lines.iter().for_each(|line| hosts.entry(line.row.host).or_default()[line.side] = true);
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

/// Where the share of a version is 0, as before a rollout begins, no coin falls: what the other version cost then has nothing beside
/// it, and is left out. That is seen by runs of one version on a host which are longer than the coin has them elsewhere.
fn keep_coins(lines: &mut Vec<Line>) -> u64 {
    /// Runs that a coin makes more rarely than this are not its.
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
            let among = if on_host[1 - side] > 0.0 { on_host } else { whole };
            let share = among[1 - side] / (among[0] + among[1] - own);
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

/// Slots of several lengths cannot be pairs of each other: those of the length that served most remain.
fn keep_one_length(lines: &mut Vec<Line>) -> u64 {
    let mut lengths: BTreeMap<u32, u64> = BTreeMap::new();
    lines.iter().for_each(|line| *lengths.entry(line.row.slot_seconds).or_default() += line.row.sums.requests);
    let Some((&length, _)) = lengths.iter().max_by_key(|(_, requests)| **requests) else { return 0 };
    lines.retain(|line| line.row.slot_seconds == length);
    lengths.iter().filter(|(other, _)| **other != length).map(|(_, requests)| requests).sum()
}

/// One route.
pub(crate) struct RouteAnswer {
    /// Which.
    pub(crate) route: u32,
    /// Its plain sums.
    pub(crate) plain: Plain,
    /// The effect on its total.
    pub(crate) effect: Reading<Effect>,
    /// The effect on its usual request.
    pub(crate) usual: Reading<Effect>,
}

impl RouteAnswer {
    /// A route that was compared with others alone.
    pub(crate) fn pooled(route: u32, plain: Plain) -> RouteAnswer {
        let why = || {
            Absent::because(
                "the version decides which requests are on it, so they were compared with those of other routes",
            )
        };
        RouteAnswer { route, plain, effect: Err(why()), usual: Err(why()) }
    }
}

/// One host of several.
pub(crate) struct HostAnswer {
    /// Which.
    pub(crate) host: u32,
    /// Its plain sums.
    pub(crate) plain: Plain,
    /// Its own effect.
    pub(crate) effect: Reading<Effect>,
    /// How far its cost lies above that of the others, where it has one version.
    pub(crate) level: Option<f64>,
}

/// The answer of a design.
pub(crate) struct Answer {
    /// By what the load was taken off.
    pub(crate) rests_on: RestsOn,
    /// The effect on the total of all routes.
    pub(crate) total: Reading<Effect>,
    /// The effect on the usual request, routes mixed by CPU time.
    pub(crate) usual: Reading<Effect>,
    /// The routes that both versions served, and those that were compared with others.
    pub(crate) routes: Vec<RouteAnswer>,
    /// The hosts, each by itself, where there are several.
    pub(crate) hosts: Vec<HostAnswer>,
    /// Which routes and classes were compared as one.
    pub(crate) groups: Groups,
    /// Why there is none.
    pub(crate) refused: Vec<Refusal>,
    /// What would give one.
    pub(crate) settle: Option<Settling>,
    /// Whether the total is that of the CPU time of processes, and not of requests alone.
    pub(crate) counts_processes: bool,
    /// What the reader should know.
    pub(crate) warnings: Vec<ReleaseWarning>,
}

impl Answer {
    /// Nothing yet, of a design with a coin for each request.
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
