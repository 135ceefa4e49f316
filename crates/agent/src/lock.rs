//! Files that one agent holds at a time.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// A file that is locked, and gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    // The lock is its.
    _file: File,
}

impl Lock {
    /// The lock at `path`; `None` where another agent has it.
    pub(crate) fn hold(path: &Path) -> io::Result<Option<Lock>> {
        loop {
            let file = File::options().create(true).truncate(false).write(true).open(path)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(rustix::io::Errno::AGAIN) => return Ok(None),
                held => held?,
            }
            // The agent that had it may have removed it in between: then this is a lock that nobody else sees.
            let is_there = fs::metadata(path).is_ok_and(|there| {
                file.metadata().is_ok_and(|ours| (there.dev(), there.ino()) == (ours.dev(), ours.ino()))
            });
            if is_there {
                return Ok(Some(Lock { path: path.to_owned(), _file: file }));
            }
        }
    }

    /// Whether somebody holds the lock at `path`.
    pub(crate) fn is_held(path: &Path) -> bool {
        File::open(path).is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared).is_err())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // One that stays can be held again.
        let _ = fs::remove_file(&self.path);
    }
}
