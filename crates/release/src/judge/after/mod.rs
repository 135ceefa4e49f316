//! Estimator for one version after the other: adjusts for load by rulers, or refuses.

mod guards;
mod load;

use std::collections::{BTreeMap, BTreeSet};

use crate::record::{LoadAlarm, Refusal, ReleaseQuestion, ReleaseWarning, RestsOn};
use steady_model::{ALL_PROCESSES, Absent, Reading, ReleaseRows, RequestRuler};
use steady_stats::release::{Estimated, InCourse, TimedCost, between_units, differ, in_course};

use super::canary;
use super::design::{Answer, RouteAnswer, versions_of_hosts};
use super::effect::{Effect, Plain, levels_of_strata};
use super::process_cpu::{self, ProcessCpu};
use super::window::{Line, Sides};
use super::{hosts, rulers};
use guards::{LEAST_READINGS, utilisation};

/// Length of the blocks of the regression, in seconds. A block has enough readings that errors in the load do not bias
/// its slope towards zero.
const BLOCK: u64 = 5;
/// Length of the stretches of which each version needs a minimum number, in seconds.
const CLUSTER: u64 = 10;
/// Largest variance inflation; beyond it, the load nearly identifies the version.
const MOST_INFLATION: f64 = 2.0;
/// The interval is extended by this share of the adjustment for load.
const SHIFT_SHARE: f64 = 0.1;
/// The same share if only the agent's rulers measure the load, because they measure less of the workers' load.
const SHIFT_SHARE_OUTSIDE: f64 = 0.25;
/// Significance level at which two kinds of rulers disagree.
const DISAGREE: f64 = 0.05;

/// Quantity that is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    /// CPU time divided by the average cost of the same requests: the total.
    Total,
    /// Mean of the logarithm: the usual request.
    Usual,
}

/// Lines of the comparison, and means of their routes and classes.
struct Course<'a> {
    lines: &'a [Line],
    /// Mean logarithm and mean cost (in nanoseconds) over both versions, by route and class that both served.
    strata: BTreeMap<(u32, u32), (f64, f64)>,
    /// Whether hosts served both versions, one after the other. Otherwise each host served one version.
    is_within_hosts: bool,
}

