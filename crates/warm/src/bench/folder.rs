//! The folder in which sessions have their stores: next to the user's own, on the same file system, for the user alone.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rand::TryRngCore;
use rand::rngs::OsRng;
use steady_linux::private::remove_own_tree;

/// A new folder; removed when dropped.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes a folder in that of the user's caches, which is made if it is missing.
    pub(super) fn make(cache: &Path) -> Result<Self, String> {
        let number = OsRng.try_next_u64().map_err(|error| format!("no random name to be had: {error}"))?;
        let path = cache.join(format!("steady-warm-bench-{number:016x}"));
        let mut private = DirBuilder::new();
        private.mode(0o700);
        let made = private.recursive(true).create(cache).and_then(|()| private.recursive(false).create(&path));
        made.map_err(|error| format!("'{}': {error}", path.display()))?;
        Ok(Folder(path))
    }

    pub(super) fn path(&self) -> PathBuf {
        self.0.clone()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The stage has removed it, unless it was killed.
        let _ = remove_own_tree(&self.0);
    }
}
