//! Why a feature cannot go on, and the exit status that goes with it.

use std::fmt;

/// A failure, by its exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Wrong usage or input: 2.
    Usage(String),
    /// A measured command failed: 3.
    Measured(String),
    /// `steady` could not do its own part: 125.
    Own(String),
    /// The command that was to be run cannot be executed: 126, as shells and env(1) have it.
    NotExecutable(String),
    /// There is no such command: 127, likewise.
    NotFound(String),
    /// A signal ended it before there was anything to report: 128 and its number.
    Interrupted(i32),
}

impl Failure {
    /// The exit status.
    pub fn status(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::Measured(_) => 3,
            Failure::Own(_) => 125,
            Failure::NotExecutable(_) => 126,
            Failure::NotFound(_) => 127,
            Failure::Interrupted(signal) => 128u8.saturating_add(u8::try_from(*signal).unwrap_or(u8::MAX)),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(text)
            | Failure::Measured(text)
            | Failure::Own(text)
            | Failure::NotExecutable(text)
            | Failure::NotFound(text) => formatter.write_str(text),
            Failure::Interrupted(_) => formatter.write_str("interrupted before anything was measured"),
        }
    }
}
