//! Evaluates the rows of a window. The evaluation is a pure function: the same rows always give the same report.
//!
//! This file assembles the report. `design` detects the design; `random`, `switchback`, `canary` and `after` have the
//! estimator of each design.

mod after;
mod canary;
mod cells;
mod course;
mod design;
mod effect;
mod error;
mod facts;
mod groups;
mod hosts;
mod process_cpu;
mod random;
mod rulers;
mod switchback;
mod tails;
mod wall;
mod watch;
mod window;

use std::collections::BTreeMap;

use crate::record::{
    ChangeEstimate, ReleaseChange, ReleaseDesign, ReleaseQuestion, ReleaseReport, ReleaseRoute, ReleaseSaving,
    ReleaseWarning,
};
use steady_model::{ALL_PROCESSES, Absent, FailIf, GateState, Interval, Metric, Nanos, Reading, ReleaseRows, Verdict};

use design::{Answer, Chosen, RouteAnswer};
use effect::{Criteria, Effect, Plain, change, estimate};
use process_cpu::ProcessCpu;
use window::Line;

pub(crate) use canary::ENOUGH_UNITS;
pub use error::JudgeError;
pub(crate) use error::quoted_names;
pub(crate) use facts::LEAST_GAP;
pub use watch::RepeatedComparison;
pub(crate) use watch::last_end;

/// Reason why a route has no median wall time.
const NO_MEDIAN: &str = "the distribution of its wall times is not stored for both versions";
/// Most routes with unequal shares that a warning names.
const UNEQUAL_NAMED: usize = 3;

/// Compares two versions from the rows of one window.
pub fn judge(question: &ReleaseQuestion, rows: &ReleaseRows) -> Result<ReleaseReport, JudgeError> {
    Ok(judge_at(question, rows, 1.0 - question.confidence)?.report)
}

/// A report, and the sums that the saving of another change needs.
#[derive(Clone)]
pub(crate) struct Judged {
    pub(crate) report: ReleaseReport,
    /// Sums of both versions over all requests, including those that the design leaves out. If the change includes the
    /// unexplained CPU time of processes, so do they.
    all: Plain,
    /// Seconds between the first and the last row of `all` in which an agent ran.
    whole_seconds: f64,
}

impl Judged {
    /// Converts a change of the total to CPUs.
    pub(crate) fn saving(&self, total: &ReleaseChange) -> Reading<ReleaseSaving> {
        saving(total, &self.all, self.whole_seconds)
    }
}