/// Estimates the effects, or refuses. The lines must be sorted.
pub(crate) fn answer(
    question: &ReleaseQuestion,
    rows: &ReleaseRows,
    lines: &[Line],
    processes: &ProcessCpu<'_>,
) -> Answer {
    let course = Course::new(lines);
    let (window, sides) = (question.from..question.to, Sides::new(question, rows));
    // Readings are relative to the mean of those that are compared with each other.
    let place = |host: u32| if course.is_within_hosts { host } else { 0 };
    let [mut inside, outside] = [true, false]
        .map(|workers| rulers::readings(rows, window.clone(), workers, |row| (place(row.host), row.ruler)));
    inside.retain(|reading| is_comparable_across_processes(reading.ruler));
    inside.extend(outside.iter().filter(|reading| !is_comparable_across_processes(reading.ruler)));
    let [workers, agents] =
        [(&inside, true), (&outside, false)].map(|(readings, own)| course.with(readings, own, &sides));
    // Rulers in workers measure more of the load, but with few requests they run too rarely.
    let too_rare = workers.per_second < LEAST_READINGS && agents.per_second >= LEAST_READINGS;
    let (chosen, rests_on) = match workers.per_second > 0.0 && !too_rare {
        true => (&workers, RestsOn::WorkerRulers),
        false => (&agents, RestsOn::AgentRulers),
    };
    let mut costs = chosen.costs(&course, Measure::Total, None);
    let counts_processes = processes.counts_by_process() && count_processes(&mut costs, processes, place);
    let found = in_course(&costs);
    let mut refused = course.too_little(question, chosen);
    refused.extend(
        found
            .filter(|found| found.inflation > MOST_INFLATION)
            .map(|found| Refusal::LoadsDoNotOverlap { variance_inflation: found.inflation }),
    );
    refused.extend(utilisation(question, rows, lines));
    if found.is_none() && refused.is_empty() {
        let overlap = Refusal::LoadsDoNotOverlap { variance_inflation: f64::INFINITY };
        refused.push(guards::too_few_of_both(question, &costs).unwrap_or(overlap));
    }
    if !refused.is_empty() {
        let why = || Absent::because("the effects of load and of the version cannot be separated");
        let routes = course.routes_with(|_, _| Err(why()));
        let settle = course.settling(question.resolution);
        return Answer {
            rests_on,
            total: Err(why()),
            usual: Err(why()),
            routes,
            refused,
            settle,
            ..Answer::of_coins()
        };
    }
    let share = if rests_on == RestsOn::WorkerRulers { SHIFT_SHARE } else { SHIFT_SHARE_OUTSIDE };
    let of_hosts = (!course.is_within_hosts).then(|| course.error_of_hosts());
    let effect = |found: Option<InCourse>, hosts: Option<usize>| {
        let found = found.ok_or_else(|| Absent::because("the time is too short to estimate the error"))?;
        let estimated = match &of_hosts {
            None => found.estimated,
            Some(error) => error
                .and_then(|error| with_hosts(found.estimated, error))
                .ok_or_else(|| Absent::because(canary::ONE_HOST_EACH))?,
        };
        Ok(widened(InCourse { estimated, ..found }, share, hosts.map_or(0.0, canary::allowance)))
    };
    // The spread of hosts with one version each includes what their processes differ by.
    let replaced = hosts_with_new_processes(lines).filter(|_| course.is_within_hosts);
    let forked = |hosts| ReleaseWarning::ForkedProcesses { allowance: canary::allowance(hosts) };
    let mut warnings: Vec<ReleaseWarning> = replaced.map(forked).into_iter().collect();
    warnings.extend((of_hosts == Some(None)).then_some(ReleaseWarning::OneProcessASide { allowance: None }));
    if rests_on == RestsOn::WorkerRulers && agents.per_second >= LEAST_READINGS {
        warnings.extend(disagreement(found, in_course(&agents.costs(&course, Measure::Total, None))));
    }
    let of = |measure: Measure, route| effect(in_course(&chosen.costs(&course, measure, route)), replaced);
    let routes = course.routes_with(|measure, route| of(measure, Some(route)));
    let hosts = hosts::each(lines, |host, _| {
        if !course.is_within_hosts {
            return Err(Absent::because("it served only one version"));
        }
        let own: Vec<TimedCost> = costs.iter().filter(|cost| cost.place == host).cloned().collect();
        effect(in_course(&own), replaced.map(|_| 1))
    });
    let total = effect(found, replaced).map(|total| {
        let shares = hosts::by_precision(&hosts, total.estimate());
        total.with_hosts(&shares)
    });
    // The width comes from the model of the load. More of the same traffic does not narrow it; a coin would.
    let settle = course.settling(question.resolution);
    let usual = of(Measure::Usual, None);
    Answer { rests_on, total, usual, routes, hosts, settle, counts_processes, warnings, ..Answer::of_coins() }
}

/// Includes the unexplained CPU time of processes. Returns whether it is known for both versions.
///
/// The estimate uses the sums over the whole time. How they change over time is part of the error.
fn count_processes(costs: &mut [TimedCost], processes: &ProcessCpu<'_>, place: impl Fn(u32) -> u32) -> bool {
    let sums = processes.by(|_, side| side);
    let [old, new] = [0, 1].map(|side| sums.get(&side).and_then(|used| used.factor()));
    let (Some(old), Some(new)) = (old, new) else { return false };
    let over_time = processes.over_time(place);
    for cost in costs {
        let key = (cost.place, process_cpu::stretch(cost.at as u64), usize::from(cost.is_new));
        let beyond = over_time.get(&key).copied().unwrap_or(0.0);
        cost.cost += beyond + if cost.is_new { new.ln() } else { old.ln() };
    }
    true
}

/// Returns whether a ruler gives the same reading in every process under the same load.
///
/// Loads from memory do not: their speed depends on the pages that a process was given, by up to 5 % for its lifetime.
/// A release runs in other processes.
fn is_comparable_across_processes(ruler: RequestRuler) -> bool {
    ruler != RequestRuler::Memory
}

/// Returns the effect, with the interval extended by a share of the adjustment for load and by `allowance`.
fn widened(found: InCourse, share: f64, allowance: f64) -> Effect {
    Effect::Student(found.estimated, share * (found.plain - found.estimated.effect).abs() + allowance)
}

