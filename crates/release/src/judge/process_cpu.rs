//! CPU time of whole processes compared with the CPU time of their requests.
//!
//! A thread pool, a garbage collector or a background task uses CPU time that no request measures. If there is much of
//! it, the CPU time of requests alone does not show the cost of a version.

use std::collections::{BTreeMap, HashSet};

use crate::record::{ReleaseQuestion, ReleaseWarning, UnexplainedCpu};
use steady_model::{ALL_PROCESSES, Absent, ProcessRow, Reading, ReleaseRows};

use super::effect::{Effect, Plain, estimate};
use super::window::{Line, Sides};

/// Largest unexplained share of the CPU time of processes that is ignored.
const IGNORED: f64 = 0.1;
/// Smallest share of the requests' CPU time that must belong to processes that report their own CPU time.
const LEAST_COVERED: f64 = 0.5;

/// Largest ratio of the requests per process and second of one version to those of the other, if processes of different
/// versions are compared. The CPU time of a background task is divided by that of requests, so with unequal traffic it
/// would look like a change.
const MOST_UNEQUAL: f64 = 1.2;
/// Length of the stretches of time whose spread is the error of the CPU time of processes, in seconds.
const STRETCH: u64 = 10;

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
    /// Whether the processes of both versions served about equally many requests.
    is_evenly_loaded: bool,
}

/// Differences from the mean over time, by place, stretch of time and side.
type OverTime = BTreeMap<(u32, u64, usize), f64>;

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
        ProcessCpu { rows: own, unexplained, is_evenly_loaded: is_evenly_loaded(lines) }
    }

    /// Returns the share of the CPU time that requests do not explain.
    pub(crate) fn unexplained(&self) -> &Reading<UnexplainedCpu> {
        &self.unexplained
    }

    /// Returns whether requests leave so much CPU time unexplained that the estimate must include it.
    pub(crate) fn counts(&self) -> bool {
        self.unexplained.as_ref().is_ok_and(|unexplained| unexplained.ratio > IGNORED)
    }

    /// Like [`ProcessCpu::counts`], if the versions have different processes: only if these served about equally many
    /// requests.
    pub(crate) fn counts_by_process(&self) -> bool {
        self.counts() && self.is_evenly_loaded
    }

    /// Returns how much the logarithm of the factor differs from its mean over time, by stretch of [`STRETCH`] seconds. A
    /// task that runs rarely is in few of them.
    pub(crate) fn over_time(&self, place: impl Fn(u32) -> u32) -> OverTime {
        let sums = self.by(|row, side| Some((place(row.host), row.second / STRETCH, side?)));
        let known = sums.into_iter().filter(|(_, used)| used.requests > 0.0 && used.process > 0.0);
        let logs: BTreeMap<(u32, u64, usize), (f64, f64)> =
            known.map(|(key, used)| (key, ((used.process / used.requests).ln(), used.requests))).collect();
        let mut means: BTreeMap<(u32, usize), (f64, f64)> = BTreeMap::new();
        for ((place, _, side), (log, weight)) in &logs {
            let mean = means.entry((*place, *side)).or_default();
            mean.0 += log * weight;
            mean.1 += weight;
        }
        let beyond = |((place, stretch, side), (log, _)): ((u32, u64, usize), (f64, f64))| {
            let (sum, weight) = means[&(place, side)];
            ((place, stretch, side), log - sum / weight)
        };
        logs.into_iter().map(beyond).collect()
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

/// Returns the stretch of a second, as in [`ProcessCpu::over_time`].
pub(crate) fn stretch(second: u64) -> u64 {
    second / STRETCH
}

/// Returns whether the processes of both versions served about equally many requests per second. Rows that do not
/// distinguish processes do not show it; then they count as evenly loaded.
fn is_evenly_loaded(lines: &[Line]) -> bool {
    if lines.iter().any(|line| [0, ALL_PROCESSES].contains(&line.row.process)) {
        return true;
    }
    let mut times: [BTreeMap<(u32, u64), (u64, u64)>; 2] = Default::default();
    for line in lines {
        let own = times[line.side].entry((line.row.host, line.row.process)).or_insert((u64::MAX, 0));
        *own = (own.0.min(line.row.second), own.1.max(line.end()));
    }
    let plain = Plain::of(lines);
    let rate = |side: usize| {
        plain.requests[side] as f64 / times[side].values().map(|(from, to)| (to - from) as f64).sum::<f64>()
    };
    let ratio = rate(1) / rate(0);
    ratio.max(1.0 / ratio) <= MOST_UNEQUAL
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
