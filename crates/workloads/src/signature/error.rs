//! Why there is no signature.

use std::io;

use thiserror::Error;

/// What came between. Each says how far the file was read, where that is known: part of a file has no signature.
#[derive(Debug, Error)]
pub enum SignError {
    /// It has no bytes of its own.
    #[error("it is a directory")]
    Directory,
    /// It could not be read.
    #[error("it cannot be read from byte {offset} on: {error}")]
    Unreadable {
        /// Where.
        offset: u64,
        /// What the system says.
        error: io::Error,
    },
    /// It ended before its time.
    #[error("it shrank while it was read: it ended at byte {offset} of {size}")]
    Shrunk {
        /// Where it ended.
        offset: u64,
        /// How long it was.
        size: u64,
    },
    /// There was more in the end.
    #[error("it grew while it was read: from byte {offset} to {size}")]
    Grew {
        /// Where it had ended.
        offset: u64,
        /// Where it ended after.
        size: u64,
    },
    /// Its time of modification or of change moved.
    #[error("it was written to, or its attributes changed, while it was read, somewhere in bytes 0 to {size}")]
    Written {
        /// How long it is.
        size: u64,
    },
    /// A worker had no memory.
    #[error("there was no memory for a node at byte {offset}")]
    Exhausted {
        /// Which part the worker was at.
        offset: u64,
    },
    /// The workers could not be had.
    #[error("its workers could not be started: {0}")]
    NotStarted(io::Error),
    /// A worker is gone.
    #[error("one of its workers {0}")]
    Lost(String),
}

impl SignError {
    /// Whether it is the file that it comes from, and not this program or the system.
    pub fn is_of_the_file(&self) -> bool {
        !matches!(self, SignError::Exhausted { .. } | SignError::NotStarted(_) | SignError::Lost(_))
    }
}