/// Adds the error of the difference between hosts, if the versions ran on different hosts.
fn with_hosts(found: Estimated, error: Estimated) -> Option<Estimated> {
    Estimated::weighted([(1.0, found), (1.0, Estimated { effect: 0.0, ..error })])
}

/// Returns the number of hosts of the version that has fewer, or `None` if a process served both versions. Processes of
/// the other version are new ones, and those of a host may differ from them together. A metrics store does not show
/// which processes served, and a counter of the service counts each version in processes of its own.
fn hosts_with_new_processes(lines: &[Line]) -> Option<usize> {
    let mut sides: [BTreeSet<(u32, u64)>; 2] = Default::default();
    for line in lines {
        sides[line.side].insert((line.row.host, line.row.process));
    }
    let [old, new] = &sides;
    if old.intersection(new).any(|(_, process)| ![0, ALL_PROCESSES].contains(process)) {
        return None;
    }
    let hosts = |side: &BTreeSet<(u32, u64)>| side.iter().map(|(host, _)| host).collect::<BTreeSet<_>>().len();
    sides.iter().map(hosts).min()
}

fn disagreement(workers: Option<InCourse>, agents: Option<InCourse>) -> Option<ReleaseWarning> {
    let (workers, agents) = (workers?.estimated, agents?.estimated);
    differ(&workers, &agents, DISAGREE).then(|| {
        ReleaseWarning::RulersDisagree(LoadAlarm {
            by_worker_rulers: workers.effect.exp_m1(),
            by_agent_rulers: agents.effect.exp_m1(),
        })
    })
}

impl<'a> Course<'a> {
    fn new(lines: &'a [Line]) -> Course<'a> {
        let mut plains = BTreeMap::new();
        let mut means = BTreeMap::new();
        for of_stratum in lines.chunk_by(|one, other| one.stratum() == other.stratum()) {
            let plain = Plain::of(of_stratum);
            if plain.requests.contains(&0) {
                continue;
            }
            let mut logs = [0.0; 2];
            of_stratum.iter().for_each(|line| logs[line.side] += line.log());
            let mean = (logs[0] / plain.requests[0] as f64 + logs[1] / plain.requests[1] as f64) / 2.0;
            plains.insert(of_stratum[0].stratum(), plain);
            means.insert(of_stratum[0].stratum(), mean);
        }
        let levels = levels_of_strata(&plains);
        let strata = means.into_iter().map(|(stratum, mean)| (stratum, (mean, levels[&stratum]))).collect();
        let is_within_hosts = versions_of_hosts(lines).values().all(|sides| *sides == [true, true]);
        Course { lines, strata, is_within_hosts }
    }

    /// Returns the difference between the hosts of NEW and those of OLD, with the host as the unit. `None` if each
    /// version has one host.
    fn error_of_hosts(&self) -> Option<Estimated> {
        let mut hosts: BTreeMap<(u32, usize), (f64, f64)> = BTreeMap::new();
        for line in self.lines {
            if let Some((_, level)) = self.strata.get(&line.stratum()) {
                let own = hosts.entry((line.row.host, line.side)).or_default();
                own.0 += line.row.sums.cpu;
                own.1 += level * line.requests();
            }
        }
        let of_side = |wanted: usize| {
            let own = hosts.iter().filter(move |((_, side), _)| *side == wanted);
            own.map(|(_, (cpu, expected))| (cpu / expected).ln()).collect::<Vec<f64>>()
        };
        between_units(&of_side(0), &of_side(1))
    }

    fn routes_with(&self, effect: impl Fn(Measure, u32) -> Reading<Effect>) -> Vec<RouteAnswer> {
        let of_route = |lines: &[Line]| {
            let route = lines[0].row.route;
            let both = self.strata.range((route, 0)..=(route, u32::MAX)).next().is_some();
            both.then(|| RouteAnswer {
                route,
                plain: Plain::of(lines),
                effect: effect(Measure::Total, route),
                usual: effect(Measure::Usual, route),
            })
        };
        self.lines.chunk_by(|one, other| one.row.route == other.row.route).filter_map(of_route).collect()
    }
}
