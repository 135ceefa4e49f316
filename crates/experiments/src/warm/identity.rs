//! Files as cards name them.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use steady_preload::identity::{Identity, Time};

/// What tells a file from others, and from itself before it was changed.
#[must_use]
pub fn of(file: &Metadata) -> Identity {
    Identity {
        device: file.dev(),
        inode: file.ino(),
        bytes: file.size(),
        modified: Time { seconds: file.mtime(), nanoseconds: file.mtime_nsec() },
        changed: Time { seconds: file.ctime(), nanoseconds: file.ctime_nsec() },
    }
}

/// The identity of what a path leads to; nothing where nothing is there.
///
/// # Errors
/// Where it cannot be told, as in a folder that may not be looked into.
pub fn at(path: &Path) -> io::Result<Option<Identity>> {
    match fs::metadata(path) {
        Ok(found) => Ok(Some(of(&found))),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What a file is called by in a store.
#[must_use]
pub fn key(file: &Metadata) -> String {
    of(file).key().as_str().to_owned()
}
