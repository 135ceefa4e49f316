//! Failures of a feature, each with its exit status.

use std::fmt;

use steady_process::runner::RunError;

/// Why a feature failed. Each variant has its exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Wrong usage or input: exit status 2.
    Usage(String),
    /// A measured command failed: exit status 3.
    Measured(String),
    /// `steady` itself failed: exit status 125.
    Own(String),
    /// The user's command cannot be executed: exit status 126, as in shells and env(1).
    NotExecutable(String),
    /// The user's command does not exist: exit status 127, as in shells and env(1).
    NotFound(String),
    /// A signal with this number came before there was anything to report: exit status 128 plus the number.
    Interrupted(i32),
}

impl From<RunError> for Failure {
    /// An interruption has no signal here, which the caller knows: the number is 0.
    fn from(error: RunError) -> Self {
        match error {
            RunError::Interrupted => Failure::Interrupted(0),
            other => Failure::Own(other.to_string()),
        }
    }
}

impl Failure {
    /// The exit status of this failure.
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
            Failure::Interrupted(_) => formatter.write_str("interrupted before there was anything to report"),
        }
    }
}
