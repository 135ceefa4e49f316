//! First the one version, then the other: what the load did is taken off by rulers, or there is no answer.

mod guards;
mod load;

use std::collections::BTreeMap;

use crate::record::{LoadAlarm, Refusal, ReleaseQuestion, ReleaseWarning, RestsOn};
use steady_model::{Absent, Reading, ReleaseRows, RequestRuler};
use steady_stats::release::{InCourse, TimedCost, differ, in_course};

use super::design::{Answer, RouteAnswer};
use super::effect::{Effect, Plain};
use super::process_cpu::ProcessCpu;
use super::window::{Line, Sides};
use super::{hosts, rulers};
use guards::{LEAST_READINGS, utilisation};

/// Seconds that stand together: so many readings tell the load well enough that its slope is not understated.
const BLOCK: u64 = 5;
/// Seconds of the stretches of which there must be enough.
const CLUSTER: u64 = 10;
/// Beyond this, the version is too nearly known from the load.
const MOST_INFLATION: f64 = 2.0;
/// What is told where the load tells the version altogether.
const UNBOUNDED: f64 = 1e6;
/// The share of the load shift by which the interval reaches further.
const SHIFT_SHARE: f64 = 0.1;
/// The same where only the agent's rulers tell of the load: they see less of what happens to the workers.
const SHIFT_SHARE_OUTSIDE: f64 = 0.25;
/// The error at which two kinds of rulers are said to disagree.
const DISAGREE: f64 = 0.05;

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    /// CPU time over what the same requests cost on average: the total.
    Total,
    /// The mean of the logarithm: the usual request.
    Usual,
}

/// What there is to judge by.
struct Course<'a> {
    lines: &'a [Line],
    /// The routes and classes that both versions served: the mean of both versions' logarithms, and of their costs.
    strata: BTreeMap<(u32, u32), (f64, f64)>,
}

/// The answer of the lines, which are in order.
pub(crate) fn answer(
    question: &ReleaseQuestion,
    rows: &ReleaseRows,
    lines: &[Line],
    processes: &ProcessCpu<'_>,
) -> Answer {
    let course = Course::new(lines);
    let (window, sides) = (question.from..question.to, Sides::new(question, rows));
    let [mut inside, outside] =
        [true, false].map(|workers| rulers::readings(rows, window.clone(), workers, |row| (row.host, row.ruler)));
    inside.retain(|reading| tells_across_processes(reading.ruler));
    inside.extend(outside.iter().filter(|reading| !tells_across_processes(reading.ruler)));
    let [workers, agents] =
        [(&inside, true), (&outside, false)].map(|(readings, own)| course.with(readings, own, &sides));
    // Workers' rulers are the better ones, unless too few requests came for them to be read often.
    let thin = workers.per_second < LEAST_READINGS && agents.per_second >= LEAST_READINGS;
    let (chosen, rests_on) = match workers.per_second > 0.0 && !thin {
        true => (&workers, RestsOn::WorkerRulers),
        false => (&agents, RestsOn::AgentRulers),
    };
    let mut costs = chosen.costs(&course, Measure::Total, None);
    let counts_processes = processes.counts() && count_processes(&mut costs, processes);
    let found = in_course(&costs);
    let mut refused = course.too_little(chosen);
    refused.extend(
        found
            .filter(|found| found.inflation > MOST_INFLATION)
            .map(|found| Refusal::LoadsDoNotOverlap { variance_inflation: found.inflation }),
    );
    refused.extend(utilisation(question, rows, lines));
    if found.is_none() && refused.is_empty() {
        refused.push(Refusal::LoadsDoNotOverlap { variance_inflation: UNBOUNDED });
    }
    if !refused.is_empty() {
        let why = || Absent::because("load and version cannot be told apart");
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
    let effect = |found: Option<InCourse>| {
        found.map(|found| widened(found, share)).ok_or_else(|| Absent::because("too little time to tell its error"))
    };
    let mut warnings = Vec::new();
    if rests_on == RestsOn::WorkerRulers && agents.per_second >= LEAST_READINGS {
        warnings.extend(disagreement(found, in_course(&agents.costs(&course, Measure::Total, None))));
    }
    let of = |measure: Measure, route| effect(in_course(&chosen.costs(&course, measure, route)));
    let routes = course.routes_with(|measure, route| of(measure, Some(route)));
    let hosts = hosts::each(lines, |host, _| {
        effect(in_course(&costs.iter().filter(|cost| cost.place == host).cloned().collect::<Vec<TimedCost>>()))
    });
    let total = effect(found).map(|total| {
        let shares = hosts::by_precision(&hosts, total.estimate());
        total.among(&shares)
    });
    // The width is that of the model of the load, which more of the same traffic does not narrow as coins would.
    let settle = course.settling(question.resolution);
    let usual = of(Measure::Usual, None);
    Answer { rests_on, total, usual, routes, hosts, settle, counts_processes, warnings, ..Answer::of_coins() }
}

/// Counts the CPU time of processes that is not that of requests. Returns whether it is known of both versions everywhere.
fn count_processes(costs: &mut [TimedCost], processes: &ProcessCpu<'_>) -> bool {
    let sums = processes.by(|_, side| side);
    let [old, new] = [0, 1].map(|side| sums.get(&side).and_then(|used| used.factor()));
    let (Some(old), Some(new)) = (old, new) else { return false };
    costs.iter_mut().for_each(|cost| cost.cost += if cost.is_new { new.ln() } else { old.ln() });
    true
}

/// Whether a ruler reads the same in every process under the same load. Loads from memory do not: how fast they are
/// depends on which pages a process was given, by up to 5 % for as long as it lives, and a release is served by other
/// processes.
fn tells_across_processes(ruler: RequestRuler) -> bool {
    ruler != RequestRuler::Memory
}

/// The effect, with the interval widened by a share of what was taken off.
fn widened(found: InCourse, share: f64) -> Effect {
    Effect::Student(found.estimated, share * (found.plain - found.estimated.effect).abs())
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
        let mut strata = BTreeMap::new();
        for of_stratum in lines.chunk_by(|one, other| one.stratum() == other.stratum()) {
            let plain = Plain::of(of_stratum);
            if plain.requests.contains(&0) {
                continue;
            }
            let mut logs = [0.0; 2];
            of_stratum.iter().for_each(|line| logs[line.side] += line.log());
            let mean = (logs[0] / plain.requests[0] as f64 + logs[1] / plain.requests[1] as f64) / 2.0;
            let cost = (plain.cpu[0] + plain.cpu[1]) / (plain.requests[0] + plain.requests[1]) as f64;
            strata.insert(of_stratum[0].stratum(), (mean, cost));
        }
        Course { lines, strata }
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
