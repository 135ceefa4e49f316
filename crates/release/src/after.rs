//! First the one version, then the other: what the load did is taken off by rulers, or there is no answer.

use std::collections::{BTreeMap, HashMap, HashSet};

use steady_model::{
    Absent, LoadAlarm, Refusal, ReleaseDesign, ReleaseQuestion, ReleaseRows, ReleaseWarning, RequestRuler, RestsOn,
    Settling,
};
use steady_stats::release::{Clustered, TimedCost, clustered, differ};

use crate::answer::{Answer, RouteAnswer};
use crate::effect::{Effect, Plain};
use crate::rulers::{self, Reading};
use crate::window::{Line, Sides};

/// Seconds that stand together: so many readings tell the load well enough that its slope is not understated.
const BLOCK: u64 = 5;
/// Seconds of the stretches that errors come from.
const CLUSTER: u64 = 10;
/// What is refused (measured, as ARCHITECTURE.md has it).
const MOST_INFLATION: f64 = 1.3;
const MOST_DEVIATIONS: f64 = 1.0;
const LEAST_ROWS: u64 = 60;
const LEAST_CLUSTERS: u64 = 6;
const LEAST_READINGS: f64 = 20.0;
/// The share of the load shift by which the interval reaches further.
const SHIFT_SHARE: f64 = 0.1;
/// The error at which two kinds of rulers are said to disagree.
const DISAGREE: f64 = 0.05;
/// Requests that a coin for each needs in all to find an effect, over variance and squared effect.
const REQUESTS_NEEDED: f64 = 42.0;

/// What there is to judge by.
struct Course<'a> {
    lines: &'a [Line<'a>],
    /// By route: the mean of both versions' logarithms, and the CPU time of a request.
    routes: BTreeMap<u32, (f64, f64)>,
}

/// The answer of the lines, which are in order.
pub(crate) fn answer(question: &ReleaseQuestion, rows: &ReleaseRows, lines: &[Line]) -> Answer {
    let course = Course::new(lines);
    let (window, sides) = (question.from..question.to, Sides::new(question, rows));
    let [workers, agents] = [true, false].map(|workers| {
        let readings = rulers::readings(rows, window.clone(), workers, |row| (row.host, row.ruler));
        course.with(&readings, &sides)
    });
    let (chosen, rests_on) =
        if workers.per_second > 0.0 { (&workers, RestsOn::WorkerRulers) } else { (&agents, RestsOn::AgentRulers) };
    let found = clustered(&chosen.costs(&course, None));
    let mut refused = course.too_little(chosen);
    refused.extend(
        found
            .filter(|found| found.inflation > MOST_INFLATION)
            .map(|found| Refusal::LoadsDoNotOverlap { variance_inflation: found.inflation }),
    );
    refused.extend(utilisation(question, rows, lines));
    if found.is_none() && refused.is_empty() {
        refused.push(Refusal::LoadsDoNotOverlap { variance_inflation: f64::MAX });
    }
    if !refused.is_empty() {
        let why = || Absent::because("load and version cannot be told apart");
        let routes = course.routes_with(|_| Err(why()));
        let settle = course.settling(question.resolution);
        return Answer { rests_on, total: Err(why()), routes, refused, settle, ..Answer::of_coins() };
    }
    let effect = |found: Option<Clustered>| {
        found.map(widened).ok_or_else(|| Absent::because("too little time to tell its error"))
    };
    let mut warnings = Vec::new();
    if rests_on == RestsOn::WorkerRulers && agents.per_second >= LEAST_READINGS {
        warnings.extend(disagreement(found, clustered(&agents.costs(&course, None))));
    }
    let routes = course.routes_with(|route| effect(clustered(&chosen.costs(&course, Some(route)))));
    Answer { rests_on, total: effect(found), routes, warnings, ..Answer::of_coins() }
}

/// The effect, with the interval widened by a share of what was taken off.
fn widened(found: Clustered) -> Effect {
    Effect::Student(found.estimated, SHIFT_SHARE * (found.plain - found.estimated.effect).abs())
}

fn disagreement(workers: Option<Clustered>, agents: Option<Clustered>) -> Option<ReleaseWarning> {
    let (workers, agents) = (workers?.estimated, agents?.estimated);
    differ(&workers, &agents, DISAGREE).then(|| {
        ReleaseWarning::RulersDisagree(LoadAlarm {
            by_worker_rulers: workers.effect.exp_m1(),
            by_agent_rulers: agents.effect.exp_m1(),
        })
    })
}

