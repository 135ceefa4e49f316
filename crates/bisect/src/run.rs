//! The search: one comparison after the other, each chosen from the results of the earlier ones.

use steady_feature::Failure;
use steady_model::{Nanos, Report, Warning};

use crate::judge::{Step, judged, next};
use crate::record::{BisectRecord, Comparison, Purpose};

/// The result of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The comparison of the older commit, its first command, with the newer one.
    pub report: Report,
    /// The time that it took, with the warm-up.
    pub took: Nanos,
}

/// Why a step has no result.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// This commit cannot be measured: its position, and the failure if it is one of the ends.
    Skip(usize, Failure),
    /// Nothing can be measured.
    Failed(Failure),
}

/// What the search needs: it builds commits and compares them.
pub trait Commits {
    /// Builds a commit, if it is not built yet.
    ///
    /// # Errors
    /// See [`Stop`].
    fn build(&mut self, commit: usize) -> Result<(), Stop>;

    /// Compares two commits that are built, after `earlier` comparisons.
    ///
    /// # Errors
    /// See [`Stop`].
    fn compare(&mut self, step: &Step, earlier: &[Comparison]) -> Result<Measured, Stop>;

    /// Stores the state of the search, so that it can be continued. The search goes on if it cannot be stored.
    fn save(&mut self, record: &BisectRecord);
}

/// Compares commits until one is confirmed, both ends are the same, or the budget is spent. A search that was
/// interrupted continues with the comparisons in `record`.
///
/// # Errors
/// One of the ends cannot be measured, or nothing can. The comparisons so far are in `record`.
pub fn bisect(record: &mut BisectRecord, commits: &mut dyn Commits) -> Result<(), Failure> {
    while let Some(step) = next(record) {
        match done(&step, record, commits) {
            Ok(comparison) => record.comparisons.push(comparison),
            Err(Stop::Skip(commit, failure)) if commit > 0 && commit < record.commits.len() - 1 => {
                record.commits[commit].skipped = Some(failure.to_string());
            }
            Err(Stop::Skip(_, failure) | Stop::Failed(failure)) => return Err(failure),
        }
        *record = judged(record.clone());
        commits.save(record);
    }
    Ok(())
}

fn done(step: &Step, record: &mut BisectRecord, commits: &mut dyn Commits) -> Result<Comparison, Stop> {
    commits.build(step.from)?;
    commits.build(step.to)?;
    if step.purpose == Purpose::Confirmation {
        // If it is interrupted and repeated, its error counts twice.
        record.confirmations += 1;
        commits.save(record);
    }
    let Measured { report, took } = commits.compare(step, &record.comparisons)?;
    record.metric = Ok(report.record.primary);
    let primary = report.primary().next();
    let no_verdict = || Stop::Failed(Failure::Own("a comparison has no verdict".to_owned()));
    let judgement = primary.ok_or_else(no_verdict)?;
    Ok(Comparison {
        purpose: step.purpose,
        from: step.from,
        to: step.to,
        verdict: judgement.verdict,
        change: judgement.change.clone(),
        low: judgement.interval.as_ref().map(|interval| interval.low).map_err(Clone::clone),
        high: judgement.interval.as_ref().map(|interval| interval.high).map_err(Clone::clone),
        confidence: step.confidence,
        pairs: judgement.pairs,
        measured_seconds: took,
        waiting_ratio: report.warnings.iter().find_map(|warning| match warning {
            Warning::Waiting { ratio, .. } => Some(*ratio),
            _ => None,
        }),
    })
}
