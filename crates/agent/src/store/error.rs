//! Why the store cannot give or take something.

use steady_linux::directory::DirectoryError;
use thiserror::Error;

/// What the store has to say when it cannot do what it was asked for.
#[derive(Debug, Error)]
pub enum StoreError {
    /// There is none.
    #[error("there is no store; steady agent makes one")]
    Missing,
    /// Another agent writes to it: the process, as far as known.
    #[error("another agent ({0}) keeps rows in it; --store takes another file")]
    Taken(String),
    /// It was written by a version that this one does not know.
    #[error(
        "it was written by a newer version: its schema is {found}, and {known} is the newest known here; upgrade steady"
    )]
    TooNew {
        /// The schema's version in the file.
        found: i64,
        /// The newest that this version knows.
        known: i64,
    },
    /// It is a database of another program.
    #[error("it is a database, but no store of steady's agent")]
    Foreign,
    /// What is kept of some second makes no sense.
    #[error("what it holds of second {second} is damaged: {why}")]
    Damaged {
        /// The second, since 1970.
        second: u64,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Its directory cannot be used.
    #[error("{0}; --store takes another file")]
    Directory(DirectoryError),
    /// What the database says: full, no database, ...
    #[error("{0}")]
    Database(#[from] rusqlite::Error),
}

impl From<DirectoryError> for StoreError {
    fn from(error: DirectoryError) -> Self {
        match error {
            DirectoryError::Locked { holder, .. } => StoreError::Taken(holder),
            other => StoreError::Directory(other),
        }
    }
}

impl StoreError {
    /// Whether there was no room, or no writing at all: what may pass by itself.
    pub fn is_of_the_disk(&self) -> bool {
        use rusqlite::ErrorCode::{DiskFull, SystemIoFailure};
        let StoreError::Database(rusqlite::Error::SqliteFailure(error, _)) = self else { return false };
        matches!(error.code, DiskFull | SystemIoFailure)
    }
}
