//! What the history lists about a run without evaluating it again.

use std::borrow::Cow;

use serde::Serialize;

use crate::{Absent, Host, Metric, Reading, Seed, Timestamp};

/// The kind of a run in the history, which is the name of its record. Each feature has constants for its own kinds.
/// Databases of later versions may have other kinds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct RunKind(Cow<'static, str>);

impl RunKind {
    /// The maximum length of a name that is read, in bytes.
    const LONGEST: usize = 32;

    /// Creates the kind of a feature's records.
    pub const fn new(name: &'static str) -> Self {
        RunKind(Cow::Borrowed(name))
    }

    /// Reads a stored name. `None` if it is not a name: not up to 32 lowercase ASCII letters, digits and hyphens.
    pub fn parse(name: &str) -> Option<Self> {
        let is_allowed = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-';
        let is_name = (1..=Self::LONGEST).contains(&name.len()) && name.bytes().all(is_allowed);
        is_name.then(|| RunKind(Cow::Owned(name.to_owned())))
    }

    /// Returns the name in tables and in JSON.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// The facts of a run that lists show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The kind of the run.
    pub kind: RunKind,
    /// The time of the start.
    pub started: Timestamp,
    /// The host that it ran on.
    pub hostname: Reading<String>,
    /// The name and release of the host's kernel.
    pub kernel: Reading<String>,
    /// The git revision of the working directory.
    pub revision: Reading<String>,
    /// The seed of its random draws; not available if there were none.
    pub seed: Reading<Seed>,
    /// The names of its commands. If `steady` ran work of its own, the name of that work.
    pub commands: Vec<String>,
    /// The number of pairs; not available if the kind of run has no pairs.
    pub pairs: Reading<usize>,
    /// Whether it ended normally, and was not interrupted, killed or stopped by a failure.
    pub complete: bool,
    /// The metric of its verdict; not available if the kind of run has no such choice.
    pub primary: Reading<Metric>,
    /// The verdict in a few words, on one line.
    pub verdict: String,
}

impl Facts {
    /// Returns the facts of a kind of run that has no pairs, seed, commands or primary metric.
    pub fn new(kind: RunKind, started: Timestamp, host: &Host, revision: &Reading<String>, verdict: String) -> Self {
        let none = |what: &str| Absent::because(format!("{} runs have no {what}", kind.name()));
        Facts {
            started,
            hostname: host.hostname.clone(),
            kernel: host.kernel.clone(),
            revision: revision.clone(),
            seed: Err(none("random draws")),
            commands: vec![],
            pairs: Err(none("pairs")),
            complete: true,
            primary: Err(none("primary metric")),
            verdict,
            kind,
        }
    }
}

/// A run in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The run's number, which is never reused.
    pub id: i64,
    /// The facts that lists show.
    pub facts: Facts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_short_lowercase_names() {
        assert_eq!(RunKind::parse("load-table2").as_ref().map(RunKind::name), Some("load-table2"));
        for wrong in ["", "Novelty", "a b", "a\nb", "é", &"x".repeat(33)] {
            assert_eq!(RunKind::parse(wrong), None, "{wrong:?}");
        }
    }
}
