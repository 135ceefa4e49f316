//! What is said of the two sides, and of the window, before anything is compared.

use std::collections::{BTreeSet, HashSet};

use steady_model::{ALL_PROCESSES, Absent, ReleaseQuestion, ReleaseRows, ReleaseSide, ReleaseWarning};

use crate::effect::{Plain, nanos};
use crate::window::{Line, Sides};

/// Seconds that are taken together when gaps are looked for: rows may be kept so.
const STRETCH: u64 = 10;

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
) -> Vec<ReleaseWarning> {
    let mut warnings = Vec::new();
    warnings.extend(unequal_failures(lines));
    warnings.extend(routes_of_one_version(lines));
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

fn routes_of_one_version(lines: &[Line]) -> Option<ReleaseWarning> {
    let (mut routes, mut cpu, mut all) = (0, 0.0, 0.0);
    // In order of routes, which come first in a line's key.
    for of_route in lines.chunk_by(|one, other| one.row.route == other.row.route) {
        let plain = Plain::of(of_route);
        let own = plain.cpu[0] + plain.cpu[1];
        all += own;
        if plain.requests.contains(&0) {
            routes += 1;
            cpu += own;
        }
    }
    (routes > 0 && all > 0.0).then_some(ReleaseWarning::RoutesOfOneVersion { routes, cpu_ratio: cpu / all })
}

/// Seconds without any row, in stretches that are empty as a whole. Those before the first row do not count: the agent or the
/// service had not been started.
fn gaps(question: &ReleaseQuestion, rows: &ReleaseRows) -> Option<ReleaseWarning> {
    let mut filled: BTreeSet<u64> = BTreeSet::new();
    let mut last = None;
    for row in &rows.requests {
        if last.replace((row.second, row.span_seconds)) == Some((row.second, row.span_seconds)) {
            continue;
        }
        let length = u64::from(row.span_seconds).max(1);
        (row.second / STRETCH..=(row.second + length - 1) / STRETCH).for_each(|at| {
            filled.insert(at);
        });
    }
    let first = filled.first().copied().unwrap_or(u64::MAX);
    let (from, to) = (question.from.div_ceil(STRETCH).max(first), question.to / STRETCH);
    let empty = to.saturating_sub(from) - filled.range(from..to.max(from)).count() as u64;
    (empty > 0).then_some(ReleaseWarning::Gaps { seconds: empty * STRETCH })
}
