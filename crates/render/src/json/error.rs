//! Errors of reading an export.

use thiserror::Error;

/// Why a JSON export cannot be read back.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// The text is JSON with another schema than the expected one.
    #[error("not an export of {what}: its schema is {found}, not \"{known}\"")]
    OtherSchema {
        /// The expected kind of record: `a comparison`.
        what: &'static str,
        /// The schema of that kind.
        known: &'static str,
        /// The schema in the text.
        found: String,
    },
    /// A newer version of steady wrote the export.
    #[error(
        "written by a newer version: its schema is \"{found}\", and \"{known}\" is the newest known here; upgrade steady"
    )]
    NewerVersion {
        /// The newest schema of that name that this version knows.
        known: &'static str,
        /// The schema in the text.
        found: String,
    },
    /// The export has results but no samples.
    #[error(
        "the export has no samples, which judge needs: export the run again with `steady history report RUN --samples --export-json FILE`, or measure with --samples"
    )]
    WithoutSamples,
    /// A field is missing or of the wrong type.
    #[error("{path}: {problem}")]
    Field {
        /// The field's path, such as `samples.blocks[3].runs[0].wall_seconds`.
        path: String,
        /// What is wrong with the field.
        problem: String,
    },
    /// Every field is readable, but the fields contradict each other.
    #[error("inconsistent: {path}: {problem}")]
    Inconsistent {
        /// The path of a contradicting field.
        path: String,
        /// What the contradiction is.
        problem: String,
    },
}

impl ReadError {
    /// Returns an error for a field that cannot be read.
    pub fn field(path: &str, problem: impl Into<String>) -> Self {
        ReadError::Field { path: path.to_owned(), problem: problem.into() }
    }

    /// Returns an error for fields that contradict each other.
    pub fn inconsistent(path: impl Into<String>, problem: impl Into<String>) -> Self {
        ReadError::Inconsistent { path: path.into(), problem: problem.into() }
    }

    /// Adds the path of the enclosing object in front of the error's path.
    pub fn within(self, parent: &str) -> Self {
        match self {
            ReadError::Field { path, problem } => {
                let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
                ReadError::Field { path: format!("{parent}{dot}{path}"), problem }
            }
            other => other,
        }
    }
}
