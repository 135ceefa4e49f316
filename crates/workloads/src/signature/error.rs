//! Errors of computing a signature.

use std::io;

use thiserror::Error;

/// Why a signature cannot be computed. Errors name the offset in the file if it is known, because a part of a file has
/// no signature.
#[derive(Debug, Error)]
pub enum SignError {
    /// The path is a directory, which has no content.
    #[error("it is a directory")]
    Directory,
    /// The file cannot be read.
    #[error("it cannot be read from byte {offset} on: {error}")]
    Unreadable {
        /// The first byte that could not be read.
        offset: u64,
        /// The error of the system.
        error: io::Error,
    },
    /// The file became shorter while it was read.
    #[error("it shrank while it was read: it ended at byte {offset} of {size}")]
    Shrunk {
        /// The offset of the new end.
        offset: u64,
        /// The size at the beginning, in bytes.
        size: u64,
    },
    /// The file became longer while it was read.
    #[error("it grew while it was read: from byte {offset} to {size}")]
    Grew {
        /// The size at the beginning, in bytes.
        offset: u64,
        /// The size after reading, in bytes.
        size: u64,
    },
    /// The time of modification or of status change of the file changed while it was read.
    #[error("it was written to, or its attributes changed, while it was read, somewhere in bytes 0 to {size}")]
    Written {
        /// The size of the file in bytes.
        size: u64,
    },
    /// A worker could not allocate a node.
    #[error("there is not enough memory for a node at byte {offset}")]
    Exhausted {
        /// The offset of the worker's part.
        offset: u64,
    },
    /// The workers could not be started.
    #[error("its workers cannot be started: {0}")]
    NotStarted(io::Error),
    /// The caller ended it.
    #[error("cancelled")]
    Cancelled,
    /// A worker ended unexpectedly.
    #[error("one of its workers {0}")]
    Lost(String),
}

impl SignError {
    /// Returns whether the cause is the file, and not this program or the system.
    pub fn is_of_the_file(&self) -> bool {
        !matches!(
            self,
            SignError::Exhausted { .. } | SignError::NotStarted(_) | SignError::Cancelled | SignError::Lost(_)
        )
    }
}
