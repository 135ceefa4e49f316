//! The folder in which sessions have their stores: beside the user's own, on the same file system, for the user alone.

use std::env;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use rand::TryRngCore;
use rand::rngs::OsRng;
use steady_linux::private::remove_own_tree;

use crate::failure::Failure;

/// A new folder; gone when dropped.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn make() -> Result<Self, Failure> {
        let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        let cache =
            cache.ok_or_else(|| Failure::Own("neither XDG_CACHE_HOME nor HOME names a directory".to_owned()))?;
        let number =
            OsRng.try_next_u64().map_err(|error| Failure::Own(format!("no random name to be had: {error}")))?;
        let path = cache.join(format!("steady-warm-bench-{number:016x}"));
        let mut private = DirBuilder::new();
        private.mode(0o700);
        let made = private.recursive(true).create(&cache).and_then(|()| private.recursive(false).create(&path));
        made.map_err(|error| Failure::Own(format!("'{}': {error}", path.display())))?;
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