/// Compares two versions as [`judge`] does, with intervals at the error rate `alpha`.
pub(crate) fn judge_at(question: &ReleaseQuestion, rows: &ReleaseRows, alpha: f64) -> Result<Judged, JudgeError> {
    let lines = window::lines(question, rows)?;
    let (mut all, whole_seconds) = (Plain::of(&lines), observed(rows, &lines));
    let apart = || JudgeError::AssignedApart { old: question.old.clone(), new: question.new.clone() };
    let Chosen { design, lines, left_out, hosts_left_out } = design::choose(lines).ok_or_else(apart)?;
    let processes = ProcessCpu::new(question, rows, &lines);
    let mut answer = match design {
        ReleaseDesign::RandomPerRequest => random::answer(&lines),
        ReleaseDesign::Switchback => switchback::answer(question, rows, &lines, &processes),
        ReleaseDesign::Canary => canary::answer(&lines, &processes),
        ReleaseDesign::OneAfterTheOther => after::answer(question, rows, &lines, &processes),
    };
    let from_outside = lines.iter().any(|line| line.row.process == 0);
    if from_outside {
        // Every request has the mean cost, and its route stands for all routes.
        answer.usual = Err(Absent::because(facts::OUTSIDE_MEAN));
        answer.routes.clear();
    }
    let seconds = observed(rows, &lines);
    let is_refused = !answer.refused.is_empty();
    let plain = Plain::of(&lines);
    let mut warnings = answer.warnings.clone();
    warnings.extend(hosts::differ(&answer.hosts, &answer.total));
    if processes.counts() {
        all = processes.with_unexplained(all);
    }
    if answer.counts_processes {
        warnings.extend(processes.counted());
    } else if processes.counts() {
        warnings.extend(processes.unexplained_warning(&answer.total, alpha));
        answer.total = answer.total.map(|effect| processes.widened(effect, &plain));
    }
    warnings.extend(facts::warnings(question, rows, &lines, left_out, design.is_randomised()));
    let (hosts_of_one, requests) = hosts_left_out;
    warnings.extend((hosts_of_one > 0).then_some(ReleaseWarning::HostsOfOneVersion { hosts: hosts_of_one, requests }));
    warnings.extend(unequal_routes(&answer, &lines, rows));
    let sides = facts::sides(question, &lines, facts::first_requests(question, rows));
    if design == ReleaseDesign::OneAfterTheOther && answer.refused.is_empty() {
        let seconds = sides.each_ref().map(|side| side.seconds);
        warnings
            .extend((seconds[0].min(seconds[1]) < ENOUGH_SECONDS).then_some(ReleaseWarning::ShortVersions { seconds }));
    }
    if let Some(why) = left_out_of_total(&warnings, question.resolution) {
        answer.total = answer.total.and(Err(why));
    }
    let criteria = Criteria {
        alpha,
        resolution: question.resolution,
        minutes: seconds / 60.0,
        is_refused,
        narrows_with_traffic: narrows_with_traffic(design, &warnings),
    };
    let mut total = change(&answer.total, &plain, &criteria);
    without_load(&mut total, &warnings);
    let mut hosts = hosts::release_hosts(&answer.hosts, rows, &criteria);
    for host in &mut hosts {
        without_load(&mut host.change, &warnings);
        without_contradiction(&mut host.change, &warnings);
    }
    let usual = estimate(&answer.usual, alpha);
    without_contradiction(&mut total, &warnings);
    let open = total.verdict == Verdict::Undecided;
    let mut routes = if question.by_route { routes(&answer, &lines, question, rows, &criteria) } else { Vec::new() };
    routes.iter_mut().for_each(|route| without_contradiction(&mut route.change, &warnings));
    let step = course::step(&lines);
    let effect = answer.total.as_ref().map_or(0.0, Effect::estimate);
    let loads = course::loads_within(&lines, step, effect, &answer.groups);
    let settle = answer.settle.filter(|_| open).ok_or_else(|| total.no_advice());
    let report = ReleaseReport {
        question: question.clone(),
        design,
        rests_on: answer.rests_on,
        has_classes: lines.iter().any(|line| line.row.class != 0),
        from_outside,
        sides,
        traffic_seconds: Ok(seconds),
        tails: match differing(&total, &usual) {
            Some(changes) => tails::tails(&lines, rows, design, alpha, &changes, &answer.groups),
            None => Vec::new(),
        },
        usual,
        routes,
        hosts,
        wall: wall::wall(question, rows, &lines, design, alpha, &answer.groups),
        saving: saving(&total, &all, whole_seconds),
        unexplained: processes.unexplained().clone(),
        course: course::course(&lines, rows, step, &loads),
        looks: Vec::new(),
        total,
        refused: answer.refused,
        settle,
        warnings,
    };
    Ok(Judged { report, all, whole_seconds })
}

/// Fewest seconds that each version should serve if one runs after the other. With less than 104 s of OLD, one of 24
/// restarts of the same code was reported as a change.
const ENOUGH_SECONDS: u64 = 150;

/// Returns a warning if the counts of some routes contradict the coin.
fn unequal_routes(answer: &Answer, lines: &[Line], rows: &ReleaseRows) -> Option<ReleaseWarning> {
    let (unequal, cpu_ratio) = answer.groups.unequal_routes(lines);
    let name = |route: &u32| rows.routes.get(*route as usize).cloned().unwrap_or_else(|| format!("(route {route})"));
    let named: Vec<String> = unequal.iter().take(UNEQUAL_NAMED).map(name).collect();
    (!unequal.is_empty()).then_some(ReleaseWarning::UnequalRoutes { routes: unequal.len(), named, cpu_ratio })
}

/// Returns why there is no total: requests that only one version served may change it by more than the resolution.
fn left_out_of_total(warnings: &[ReleaseWarning], resolution: f64) -> Option<Absent> {
    warnings.iter().find_map(|warning| match warning {
        ReleaseWarning::RoutesOfOneVersion { cpu_ratio, .. } if *cpu_ratio > resolution => {
            Some(Absent::because("routes or classes that only one version served have too much of the CPU time"))
        }
        _ => None,
    })
}

/// Returns the changes of the total and of the usual request if their intervals are disjoint. Then some requests
/// changed differently from most.
fn differing(total: &ReleaseChange, usual: &ChangeEstimate) -> Option<tails::Changes> {
    let (of_total, of_usual) = (total.interval().ok()?, usual.interval().ok()?);
    let apart = of_total.low > of_usual.high || of_total.high < of_usual.low;
    let changes = tails::Changes { total: *total.change.as_ref().ok()?, usual: *usual.change.as_ref().ok()? };
    apart.then_some(changes)
}

