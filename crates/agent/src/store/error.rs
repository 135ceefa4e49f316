//! The errors of the store.

use rusqlite::ErrorCode;
use rusqlite::ffi::{SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_WRITE};
use steady_linux::directory::DirectoryError;
use steady_linux::limits::file_size_limit;
use thiserror::Error;

/// SQLite's extended error codes for a file that could not be extended.
const GROWING: [i32; 3] = [SQLITE_IOERR_WRITE, SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_SHMSIZE];

/// An error of the store. The messages do not name the file; callers put its path in front.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The file does not exist or is empty.
    #[error("there is no store; 'steady agent' creates one")]
    Missing,
    /// Another agent writes to the store; its process ID, as far as known.
    #[error("another agent ({0}) writes to this store; choose another file with --store")]
    Taken(String),
    /// This user may not read the file, or may not enter its directory. The text names the owner.
    #[error("the store cannot be read: {0}; run as that user, or name another store with --store")]
    Denied(String),
    /// This user may not write to the file.
    #[error(
        "the store cannot be written: its permissions are read-only; change them, or choose another file with --store"
    )]
    ReadOnly,
    /// The path names a directory.
    #[error("it is a directory; name the file of the store in it, such as agent.db")]
    IsDirectory,
    /// The file is not a database.
    #[error("the file is not a database, so it is not a store of steady's agent")]
    NotADatabase,
    /// The store was written by a newer version of steady.
    #[error(
        "the store was written by a newer version of steady: its schema is {found}, and this version knows schemas up to \
         {known}; upgrade steady"
    )]
    TooNew {
        /// The version of the schema in the file.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The file is a database of another program.
    #[error("the file is a database, but not a store of steady's agent")]
    Foreign,
    /// The rows of a second cannot be read.
    #[error("the rows of second {second} (since 1970) are damaged: {why}")]
    Damaged {
        /// The second, since 1970.
        second: u64,
        /// What is wrong with the rows.
        why: &'static str,
    },
    /// A row refers to a name that is not stored.
    #[error("the store is damaged: a row refers to name {0}, which is not stored")]
    UnknownName(u32),
    /// The directory of the store cannot be used.
    #[error("{0}; choose another file with --store")]
    Directory(DirectoryError),
    /// SQLite returned an error: the disk is full, the file is damaged, ...
    #[error("{0}{limit}", limit = cannot_grow(.0))]
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => StoreError::NotADatabase,
            _ => StoreError::Database(error),
        }
    }
}

/// Returns an explanation for errors at the limit of the size of files (`RLIMIT_FSIZE`, setrlimit(2)). SQLite only
/// reports "disk I/O error" for them.
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
