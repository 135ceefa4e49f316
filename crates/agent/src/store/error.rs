//! Why the store cannot give or take something.

use rusqlite::ffi::{SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_WRITE};
use steady_linux::directory::DirectoryError;
use steady_linux::limits::file_size_limit;
use thiserror::Error;

/// What SQLite says of files that it could not make longer.
const GROWING: [i32; 3] = [SQLITE_IOERR_WRITE, SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_SHMSIZE];

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
    #[error("{0}{limit}", limit = cannot_grow(.0))]
    Database(#[from] rusqlite::Error),
}

/// What may be added to an error of a database that could not write: SQLite says no more than "disk I/O error" of a file that has
/// become as long as this process's files may be.
fn cannot_grow(error: &rusqlite::Error) -> String {
    match (error, file_size_limit()) {
        (rusqlite::Error::SqliteFailure(error, _), Some(limit)) if GROWING.contains(&error.extended_code) => {
            format!("; files of this process may have no more than {limit} bytes (ulimit -f)")
        }
        _ => String::new(),
    }
}

impl From<DirectoryError> for StoreError {
    fn from(error: DirectoryError) -> Self {
        match error {
            DirectoryError::Locked { holder, .. } => StoreError::Taken(holder),
            other => StoreError::Directory(other),
        }
    }
}
