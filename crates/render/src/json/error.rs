//! Why an export cannot be read.

use thiserror::Error;

/// Why a JSON export cannot be read back.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// It is JSON, but something else than what was looked for.
    #[error("not an export of {what}: its schema is {found}, not \"{known}\"")]
    OtherSchema {
        /// What was looked for: `a comparison`.
        what: &'static str,
        /// Its schema.
        known: &'static str,
        /// The schema that was found.
        found: String,
    },
    /// Written by a version that this one does not know.
    #[error(
        "written by a newer version: its schema is \"{found}\", and \"{known}\" is the newest known here; upgrade steady"
    )]
    NewerVersion {
        /// The newest schema of that name that is known here.
        known: &'static str,
        /// The schema that was found.
        found: String,
    },
    /// The results without what they rest on.
    #[error("it holds no samples to judge again: measure with --samples")]
    WithoutSamples,
    /// A field is missing or of the wrong type.
    #[error("{path}: {problem}")]
    Field {
        /// Where, such as `samples.blocks[3].runs[0].wall_seconds`.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Every field can be read, but they cannot be true together.
    #[error("inconsistent: {path}: {problem}")]
    Inconsistent {
        /// Where.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl ReadError {
    /// A field that cannot be read.
    pub fn field(path: &str, problem: impl Into<String>) -> Self {
        ReadError::Field { path: path.to_owned(), problem: problem.into() }
    }

    /// Fields that cannot be true together.
    pub fn inconsistent(path: impl Into<String>, problem: impl Into<String>) -> Self {
        ReadError::Inconsistent { path: path.into(), problem: problem.into() }
    }

    /// The same error, its path completed with where its object stands.
    pub fn within(self, parent: &str) -> Self {
        match self {
            ReadError::Field { path, problem } => {
                let dot = if path.starts_with('[') { "" } else { "." };
                ReadError::Field { path: format!("{parent}{dot}{path}"), problem }
            }
            other => other,
        }
    }
}
