//! Comparisons as reports and as records of the history.

use serde_json::Value;
use steady_feature::{LogKind, Record, RecordKind, Report};
use steady_model::{Ending, Facts, Joined, Outcome, RunKind};
use steady_process::log;
use steady_render::document::Document;
use steady_render::json::ReadError;

use crate::judge::{judge, status, untested};
use crate::ratchet::accepts;

/// The exit status if a candidate is not accepted.
const NOT_ACCEPTED: u8 = 1;

/// The kind of a comparison in the history.
pub(crate) const KIND: RunKind = RunKind::new("compare");

/// The description of a comparison's record.
pub(crate) const COMPARISONS: RecordKind = RecordKind {
    kind: KIND,
    read: |text| Ok(Box::new(Compared::read(text)?)),
    log: Some(LogKind { read: logged, is_line: log::is_line }),
    join: None,
};

/// The complete pairs of a comparison that was killed, with their verdicts. `None` if there is no pair of successful
/// runs.
fn logged(text: &str) -> Option<Box<dyn Record>> {
    let record = log::read(text)?;
    let is_accepted = |outcome| matches!(outcome, Outcome::Exited(status) if record.plan.failures.accepts(status));
    let is_whole = record.blocks.iter().any(|block| block.runs.iter().all(|run| is_accepted(run.outcome)));
    is_whole.then(|| Box::new(Compared(judge(record))) as Box<dyn Record>)
}

/// A comparison with its verdicts.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared(pub steady_model::Report);

/// Joined comparisons. They have no runs and no samples of their own, so their CSV has the verdicts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinedReport<'a>(pub(crate) &'a Joined);

impl Compared {
    /// Reads a comparison from JSON with its samples, and computes its verdicts again.
    ///
    /// # Errors
    /// The text is not such an export. The error says what is wrong, and where.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        Ok(Compared(judge(crate::json::read_record(text)?)))
    }
}

impl Report for Compared {
    fn document(&self) -> Document {
        crate::document::document(&self.0)
    }

    fn csv(&self) -> String {
        crate::csv::csv(&self.0)
    }

    fn json(&self, samples: bool) -> String {
        crate::json::json_text(&self.0, samples)
    }
}

impl Record for Compared {
    fn facts(&self) -> Facts {
        let record = &self.0.record;
        Facts {
            seed: Ok(record.plan.seed),
            commands: record.plan.commands.iter().map(|command| command.name.clone()).collect(),
            pairs: Ok(pairs(record)),
            complete: record.ending != Ending::Interrupted,
            primary: Ok(record.primary),
            ..Facts::new(KIND, record.started, &record.host, &record.revision, crate::document::summary(&self.0))
        }
    }

    fn sentences(&self) -> Vec<String> {
        let sentences = crate::document::headline(&self.0);
        sentences.into_iter().map(|spans| spans.into_iter().map(|span| span.1).collect()).collect()
    }

    fn verdicts(&self) -> Option<Value> {
        Some(crate::json::verdicts_json(&self.0))
    }

    fn status(&self) -> u8 {
        match status(&self.0.record.plan, &self.0.judgements, untested(&self.0.record).is_none()) {
            0 if accepts(&self.0) == Some(false) => NOT_ACCEPTED,
            status => status,
        }
    }
}

impl Report for JoinedReport<'_> {
    fn document(&self) -> Document {
        crate::document::joined_document(self.0)
    }

    fn csv(&self) -> String {
        crate::csv::joined_csv(self.0)
    }

    fn json(&self, _samples: bool) -> String {
        crate::json::joined_json_text(self.0)
    }
}

/// The most pairs that a command has with the first one; the runs of a single command.
fn pairs(record: &steady_model::Record) -> usize {
    let of = |command: usize| record.blocks.iter().filter(|block| block.run_of(command).is_some()).count();
    (1..record.plan.commands.len()).map(of).max().unwrap_or(record.blocks.len())
}
