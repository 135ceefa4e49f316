//! Descriptions of both versions, and warnings about the data that do not depend on the design.

use std::collections::HashSet;

use crate::record::{ReleaseQuestion, ReleaseSide, ReleaseWarning};
use steady_model::{ALL_PROCESSES, Absent, ReleaseRows};

use super::effect::{Plain, nanos};
use super::window::{Line, Sides};

/// Shortest time without rows that is a gap, in seconds. Less is usual for a service with few requests.
pub(crate) const LEAST_GAP: u64 = 10;

/// Describes OLD and NEW. `first_requests` has the number of requests of each that were among the first of their
/// process.
pub(crate) fn sides(question: &ReleaseQuestion, lines: &[Line], first_requests: [u64; 2]) -> [ReleaseSide; 2] {
    let plain = Plain::of(lines);
    [&question.old, &question.new].map(|name| {
        let side = usize::from(name == &question.new);
        let own = || lines.iter().filter(move |line| line.side == side);
        let count = |of: fn(&Line) -> (u32, u64)| {
            // Consecutive lines mostly have the same key. Skipping repeats avoids most look-ups.
            let mut last = None;
            let fresh = own().map(of).filter(|key| last.replace(*key) != Some(*key));
            fresh.collect::<HashSet<_>>().len()
        };
        let requests = plain.requests[side];
        let mean = |sum: f64| match requests {
            0 => Err(Absent::because("it served no requests")),
            _ => Ok(nanos(sum / requests as f64)),
        };
        let wall: f64 = own().map(|line| line.row.sums.wall).sum();
        let outside = own().any(|line| line.row.process == 0);
        ReleaseSide {
            version: name.clone(),
            requests,
            failed: own().map(|line| line.row.sums.failed).sum(),
            first_requests: first_requests[side],
            processes: match own().any(|line| [0, ALL_PROCESSES].contains(&line.row.process)) {
                true => Err(Absent::because("rows are sums over all processes of a host")),
                false => Ok(count(|line| (line.row.host, line.row.process))),
            },
            hosts: count(|line| (line.row.host, 0)),
            seconds: seconds(own()),
            cpu_mean: mean(plain.cpu[side]),
            wall_mean: match (outside, wall) {
                (true, _) => Err(Absent::because(OUTSIDE)),
                // Each request has at least 1 ns.
                (false, wall) if requests > 0 && wall <= 0.0 => {
                    Err(Absent::because("the fleet's store does not have it"))
                }
                (false, wall) => mean(wall),
            },
        }
    })
}

/// Returns the number of seconds that the lines cover. Seconds of several lines count once.
fn seconds<'a>(lines: impl Iterator<Item = &'a Line>) -> u64 {
    let mut last = None;
    let mut spans: Vec<(u64, u64)> =
        lines.map(|line| (line.row.second, line.end())).filter(|span| last.replace(*span) != Some(*span)).collect();
    spans.sort_unstable();
    let (mut covered, mut until) = (0, 0);
    for (from, to) in spans {
        covered += to.saturating_sub(from.max(until));
        until = until.max(to);
    }
    covered
}

/// Reason why requests that the service's own counter counted have no wall time.
pub(crate) const OUTSIDE: &str = "a counter of the service counted the requests, which does not measure wall time";

/// Reason why such requests have no usual request.
pub(crate) const OUTSIDE_MEAN: &str = "a counter of the service counted the requests, so only their mean cost is known";

/// Counts the requests of each version that are left out because they were among the first of their process.
pub(crate) fn first_requests(question: &ReleaseQuestion, rows: &ReleaseRows) -> [u64; 2] {
    let sides = Sides::new(question, rows);
    let mut first_requests = [0; 2];
    for row in rows.requests.iter().filter(|row| (question.from..question.to).contains(&row.second)) {
        if let Some(side) = sides.of(row.version) {
            first_requests[side] += row.sums.first_requests;
        }
    }
    first_requests
}

/// Returns the warnings that do not depend on the estimate.
pub(crate) fn warnings(
    question: &ReleaseQuestion,
    rows: &ReleaseRows,
    lines: &[Line],
    left_out: u64,
    is_randomised: bool,
) -> Vec<ReleaseWarning> {
    let mut warnings = Vec::new();
    warnings.extend(unequal_failures(lines));
    if !is_randomised {
        warnings.extend(routes_of_one_version(lines));
    }
    if rows.lost > 0 || rows.folded > 0 {
        warnings.push(ReleaseWarning::Lost { lost: rows.lost, folded: rows.folded });
    }
    if left_out > 0 {
        warnings.push(ReleaseWarning::OtherAssignments { requests: left_out });
    }
    warnings.extend(gaps(question, rows));
    warnings
}

