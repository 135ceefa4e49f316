//! Selects the rows of both versions within the window, and sorts them.

use crate::record::ReleaseQuestion;
use steady_model::{ReleaseRow, ReleaseRows};

use crate::JudgeError;

/// A row of one of the two versions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// 0 for OLD, 1 for NEW.
    pub(crate) side: usize,
    /// Copy of the row. Up to a million rows are read many times in sorted order, which is faster without an
    /// indirection.
    pub(crate) row: ReleaseRow,
}

/// Sort key: route, class, host, second, process and side. The bits of two sums follow, so that the order does not
/// depend on the input if a row came in several parts.
type Key = (u32, u32, u32, u64, u64, usize, u64, u64);

impl Line {
    /// Returns the end (excluded) of the time that the row covers, in seconds since 1970.
    pub(crate) fn end(&self) -> u64 {
        self.row.second + u64::from(self.row.span_seconds.max(1))
    }

    /// Returns the route and class. Before they run, requests of one stratum are expected to cost alike.
    pub(crate) fn stratum(&self) -> (u32, u32) {
        (self.row.route, self.row.class)
    }

    /// Returns whether the sums in levels include all requests of the row.
    pub(crate) fn has_levels(&self) -> bool {
        self.row.sums.levels.requests >= self.row.sums.requests
    }

    /// Returns the number of requests, without those of processes that were warming up.
    pub(crate) fn requests(&self) -> f64 {
        self.row.sums.requests as f64
    }

    /// Returns the sum of the logarithms of CPU time. Requests that the service's own counter counted have only a mean,
    /// so the logarithm of the mean is used for each of them.
    pub(crate) fn log(&self) -> f64 {
        if self.row.process == 0 {
            self.requests() * (self.row.sums.cpu / self.requests()).ln()
        } else {
            self.row.sums.log
        }
    }
}

/// Returns the length of the longest row, in seconds.
pub(crate) fn longest(lines: &[Line]) -> u64 {
    lines.iter().map(|line| u64::from(line.row.span_seconds)).max().unwrap_or(0).max(1)
}

/// Maps the index of a version in the rows to its side: 0 for OLD, 1 for NEW.
pub(crate) struct Sides(Vec<Option<usize>>);

impl Sides {
    pub(crate) fn new(question: &ReleaseQuestion, rows: &ReleaseRows) -> Sides {
        let side = |name: &String| match name {
            _ if *name == question.old => Some(0),
            _ if *name == question.new => Some(1),
            _ => None,
        };
        Sides(rows.versions.iter().map(side).collect())
    }

    pub(crate) fn of(&self, version: u32) -> Option<usize> {
        self.0.get(version as usize).copied().flatten()
    }
}

/// Returns the sorted lines of both versions within the window. Their order does not depend on the order of the rows.
pub(crate) fn lines(question: &ReleaseQuestion, rows: &ReleaseRows) -> Result<Vec<Line>, JudgeError> {
    if question.old == question.new {
        return Err(JudgeError::SameVersion(question.old.clone()));
    }
    let sides = Sides::new(question, rows);
    let mut counts = [(0, 0); 2];
    let mut keys: Vec<(Key, usize)> = Vec::new();
    for (at, row) in rows.requests.iter().enumerate() {
        let Some(side) = sides.of(row.version).filter(|_| (question.from..question.to).contains(&row.second)) else {
            continue;
        };
        let ReleaseRow { route, class, host, second, process, sums, .. } = row;
        counts[side].0 += sums.requests;
        counts[side].1 += sums.first_requests;
        if sums.requests > 0 && (*process != 0 || sums.cpu > 0.0) {
            keys.push(((*route, *class, *host, *second, *process, side, sums.log.to_bits(), sums.cpu.to_bits()), at));
        }
    }
    for (version, (requests, first_requests)) in [&question.old, &question.new].into_iter().zip(counts) {
        check(version, requests, first_requests, question, rows)?;
    }
    keys.sort_unstable();
    Ok(keys.into_iter().map(|((_, _, _, _, _, side, ..), at)| Line { side, row: rows.requests[at] }).collect())
}

/// Returns an error if a version has no requests, or only requests of processes that were warming up.
fn check(
    version: &str,
    requests: u64,
    first_requests: u64,
    question: &ReleaseQuestion,
    rows: &ReleaseRows,
) -> Result<(), JudgeError> {
    match (requests, first_requests) {
        (0, 0) => Err(missing(version, question, rows)),
        (0, first_requests) => Err(JudgeError::OnlyFirstRequests { version: version.into(), first_requests }),
        _ => Ok(()),
    }
}

fn missing(version: &str, question: &ReleaseQuestion, rows: &ReleaseRows) -> JudgeError {
    let mut there: Vec<String> = rows
        .requests
        .iter()
        .filter(|row| (question.from..question.to).contains(&row.second))
        .filter(|row| row.sums.requests + row.sums.first_requests > 0)
        .filter_map(|row| rows.versions.get(row.version as usize).cloned())
        .collect();
    there.sort_unstable();
    there.dedup();
    if there.is_empty() {
        return JudgeError::NothingInWindow { service: question.service.clone() };
    }
    JudgeError::NoSuchVersion { version: version.into(), there }
}