/// Readings and their sum by ruler, by host, block and side; the agent's have no side, and stand under both.
type Blocks = BTreeMap<(u32, u64, usize), BTreeMap<RequestRuler, (f64, f64)>>;

/// What rulers say of the load.
struct Load {
    kinds: Vec<RequestRuler>,
    blocks: Blocks,
    /// Readings a second on the side that has fewer.
    per_second: f64,
}

impl<'a> Course<'a> {
    fn new(lines: &'a [Line<'a>]) -> Course<'a> {
        let mut routes = BTreeMap::new();
        for of_route in lines.chunk_by(|one, other| one.row.route == other.row.route) {
            let plain = Plain::of(of_route);
            if plain.requests.contains(&0) {
                continue;
            }
            let mut logs = [0.0; 2];
            of_route.iter().for_each(|line| logs[line.side] += line.log());
            let mean = (logs[0] / plain.requests[0] as f64 + logs[1] / plain.requests[1] as f64) / 2.0;
            let cost = (plain.cpu[0] + plain.cpu[1]) / (plain.requests[0] + plain.requests[1]) as f64;
            routes.insert(of_route[0].row.route, (mean, cost));
        }
        Course { lines, routes }
    }

    /// What rulers say beside it: workers' under the version that they served, the agents' under both.
    fn with(&self, readings: &[Reading], sides: &Sides) -> Load {
        let mut blocks = Blocks::new();
        let served: HashMap<(u32, u64), usize> =
            self.lines.iter().map(|line| ((line.row.host, line.row.second), line.side)).collect();
        let mut counts = [0.0; 2];
        for reading in readings {
            let own = match reading.version {
                Some(version) => [0, 1].map(|side| sides.of(version) == Some(side)),
                None => [true, true],
            };
            for side in [0, 1].into_iter().filter(|side| own[*side]) {
                let block = blocks.entry((reading.host, reading.second / BLOCK, side)).or_default();
                let sums = block.entry(reading.ruler).or_default();
                sums.0 += reading.readings;
                sums.1 += reading.sum;
            }
            let counted = served.get(&(reading.host, reading.second)).filter(|side| own[**side]);
            counted.into_iter().for_each(|side| counts[*side] += reading.readings);
        }
        let mut seconds = [0.0; 2];
        served.values().for_each(|&side| seconds[side] += 1.0);
        let rate = |side: usize| if seconds[side] > 0.0 { counts[side] / seconds[side] } else { 0.0 };
        let mut kinds: BTreeMap<RequestRuler, usize> = BTreeMap::new();
        blocks.values().for_each(|block| block.keys().for_each(|kind| *kinds.entry(*kind).or_default() += 1));
        let enough = |count: usize| count as f64 >= 0.8 * blocks.len() as f64;
        let kinds = kinds.into_iter().filter(|(_, count)| enough(*count)).map(|(kind, _)| kind).collect();
        Load { kinds, blocks, per_second: rate(0).min(rate(1)) }
    }

    /// Rows, clusters and readings of the side that has fewer, where they are too few.
    fn too_little(&self, load: &Load) -> Vec<Refusal> {
        let mut rows: [HashSet<(u32, u64, u64)>; 2] = Default::default();
        let mut clusters: [HashSet<u64>; 2] = Default::default();
        for line in self.lines {
            rows[line.side].insert((line.row.host, line.row.process, line.row.second));
            clusters[line.side].insert(line.row.second / CLUSTER);
        }
        let fewer = |counts: [usize; 2]| counts[0].min(counts[1]) as u64;
        let (rows, clusters) = (fewer(rows.map(|rows| rows.len())), fewer(clusters.map(|clusters| clusters.len())));
        let mut refused = Vec::new();
        if rows < LEAST_ROWS {
            refused.push(Refusal::TooFewRows { rows, needed: LEAST_ROWS });
        }
        if clusters < LEAST_CLUSTERS {
            refused.push(Refusal::TooFewClusters { clusters, needed: LEAST_CLUSTERS });
        }
        if load.per_second < LEAST_READINGS || load.kinds.is_empty() {
            refused.push(Refusal::TooFewReadings { per_second: load.per_second, needed: LEAST_READINGS });
        }
        refused
    }

    fn routes_with(&self, effect: impl Fn(u32) -> steady_model::Reading<Effect>) -> Vec<RouteAnswer> {
        let of_route = |lines: &[Line]| {
            let route = lines[0].row.route;
            self.routes.contains_key(&route).then(|| RouteAnswer {
                route,
                plain: Plain::of(lines),
                effect: effect(route),
            })
        };
        self.lines.chunk_by(|one, other| one.row.route == other.row.route).filter_map(of_route).collect()
    }

    /// A coin for each request, and how long it would take: from what requests differ by within a second.
    fn settling(&self, resolution: f64) -> Option<Settling> {
        let (mut squares, mut freedom, mut requests) = (0.0, 0.0, 0.0);
        for line in self.lines.iter().filter(|line| line.row.process != 0) {
            let sums = &line.row.sums;
            squares += (sums.log_squared - sums.log * sums.log / line.requests()).max(0.0);
            freedom += line.requests() - 1.0;
            requests += line.requests();
        }
        let first = self.lines.iter().map(|line| line.row.second).min()?;
        let last = self.lines.iter().map(|line| line.row.second).max()?;
        let per_minute = requests / (last - first + 1) as f64 * 60.0;
        let minutes = REQUESTS_NEEDED * squares / freedom / (resolution * resolution) / per_minute;
        minutes.is_finite().then_some(Settling { design: ReleaseDesign::RandomPerRequest, minutes })
    }
}