/// Removes the load shift if the change compares the CPU time of processes. The unadjusted means are those of
/// requests, so the difference is not load alone.
pub(crate) fn without_load(change: &mut ReleaseChange, warnings: &[ReleaseWarning]) {
    let counted = |warning: &ReleaseWarning| matches!(warning, ReleaseWarning::ProcessCpuCounted { .. });
    if change.load_shift.is_ok() && warnings.iter().any(counted) {
        let why = "the change compares the CPU time of processes, but raw compares requests alone";
        change.load_shift = Err(Absent::because(why));
    }
}

/// Returns the seconds between the start of the first row and the end of the last, without late rows.
///
/// A service without requests may send its last lines only when it ends. An agent stores them with the time of their
/// requests, but a metrics store counts them when they arrive. So rows of a metrics store after a gap are late if they
/// have few requests.
pub(crate) fn span(lines: &[Line]) -> f64 {
    /// Largest share of the requests that late rows have together.
    const MOST_LATE: f64 = 0.05;
    let mut rows: Vec<&Line> = lines.iter().collect();
    rows.sort_by_key(|line| line.row.second);
    let first = rows.first().map_or(0, |line| line.row.second);
    let all: f64 = lines.iter().map(Line::requests).sum();
    // A gap counts only if the requests before it are at least this many.
    let least = match lines.iter().all(|line| line.row.process == ALL_PROCESSES) {
        true => (1.0 - MOST_LATE) * all,
        false => all,
    };
    let (mut end, mut requests) = (first, 0.0);
    for line in rows {
        if requests >= least && line.row.second >= end + LEAST_GAP {
            break;
        }
        end = end.max(line.end());
        requests += line.requests();
    }
    end.saturating_sub(first) as f64
}

/// Returns the seconds of [`span`] in which an agent ran. CPU time that no agent counted is not zero use.
fn observed(rows: &ReleaseRows, lines: &[Line]) -> f64 {
    let span = span(lines);
    let first = lines.iter().map(|line| line.row.second).min().unwrap_or(0);
    span - facts::unobserved(rows, first, first + span as u64, window::longest(lines)) as f64
}

/// Returns whether more of the same traffic narrows the interval. It does not if the width comes from the model of the
/// load, differences between hosts or between processes, rulers that disagree or unexplained CPU time.
pub(crate) fn narrows_with_traffic(design: ReleaseDesign, warnings: &[ReleaseWarning]) -> bool {
    let limits = |warning: &ReleaseWarning| {
        matches!(
            warning,
            ReleaseWarning::HostsDiffer { .. }
                | ReleaseWarning::RulersDisagree(_)
                | ReleaseWarning::UnexplainedCpu { .. }
        )
    };
    !matches!(design, ReleaseDesign::OneAfterTheOther | ReleaseDesign::Canary) && !warnings.iter().any(limits)
}

/// Replaces a verdict that the agent's rulers contradict by `undecided`.
pub(crate) fn without_contradiction(change: &mut ReleaseChange, warnings: &[ReleaseWarning]) {
    if contradicted(warnings, change.verdict) {
        change.verdict = Verdict::Undecided;
        change.within_resolution = false;
        change.settle_seconds = Err(ReleaseChange::not_settled(Verdict::Undecided, false));
    }
}

/// Returns whether the agent's rulers contradict the verdict: they show the opposite direction, or a change where the
/// verdict is `same`.
fn contradicted(warnings: &[ReleaseWarning], verdict: Verdict) -> bool {
    warnings.iter().any(|warning| match (warning, verdict) {
        (ReleaseWarning::RulersDisagree(_), Verdict::Same) => true,
        (ReleaseWarning::RulersDisagree(alarm), Verdict::Faster) => alarm.by_agent_rulers >= 0.0,
        (ReleaseWarning::RulersDisagree(alarm), Verdict::Slower) => alarm.by_agent_rulers <= 0.0,
        _ => false,
    })
}

/// Returns whether the condition of `--fail-if` holds. It is open if the comparison is refused, or if by the agent's
/// rulers the answer would be another one.
pub(crate) fn gate(report: &ReleaseReport, fail_if: FailIf) -> GateState {
    let by = |verdict, interval: &Reading<Interval>| fail_if.evaluate(Metric::Cpu, verdict, interval);
    let state = by(report.total.verdict, &report.total.interval());
    let agrees = |warning: &ReleaseWarning| match warning {
        ReleaseWarning::RulersDisagree(alarm) => {
            let change = alarm.by_agent_rulers;
            by(fail_if.verdict, &Ok(Interval { low: change, high: change })) == state
        }
        _ => true,
    };
    if report.refused.is_empty() && report.warnings.iter().all(agrees) { state } else { GateState::Open }
}