/// Returns a warning if the shares of failed requests differ.
fn unequal_failures(lines: &[Line]) -> Option<ReleaseWarning> {
    /// More than the 2 standard deviations of a usual test of two shares, because failures come in bursts.
    const DEVIATIONS: f64 = 4.0;
    let mut sums = [(0.0, 0.0); 2];
    for line in lines {
        sums[line.side].0 += line.row.sums.failed as f64;
        sums[line.side].1 += line.requests();
    }
    let [(old, all_old), (new, all_new)] = sums;
    let shares = [old / all_old, new / all_new];
    let share = (old + new) / (all_old + all_new);
    let error = (share * (1.0 - share) * (1.0 / all_old + 1.0 / all_new)).sqrt();
    ((shares[1] - shares[0]).abs() > DEVIATIONS * error).then_some(ReleaseWarning::UnequalFailures { shares })
}

/// Returns a warning about routes and classes that only one version served. Without a coin, they cannot be compared.
fn routes_of_one_version(lines: &[Line]) -> Option<ReleaseWarning> {
    /// A route and class counts as served by one version if the other has at most this share of its expected requests.
    const STRAY: f64 = 0.02;
    /// If fewer requests of a version are expected, it may have none by chance.
    const RARE: f64 = 5.0;
    /// Rare routes and classes are ignored if each version has more than this share of its expected requests on all of
    /// them together.
    const RARE_STRAY: f64 = 0.5;
    let whole = Plain::of(lines);
    let expected = |plain: &Plain| {
        let all = (plain.requests[0] + plain.requests[1]) as f64;
        [0, 1].map(|side| all * whole.requests[side] as f64 / (whole.requests[0] + whole.requests[1]) as f64)
    };
    let below = |plain: &Plain, stray: f64| {
        let expected = expected(plain);
        [0, 1].into_iter().any(|side| plain.requests[side] as f64 <= stray * expected[side])
    };
    let is_rare = |plain: &Plain| expected(plain).into_iter().any(|requests| requests < RARE);
    let mut rare = Plain::default();
    for plain in lines.chunk_by(|one, other| one.stratum() == other.stratum()).map(Plain::of).filter(is_rare) {
        rare.requests = [0, 1].map(|side| rare.requests[side] + plain.requests[side]);
    }
    let by_chance = !is_rare(&rare) && !below(&rare, RARE_STRAY);
    let is_of_one = |plain: &Plain| below(plain, STRAY) && !(by_chance && is_rare(plain));
    let (mut routes, mut cpu, mut all) = (0, 0.0, 0.0);
    // Lines are sorted by route first, so each chunk is a whole route.
    for of_route in lines.chunk_by(|one, other| one.row.route == other.row.route) {
        let strata = of_route.chunk_by(|one, other| one.stratum() == other.stratum()).map(Plain::of);
        let (of_one, others): (Vec<Plain>, Vec<Plain>) = strata.partition(is_of_one);
        let sum = |plains: &[Plain]| plains.iter().map(|plain| plain.cpu[0] + plain.cpu[1]).sum::<f64>();
        all += sum(&of_one) + sum(&others);
        if !of_one.is_empty() {
            routes += 1;
            cpu += sum(&of_one);
        }
    }
    (routes > 0 && all > 0.0).then_some(ReleaseWarning::RoutesOfOneVersion { routes, cpu_ratio: cpu / all })
}

/// Returns a warning about long runs of seconds without any row. The time before the first row does not count, because
/// the agent or the service may not have been started.
fn gaps(question: &ReleaseQuestion, rows: &ReleaseRows) -> Option<ReleaseWarning> {
    let spans = spans_of_requests(rows);
    let first = spans.iter().map(|span| span.0).min().unwrap_or(0);
    let empty = uncovered(spans, first.max(question.from), question.to);
    (empty > 0).then_some(ReleaseWarning::Gaps { seconds: empty })
}

/// Returns the seconds between `from` and `to` in which no agent can have counted requests: gaps without a row of
/// requests and without the load of a host, which an agent stores while it runs. `length` is that of the longest row. If
/// no row has the load (`--no-rulers`), nothing is known of gaps.
pub(crate) fn unobserved(rows: &ReleaseRows, from: u64, to: u64, length: u64) -> u64 {
    if rows.seconds.is_empty() {
        return 0;
    }
    let mut spans = spans_of_requests(rows);
    spans.extend(rows.seconds.iter().map(|row| (row.second, row.second + length)));
    uncovered(spans, from, to)
}

/// Returns the beginning and end (excluded) of the rows of requests, without most repeats.
fn spans_of_requests(rows: &ReleaseRows) -> Vec<(u64, u64)> {
    let mut last = None;
    let spans = rows.requests.iter().map(|row| (row.second, row.second + u64::from(row.span_seconds).max(1)));
    spans.filter(|span| last.replace(*span) != Some(*span)).collect()
}

/// Returns the length of all gaps between `from` and `to` that the spans leave.
fn uncovered(mut spans: Vec<(u64, u64)>, from: u64, to: u64) -> u64 {
    spans.sort_unstable();
    let (mut until, mut empty) = (from, 0);
    for (begin, end) in spans.into_iter().chain([(to, to)]) {
        let gap = begin.min(to).saturating_sub(until);
        empty += if gap >= LEAST_GAP { gap } else { 0 };
        until = until.max(end);
    }
    empty
}
