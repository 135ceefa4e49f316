//! Requests for snapshots: links that the hook creates for programs that it finds without a card.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use steady_preload::identity::Identity;

use super::{Counts, Store, WANTED};
use crate::identity;

/// A request for snapshots of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SnapshotRequest {
    /// The name of the program's card and snapshots.
    pub key: String,
    /// The path that the program was started by.
    pub program: PathBuf,
    /// The identity of the program's file.
    pub identity: Identity,
    /// How often the program was launched without a snapshot.
    pub launches: u64,
}

impl Store {
    /// Returns the requests, sorted by number of launches (most first), then by age (oldest first). Removes requests
    /// that are malformed, or whose file has been replaced.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn requests(&self) -> io::Result<Vec<SnapshotRequest>> {
        let mut found = Vec::new();
        let counts = self.counts()?;
        for entry in fs::read_dir(self.wanted())? {
            let path = entry?.path();
            match self.request(&path, &counts) {
                Some((since, request)) => found.push((since, request)),
                None => forget(&path),
            }
        }
        found.sort_by_key(|(since, request)| (std::cmp::Reverse(request.launches), *since));
        Ok(found.into_iter().map(|(_, request)| request).collect())
    }

    fn request(&self, path: &Path, counts: &Counts) -> Option<((i64, i64), SnapshotRequest)> {
        let link = fs::symlink_metadata(path).ok()?;
        let key = path.file_name()?.to_str()?.to_owned();
        let program = fs::read_link(path).ok().filter(|program| program.is_absolute())?;
        let identity = identity::existing(&program).ok()?;
        let ours = link.uid() == rustix::process::geteuid().as_raw() && identity.key().as_str() == key;
        let launches = counts.demand(&identity).unwrap_or(0);
        ours.then(|| ((link.ctime(), link.ctime_nsec()), SnapshotRequest { key, program, identity, launches }))
    }

    /// Removes a request that is fulfilled, or never will be.
    pub fn fulfilled(&self, request: &SnapshotRequest) {
        forget(&self.wanted().join(&request.key));
        // If this fails, the count stays, and the program has a higher priority the next time.
        let _ = self.counts().and_then(|counts| counts.forget_demand(&request.identity));
    }

    /// Removes the request for a program that was captured without being requested, if there is one. Its snapshots must
    /// have the name that the request asks for.
    pub fn fulfilled_by_capture(&self, key: &str, names: &[OsString]) {
        let request = self.counts().ok().and_then(|counts| self.request(&self.wanted().join(key), &counts));
        let has_name = |program: &Path| program.file_name().is_some_and(|name| names.iter().any(|known| known == name));
        if let Some((_, request)) = request.filter(|(_, request)| has_name(&request.program)) {
            self.fulfilled(&request);
        }
    }

    /// Returns the directory with the requests.
    #[must_use]
    pub fn wanted(&self) -> PathBuf {
        self.folder().join(WANTED)
    }
}

/// Removes a file or link. Another process may be removing it too, so errors are ignored. Directories stay.
pub(super) fn forget(path: &Path) {
    let _ = fs::remove_file(path);
}
