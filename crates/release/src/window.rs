//! The rows of the two versions, in one order.

use steady_model::{ReleaseQuestion, ReleaseRow, ReleaseRows};

use crate::JudgeError;

/// A row of one of the two versions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// 0: OLD, 1: NEW.
    pub(crate) side: usize,
    /// The row.
    pub(crate) row: &'a ReleaseRow,
}

impl Line<'_> {
    /// By what rows are ordered; the sums only make it one order where a row was told in several parts.
    fn key(&self) -> (u32, u32, u64, u64, usize, u64, u64) {
        let ReleaseRow { route, host, second, process, sums, .. } = *self.row;
        (route, host, second, process, self.side, sums.log.to_bits(), sums.cpu.to_bits())
    }

    /// Requests that count.
    pub(crate) fn requests(&self) -> f64 {
        self.row.sums.requests as f64
    }

    /// The sum of logarithms of CPU time; of requests that were counted from outside, that of their mean.
    pub(crate) fn log(&self) -> f64 {
        if self.row.process == 0 {
            self.requests() * (self.row.sums.cpu / self.requests()).ln()
        } else {
            self.row.sums.log
        }
    }
}

/// The sides of the question among the versions' numbers: which are OLD, which NEW.
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

/// The lines of both versions within the window that have requests that count, in one order whatever the order of the rows.
pub(crate) fn lines<'a>(question: &ReleaseQuestion, rows: &'a ReleaseRows) -> Result<Vec<Line<'a>>, JudgeError> {
    if question.old == question.new {
        return Err(JudgeError::SameVersion(question.old.clone()));
    }
    let sides = Sides::new(question, rows);
    let within = |row: &&ReleaseRow| (question.from..question.to).contains(&row.second);
    let mut lines: Vec<Line> = rows
        .requests
        .iter()
        .filter(within)
        .filter_map(|row| sides.of(row.version).map(|side| Line { side, row }))
        .collect();
    for (side, version) in [&question.old, &question.new].into_iter().enumerate() {
        check(side, version, &lines, question, rows)?;
    }
    lines.retain(|line| line.row.sums.requests > 0 && (line.row.process != 0 || line.row.sums.cpu > 0.0));
    lines.sort_by_cached_key(Line::key);
    Ok(lines)
}

/// Whether there is anything of a version.
fn check(
    side: usize,
    version: &str,
    lines: &[Line],
    question: &ReleaseQuestion,
    rows: &ReleaseRows,
) -> Result<(), JudgeError> {
    let of_side = || lines.iter().filter(|line| line.side == side);
    let (requests, warming) = of_side()
        .fold((0, 0), |(requests, warming), line| (requests + line.row.sums.requests, warming + line.row.sums.warming));
    match (requests, warming) {
        (0, 0) => Err(missing(version, question, rows)),
        (0, warming) => Err(JudgeError::OnlyWarming { version: version.into(), warming }),
        _ => Ok(()),
    }
}

fn missing(version: &str, question: &ReleaseQuestion, rows: &ReleaseRows) -> JudgeError {
    let mut there: Vec<String> = rows
        .requests
        .iter()
        .filter(|row| (question.from..question.to).contains(&row.second))
        .filter(|row| row.sums.requests + row.sums.warming > 0)
        .filter_map(|row| rows.versions.get(row.version as usize).cloned())
        .collect();
    there.sort_unstable();
    there.dedup();
    if there.is_empty() {
        return JudgeError::NothingInWindow { service: question.service.clone() };
    }
    JudgeError::NoSuchVersion { version: version.into(), there }
}
