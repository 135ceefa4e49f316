//! CPU time of whole processes compared with the CPU time of their requests.
//!
//! A thread pool, a garbage collector or a background task uses CPU time that no request measures. If there is much of
//! it, the CPU time of requests alone does not show the cost of a version.

use std::collections::{BTreeMap, HashSet};

use crate::record::{ReleaseQuestion, ReleaseWarning, UnexplainedCpu};
use steady_model::{Absent, ProcessRow, Reading, ReleaseRows};

use super::effect::{Effect, Plain, estimate};
use super::window::{Line, Sides};

/// Largest unexplained share of the CPU time of processes that is ignored.
const IGNORED: f64 = 0.1;
/// Smallest share of the requests' CPU time that must belong to processes that report their own CPU time.
const LEAST_COVERED: f64 = 0.5;

/// CPU time of processes and of their requests, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Used {
    process: f64,
    requests: f64,
}

impl Used {
    pub(crate) fn add(&mut self, other: Used) {
        self.process += other.process;
        self.requests += other.requests;
    }

    /// Returns the CPU time of the processes divided by that of their requests, or `None` if it is below 1.
    pub(crate) fn factor(&self) -> Option<f64> {
        (self.requests > 0.0 && self.process >= self.requests).then(|| self.process / self.requests)
    }

    fn unexplained(&self) -> f64 {
        (1.0 - self.requests / self.process).max(0.0)
    }
}

/// Rows about the processes that served the compared requests.
pub(crate) struct ProcessCpu<'a> {
    rows: Vec<(&'a ProcessRow, Option<usize>)>,
    unexplained: Reading<UnexplainedCpu>,
}

impl<'a> ProcessCpu<'a> {
    pub(crate) fn new(question: &ReleaseQuestion, rows: &'a ReleaseRows, lines: &[Line]) -> ProcessCpu<'a> {
        let served: HashSet<(u32, u64)> = lines.iter().map(|line| (line.row.host, line.row.process)).collect();
        let sides = Sides::new(question, rows);
        let mut own: Vec<(&ProcessRow, Option<usize>)> = rows
            .processes
            .iter()
            .filter(|row| (question.from..question.to).contains(&row.second))
            .filter(|row| served.contains(&(row.host, row.process)))
            .map(|row| (row, row.version.and_then(|version| sides.of(version))))
            .collect();
        own.sort_by_key(|(row, side)| (row.host, row.process, row.second, *side, row.cpu.to_bits()));
        let unexplained = unexplained(&own, lines);
        ProcessCpu { rows: own, unexplained }
    }

    /// Returns the share of the CPU time that requests do not explain.
    pub(crate) fn unexplained(&self) -> &Reading<UnexplainedCpu> {
        &self.unexplained
    }

    /// Returns whether requests leave so much CPU time unexplained that the estimate must include it.
    pub(crate) fn counts(&self) -> bool {
        self.unexplained.as_ref().is_ok_and(|unexplained| unexplained.ratio > IGNORED)
    }

    /// Sums the rows by `key`, which gets a row and the side of its version.
    pub(crate) fn by<K: Ord>(&self, key: impl Fn(&ProcessRow, Option<usize>) -> Option<K>) -> BTreeMap<K, Used> {
        let mut sums: BTreeMap<K, Used> = BTreeMap::new();
        for (row, side) in &self.rows {
            if let Some(key) = key(row, *side) {
                sums.entry(key).or_default().add(used(row));
            }
        }
        sums
    }

    /// Returns the warning that the change compares the CPU time of processes.
    pub(crate) fn counted(&self) -> Option<ReleaseWarning> {
        Some(ReleaseWarning::ProcessCpuCounted { ratio: self.unexplained.as_ref().ok()?.ratio })
    }

    /// Returns the warning that the interval is widened. `effect` is the effect on the CPU time of requests.
    pub(crate) fn unexplained_warning(&self, effect: &Reading<Effect>, alpha: f64) -> Option<ReleaseWarning> {
        let ratio = self.unexplained.as_ref().ok()?.ratio;
        let interval = estimate(effect, alpha).interval().ok()?;
        Some(ReleaseWarning::UnexplainedCpu { ratio, interval })
    }

    /// Adds the unexplained CPU time to the sums of requests: that of each version, or of both in proportion if
    /// versions share processes.
    pub(crate) fn with_unexplained(&self, requests: Plain) -> Plain {
        let Ok(unexplained) = &self.unexplained else { return requests };
        let ratios = unexplained.sides().unwrap_or([unexplained.ratio; 2]);
        let [old, new] = requests.cpu;
        Plain { cpu: [old / (1.0 - ratios[0]), new / (1.0 - ratios[1])], ..requests }
    }

    /// Widens the interval of the effect to include both extremes: all unexplained CPU time belongs to OLD, or all to
    /// NEW.
    pub(crate) fn widened(&self, effect: Effect, plain: &Plain) -> Effect {
        let ratio = self.unexplained.as_ref().map_or(0.0, |unexplained| unexplained.ratio);
        let [old, new] = plain.cpu;
        let beyond = |own: f64| (ratio / (1.0 - ratio) * (old + new) / own).ln_1p();
        Effect::Unexplained(Box::new(effect), [beyond(old), beyond(new)])
    }
}

fn used(row: &ProcessRow) -> Used {
    Used { process: row.cpu, requests: row.requests_cpu }
}

fn unexplained(rows: &[(&ProcessRow, Option<usize>)], lines: &[Line]) -> Reading<UnexplainedCpu> {
    let (mut all, mut sides) = (Used::default(), [Used::default(); 2]);
    for (row, side) in rows {
        all.add(used(row));
        if let Some(side) = side {
            sides[*side].add(used(row));
        }
    }
    let of_requests: f64 = Plain::of(lines).cpu.iter().sum();
    if all.requests < LEAST_COVERED * of_requests || all.process <= 0.0 {
        return Err(Absent::because("the service did not report the CPU time of its processes"));
    }
    let both = sides.iter().all(|side| side.requests > 0.0) && sides[0].process + sides[1].process >= 0.5 * all.process;
    Ok(UnexplainedCpu::new(all.unexplained(), both.then(|| sides.map(|side| side.unexplained()))))
}
