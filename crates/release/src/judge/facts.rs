//! What is said of the two sides, and of the window, before anything is compared.

use std::collections::HashSet;

use crate::record::{ReleaseQuestion, ReleaseSide, ReleaseWarning};
use steady_model::{ALL_PROCESSES, Absent, ReleaseRows};

use super::effect::{Plain, nanos};
use super::window::{Line, Sides};

/// OLD and NEW. `warming` is how many requests of each were among the first of their process.
pub(crate) fn sides(question: &ReleaseQuestion, lines: &[Line], warming: [u64; 2]) -> [ReleaseSide; 2] {
    let plain = Plain::of(lines);
    [&question.old, &question.new].map(|name| {
        let side = usize::from(name == &question.new);
        let own = || lines.iter().filter(move |line| line.side == side);
        let count = |of: fn(&Line) -> (u32, u64)| {
            // Neighbours in a line's order are mostly alike: what was just seen is not looked up again.
            let mut last = None;
            let fresh = own().map(of).filter(|key| last.replace(*key) != Some(*key));
            fresh.collect::<HashSet<_>>().len()
        };
        let requests = plain.requests[side];
        let mean = |sum: f64| match requests {
            0 => Err(Absent::because("it served nothing")),
            _ => Ok(nanos(sum / requests as f64)),
        };
        let wall: f64 = own().map(|line| line.row.sums.wall).sum();
        let outside = own().any(|line| line.row.process == 0);
        ReleaseSide {
            version: name.clone(),
            requests,
            failed: own().map(|line| line.row.sums.failed).sum(),
            warming: warming[side],
            processes: match own().any(|line| line.row.process == ALL_PROCESSES) {
                true => Err(Absent::because("processes of a host are not told apart")),
                false => Ok(count(|line| (line.row.host, line.row.process))),
            },
            hosts: count(|line| (line.row.host, 0)),
            seconds: seconds(own()),
            cpu_mean: mean(plain.cpu[side]),
            wall_mean: if outside { Err(Absent::because(OUTSIDE)) } else { mean(wall) },
        }
    })
}

/// How many seconds lines stand for, those of several lines once.
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

pub(crate) const OUTSIDE: &str = "requests were counted from outside, where their time on the wall is not known";

/// Requests of each side that do not count, for their process was warming up.
pub(crate) fn warming(question: &ReleaseQuestion, rows: &ReleaseRows) -> [u64; 2] {
    let sides = Sides::new(question, rows);
    let mut warming = [0; 2];
    for row in rows.requests.iter().filter(|row| (question.from..question.to).contains(&row.second)) {
        if let Some(side) = sides.of(row.version) {
            warming[side] += row.sums.warming;
        }
    }
    warming
}

/// What the reader should know of the data, whatever the design.
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

/// Failures come in bursts, so it takes more than a test of two shares would.
fn unequal_failures(lines: &[Line]) -> Option<ReleaseWarning> {
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

/// Where no coin chose, what one version alone served is compared with nothing.
fn routes_of_one_version(lines: &[Line]) -> Option<ReleaseWarning> {
    /// One version has at least this share of the requests that the other leads to expect, or they are as good as of one version.
    const STRAY: f64 = 0.02;
    /// Where fewer are expected of a version, there may be none by chance. All such together are not as unequal as this.
    const RARE: f64 = 5.0;
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
    // In order of routes, which come first in a line's key.
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

/// Seconds without any row, where there are many of them in a row. Those before the first row do not count: the agent or the
/// service had not been started.
fn gaps(question: &ReleaseQuestion, rows: &ReleaseRows) -> Option<ReleaseWarning> {
    /// Shorter ones are no news: little may be asked of a service.
    const LEAST: u64 = 10;
    let mut last = None;
    let mut spans: Vec<(u64, u64)> = rows
        .requests
        .iter()
        .map(|row| (row.second, row.second + u64::from(row.span_seconds).max(1)))
        .filter(|span| last.replace(*span) != Some(*span))
        .collect();
    spans.sort_unstable();
    spans.push((question.to, question.to));
    let mut until = spans[0].0.max(question.from);
    let mut empty = 0;
    for (from, to) in spans {
        let gap = from.min(question.to).saturating_sub(until);
        empty += if gap >= LEAST { gap } else { 0 };
        until = until.max(to);
    }
    (empty > 0).then_some(ReleaseWarning::Gaps { seconds: empty })
}