/// Returns the routes, those with the most CPU time first. Their intervals hold for all of them together (Bonferroni).
fn routes(
    answer: &Answer,
    lines: &[Line],
    question: &ReleaseQuestion,
    rows: &ReleaseRows,
    criteria: &Criteria,
) -> Vec<ReleaseRoute> {
    let known = answer.routes.iter().filter(|route| route.effect.is_ok()).count();
    let level = Criteria { alpha: criteria.alpha / known.max(1) as f64, ..*criteria };
    let medians = wall::medians(question, rows, lines);
    let plain = Plain::of(lines);
    let all = plain.cpu[0] + plain.cpu[1];
    let mut routes: Vec<ReleaseRoute> =
        answer.routes.iter().map(|route| release_route(route, all, rows, &level, &medians)).collect();
    routes.sort_by(|one, other| other.cpu_ratio.total_cmp(&one.cpu_ratio).then_with(|| one.route.cmp(&other.route)));
    routes
}

fn release_route(
    route: &RouteAnswer,
    all: f64,
    rows: &ReleaseRows,
    level: &Criteria,
    medians: &BTreeMap<u32, [Nanos; 2]>,
) -> ReleaseRoute {
    let name = rows.routes.get(route.route as usize);
    let wall_median = |side: usize| {
        let both = medians.get(&route.route).ok_or_else(|| Absent::because(NO_MEDIAN))?;
        Ok(both[side])
    };
    ReleaseRoute {
        route: name.cloned().unwrap_or_else(|| format!("(route {})", route.route)),
        cpu_ratio: (route.plain.cpu[0] + route.plain.cpu[1]) / all,
        change: change(&route.effect, &route.plain, level),
        usual: estimate(&route.usual, level.alpha),
        old_wall_median: wall_median(0),
        new_wall_median: wall_median(1),
    }
}

/// Converts a change to CPUs: the use if OLD served all requests, minus the use if NEW did.
///
/// Only the sum of both versions and the shares of the work that they served are fixed. How the sum divides into the use
/// of OLD and of NEW follows from the change, because unexplained CPU time may belong to either.
fn saving(total: &ReleaseChange, all: &Plain, seconds: f64) -> Reading<ReleaseSaving> {
    let (change, interval) = (total.change.clone()?, total.interval()?);
    let [old, new] = all.cpu.map(|cpu| cpu / 1e9 / seconds);
    let on_old = old + new / (1.0 + change);
    let [share_old, share_new] = [old / on_old, new / (1.0 + change) / on_old];
    let saved = |change: f64| -change * (old + new) / (share_old + share_new * (1.0 + change));
    let interval = Interval { low: saved(interval.high), high: saved(interval.low) };
    Ok(ReleaseSaving { cpus_used: old + new, cpus_saved: saved(change), interval })
}

#[cfg(test)]
mod tests {
    use steady_model::{Assignment, ReleaseRow, RequestSums};

    use super::*;

    #[test]
    fn late_rows_of_a_metrics_store_do_not_extend_the_time() {
        let row = |second, process, requests| ReleaseRow {
            second,
            host: 0,
            process,
            version: 0,
            route: 0,
            class: 0,
            assignment: Assignment::Random,
            span_seconds: 5,
            slot_seconds: 0,
            second_of_pair: false,
            sums: RequestSums { requests, ..RequestSums::default() },
        };
        let seconds = |process, late: &[(u64, u64)]| {
            let served = (0..26).map(|block| (1_000 + 5 * block, 50));
            let rows = served.chain(late.iter().copied());
            span(&rows.map(|(at, requests)| Line { side: 0, row: row(at, process, requests) }).collect::<Vec<_>>())
        };
        assert_eq!([seconds(ALL_PROCESSES, &[]), seconds(ALL_PROCESSES, &[(1_195, 20)])], [130.0; 2]);
        assert_eq!(seconds(ALL_PROCESSES, &[(1_195, 20), (1_215, 40)]), 130.0, "processes end at different times");
        assert_eq!(seconds(ALL_PROCESSES, &[(1_195, 200)]), 200.0, "too many requests to be late");
        assert_eq!(seconds(ALL_PROCESSES, &[(1_135, 20)]), 140.0, "the pause is too short");
        assert_eq!(seconds(7, &[(1_195, 20)]), 200.0, "an agent stores the time of requests");
        assert_eq!(span(&[]), 0.0);
    }
}
