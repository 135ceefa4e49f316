//! The log of a suite that is measured: one line of JSON for each event. The history reads it if the run is killed, or
//! if the record cannot be stored.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::adapter::Amount;
use crate::judge::judged;
use crate::record::{BenchLook, Benchmark, Samples, SuiteRecord, Unmeasured};
use crate::run::Event;

/// A line of the log.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    /// The record before the first pair, with the benchmarks that are measured, by their index in the suite.
    Suite(Box<SuiteRecord>, Vec<(usize, Benchmark)>),
    /// Benchmarks that are measured, too, by their index in the suite.
    Added(Vec<(usize, Benchmark)>),
    /// A pair of a benchmark.
    Pair(usize, Samples),
    /// An evaluation of a benchmark's pairs so far.
    Look(usize, BenchLook),
    /// A benchmark failed, with its index in the suite. The last such line about it counts.
    Failed(usize, Unmeasured),
    /// The measuring has ended: the record without the samples, which other lines have.
    Ended(Box<SuiteRecord>),
}

impl Line {
    /// The line as JSON.
    fn json(&self) -> String {
        // Cannot fail: there are no maps, and no errors of own serializers.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Makes the lines of the log of a suite.
pub struct LogWriter<'a> {
    /// The record before the first pair.
    record: &'a SuiteRecord,
    names: &'a [String],
    /// Whether a run is given a number of iterations.
    counts_iterations: bool,
    /// Failures during the first calibration, whose lines follow the first one. `None` after that.
    early: Option<Vec<String>>,
}

impl<'a> LogWriter<'a> {
    /// Makes the lines of a suite's log, from the record before the first pair and the names of all benchmarks.
    pub fn new(record: &'a SuiteRecord, names: &'a [String], counts_iterations: bool) -> Self {
        LogWriter { record, names, counts_iterations, early: Some(vec![]) }
    }

    /// Returns the lines to write at an event.
    pub fn lines(&mut self, event: Event) -> Vec<String> {
        match event {
            Event::Begun(amounts) => {
                let first = Line::Suite(Box::new(self.record.clone()), self.measured(&amounts)).json();
                std::iter::once(first).chain(self.early.take().unwrap_or_default()).collect()
            }
            Event::Added(amounts) => vec![Line::Added(self.measured(&amounts)).json()],
            Event::Paired(at, pair) => vec![Line::Pair(at, pair).json()],
            Event::Looked(at, look) => vec![Line::Look(at, look).json()],
            Event::Failed(at, why, only_in) => {
                let failed = Unmeasured::because(self.names[at].clone(), why);
                let line = Line::Failed(at, Unmeasured { failed_only_in: only_in, ..failed }).json();
                match &mut self.early {
                    Some(early) => {
                        early.push(line);
                        vec![]
                    }
                    None => vec![line],
                }
            }
            Event::Calibrating(_) | Event::Drawing | Event::Lost(_) | Event::Measuring(..) => vec![],
        }
    }

    /// Returns the last line, from the record after the last pair.
    pub fn last(record: &SuiteRecord) -> String {
        let without = |one: &Benchmark| Benchmark { samples: None, ..one.clone() };
        let benchmarks = record.benchmarks.iter().map(without).collect();
        Line::Ended(Box::new(SuiteRecord { benchmarks, ..record.clone() })).json()
    }

    /// The benchmarks that have an amount of work, by their index in the suite.
    fn measured(&self, amounts: &[Option<Amount>]) -> Vec<(usize, Benchmark)> {
        let all = self.names.iter().zip(amounts).enumerate();
        let before = |name: &str, amount| Benchmark::before(name, amount, self.counts_iterations, Samples::default());
        all.filter_map(|(at, (name, amount))| Some((at, before(name, (*amount)?)))).collect()
    }
}

/// Whether a line belongs to such a log.
pub(crate) fn is_line(line: &str) -> bool {
    serde_json::from_str::<Line>(line).is_ok()
}

/// The record in the log of a run that has ended, or the record of the complete pairs in a log; `None` if there are none,
/// or if it is another kind of log. No input makes it panic.
pub fn logged(text: &str) -> Option<SuiteRecord> {
    let mut lines = text.lines().map_while(|line| serde_json::from_str::<Line>(line).ok());
    let Line::Suite(mut record, mut measured) = lines.next()? else { return None };
    let mut failures = BTreeMap::new();
    for line in lines {
        match line {
            Line::Suite(..) => return None,
            Line::Added(others) => measured.extend(others),
            Line::Pair(index, pair) if pair.is_valid() => {
                found(&mut measured, index)?.samples.get_or_insert_default().extend(&pair);
            }
            Line::Pair(..) => return None,
            Line::Look(index, look) => found(&mut measured, index)?.looks.push(look),
            Line::Failed(index, failed) => {
                failures.insert(index, failed);
            }
            Line::Ended(ended) => {
                if let Some(record) = with_samples(*ended, &measured) {
                    return Some(judged(record));
                }
            }
        }
    }
    measured.retain(|(_, one)| one.samples.as_ref().is_some_and(|samples| samples.len() > 0));
    for (index, failed) in failures {
        match found(&mut measured, index) {
            Some(one) => (one.failed, one.failed_only_in) = (Some(failed.reason), failed.failed_only_in),
            None => record.unmeasured.push(failed),
        }
    }
    record.benchmarks = measured.into_iter().map(|(_, benchmark)| benchmark).collect();
    (!record.benchmarks.is_empty()).then(|| judged(*record))
}

/// Adds the samples of a log to the record of its last line. `None` if the log does not have all of them, for instance
/// because the disk was full.
fn with_samples(mut record: SuiteRecord, measured: &[(usize, Benchmark)]) -> Option<SuiteRecord> {
    for benchmark in &mut record.benchmarks {
        let (_, logged) = measured.iter().find(|(_, one)| one.name == benchmark.name)?;
        benchmark.samples.clone_from(&logged.samples);
        benchmark.samples.as_ref().filter(|samples| samples.len() == benchmark.pairs)?;
    }
    Some(record)
}

fn found(measured: &mut [(usize, Benchmark)], index: usize) -> Option<&mut Benchmark> {
    measured.iter_mut().find(|(at, _)| *at == index).map(|(_, benchmark)| benchmark)
}