impl Load {
    /// The costs of all blocks of which the load is known, of one route or of all.
    fn costs(&self, course: &Course, only: Option<u32>) -> Vec<TimedCost> {
        let mut blocks: BTreeMap<(u64, u32, usize), (f64, f64, f64)> = BTreeMap::new();
        for line in course.lines {
            let Some((mean, cost)) = course.routes.get(&line.row.route) else { continue };
            if only.is_some_and(|only| only != line.row.route) {
                continue;
            }
            let sums = blocks.entry((line.row.second / BLOCK, line.row.host, line.side)).or_default();
            sums.0 += line.requests();
            sums.1 += cost * line.requests();
            sums.2 += cost * (line.log() - line.requests() * mean);
        }
        let row = |((block, host, side), (requests, weight, sum)): (&(u64, u32, usize), &(f64, f64, f64))| {
            let load = self.blocks.get(&(*host, *block, *side))?;
            let covariates: Option<Vec<f64>> =
                self.kinds.iter().map(|kind| load.get(kind).map(|(readings, sum)| sum / readings)).collect();
            Some(TimedCost {
                cluster: block * BLOCK / CLUSTER,
                place: *host,
                is_new: *side == 1,
                requests: *requests,
                cost: sum / weight,
                covariates: covariates?,
            })
        };
        of_both(blocks.iter().filter_map(row).collect())
    }
}

/// The rows of hosts that served both versions, where there are any: hosts differ.
fn of_both(rows: Vec<TimedCost>) -> Vec<TimedCost> {
    let mut served: BTreeMap<u32, [bool; 2]> = BTreeMap::new();
    rows.iter().for_each(|row| served.entry(row.place).or_default()[usize::from(row.is_new)] = true);
    match served.values().any(|sides| *sides == [true, true]) {
        true => rows.into_iter().filter(|row| served[&row.place] == [true, true]).collect(),
        false => rows.into_iter().map(|row| TimedCost { place: 0, ..row }).collect(),
    }
}

/// Whether CPUs were busier under the one version than under the other.
fn utilisation(question: &ReleaseQuestion, rows: &ReleaseRows, lines: &[Line]) -> Option<Refusal> {
    let mut served: HashMap<(u32, u64), [f64; 2]> = HashMap::new();
    for line in lines {
        served.entry((line.row.host, line.row.second)).or_default()[line.side] += line.requests();
    }
    let mut busy: Vec<(u64, u32, usize, f64)> = Vec::new();
    for host in rows.seconds.iter().filter(|host| (question.from..question.to).contains(&host.second)) {
        if let (Some([old, new]), Some(share)) = (served.get(&(host.host, host.second)), host.busy) {
            busy.push((host.second, host.host, usize::from(new > old), share));
        }
    }
    busy.sort_by(|one, other| (one.0, one.1, one.2).cmp(&(other.0, other.1, other.2)).then(one.3.total_cmp(&other.3)));
    let of = |side: usize| busy.iter().filter(move |one| one.2 == side).map(|one| one.3);
    let count = [0, 1].map(|side| of(side).count() as f64);
    let mean = [0, 1].map(|side| of(side).sum::<f64>() / count[side]);
    let squares: f64 = [0, 1].iter().map(|&side| of(side).map(|share| (share - mean[side]).powi(2)).sum::<f64>()).sum();
    let deviation = (squares / (count[0] + count[1] - 2.0)).sqrt();
    let deviations = (mean[1] - mean[0]).abs() / deviation;
    (deviations > MOST_DEVIATIONS).then_some(Refusal::UtilisationDiffers { deviations })
}
