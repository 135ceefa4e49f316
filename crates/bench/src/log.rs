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
    /// A pair of a benchmark.
    Pair(usize, Samples),
    /// An evaluation of a benchmark's pairs so far.
    Look(usize, BenchLook),
}

impl Line {
    /// The line of a suite whose benchmarks have these names, of which those with an amount of work are measured.
    pub(crate) fn suite(record: &SuiteRecord, names: &[String], amounts: &[Option<Amount>], counts: bool) -> Self {
        let measured = names.iter().zip(amounts).enumerate();
        let measured = measured.filter_map(|(at, (name, amount))| {
            Some((at, Benchmark::before(name, (*amount)?, counts, Samples::default())))
        });
        Line::Suite(Box::new(record.clone()), measured.collect())
    }

    /// The line as JSON.
    pub(crate) fn json(&self) -> String {
        // Cannot fail: there are no maps, and no errors of own serializers.
        serde_json::to_string(self).unwrap_or_default()
    }
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
        let index = match &line {
            Line::Suite(..) => return None,
            Line::Pair(index, _) | Line::Look(index, _) => *index,
        };
        let (_, benchmark) = measured.iter_mut().find(|(at, _)| *at == index)?;
        match line {
            Line::Suite(..) => return None,
            Line::Pair(_, pair) if pair.is_valid() => benchmark.samples.get_or_insert_default().extend(&pair),
            Line::Pair(..) => return None,
            Line::Look(_, look) => benchmark.looks.push(look),
        }
    }
    record.benchmarks = measured.into_iter().map(|(_, benchmark)| benchmark).collect();
    record.benchmarks.retain(|one| one.samples.as_ref().is_some_and(|samples| samples.len() > 0));
    (!record.benchmarks.is_empty()).then(|| judged(*record))
}
