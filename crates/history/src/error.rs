//! Why the history cannot give or take something.

use rusqlite::ffi::{SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_WRITE};
use steady_linux::limits::file_size_limit;
use thiserror::Error;

/// What may be added to an error of a database that could not write: SQLite says no more than "disk I/O error" of a file that has
/// become as long as this process's files may be.
fn cannot_grow(error: &rusqlite::Error) -> String {
    match (error, file_size_limit()) {
        (rusqlite::Error::SqliteFailure(error, _), Some(limit))
            if [SQLITE_IOERR_WRITE, SQLITE_IOERR_TRUNCATE].contains(&error.extended_code) =>
        {
            format!("; files of this process may have no more than {limit} bytes (ulimit -f)")
        }
        _ => String::new(),
    }
}

/// What the history has to say when it cannot do what it was asked for.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The database was written by a version that this one does not know.
    #[error(
        "it was written by a newer version: its schema is {found}, and {known} is the newest known here; upgrade steady"
    )]
    TooNew {
        /// The schema's version in the file.
        found: i64,
        /// The newest that this version knows.
        known: i64,
    },
    /// There is no such run.
    #[error("no run {0} in the history; steady history list shows those that there are")]
    Unknown(i64),
    /// The last run of none was asked for.
    #[error("the history is empty")]
    Empty,
    /// What is kept of a run makes no sense.
    #[error("run {id} is damaged: {why}; steady history remove {id} drops it")]
    Damaged {
        /// The run.
        id: i64,
        /// What is wrong with it.
        why: String,
    },
    /// What the database says: locked for too long, full, no database, ...
    #[error("{0}{limit}", limit = cannot_grow(.0))]
    Database(#[from] rusqlite::Error),
}
