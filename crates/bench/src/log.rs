//! The log of a suite that is measured: one line of JSON for each event. If the run is killed, the history reads it.

use serde::{Deserialize, Serialize};

use crate::adapter::Amount;
use crate::judge::judged;
use crate::record::{BenchLook, Benchmark, Samples, SuiteRecord};

/// A line of the log.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Line {
    /// The record before the first pair, with the benchmarks that are measured, by their index in the suite.
    Suite(Box<SuiteRecord>, Vec<(usize, Benchmark)>),
    /// Benchmarks that are measured, too, by their index in the suite.
    Added(Vec<(usize, Benchmark)>),
    /// A pair of a benchmark.
    Pair(usize, Samples),
    /// An evaluation of a benchmark's pairs so far.
    Look(usize, BenchLook),
}

impl Line {
    /// The line as JSON.
    pub(crate) fn json(&self) -> String {
        // Cannot fail: there are no maps, and no errors of own serializers.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Returns the benchmarks with these names that have an amount of work, by their index in the suite.
pub(crate) fn measured(names: &[String], amounts: &[Option<Amount>], counts: bool) -> Vec<(usize, Benchmark)> {
    let all = names.iter().zip(amounts).enumerate();
    let before = |name: &str, amount: Amount| Benchmark::before(name, amount, counts, Samples::default());
    all.filter_map(|(at, (name, amount))| Some((at, before(name, (*amount)?)))).collect()
}

/// Whether a line belongs to such a log.
pub(crate) fn is_line(line: &str) -> bool {
    serde_json::from_str::<Line>(line).is_ok()
}

/// The record of the complete pairs in a log; `None` if there are none, or if it is another kind of log. No input makes it
/// panic.
pub fn logged(text: &str) -> Option<SuiteRecord> {
    let mut lines = text.lines().map_while(|line| serde_json::from_str::<Line>(line).ok());
    let Line::Suite(mut record, mut measured) = lines.next()? else { return None };
    for line in lines {
        match line {
            Line::Suite(..) => return None,
            Line::Added(others) => measured.extend(others),
            Line::Pair(index, pair) if pair.is_valid() => {
                found(&mut measured, index)?.samples.get_or_insert_default().extend(&pair);
            }
            Line::Pair(..) => return None,
            Line::Look(index, look) => found(&mut measured, index)?.looks.push(look),
        }
    }
    record.benchmarks = measured.into_iter().map(|(_, benchmark)| benchmark).collect();
    record.benchmarks.retain(|one| one.samples.as_ref().is_some_and(|samples| samples.len() > 0));
    (!record.benchmarks.is_empty()).then(|| judged(*record))
}

fn found(measured: &mut [(usize, Benchmark)], index: usize) -> Option<&mut Benchmark> {
    measured.iter_mut().find(|(at, _)| *at == index).map(|(_, benchmark)| benchmark)
}
