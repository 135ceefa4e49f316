//! Programs that were started without a card: links that the hook made.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Store, WANTED};
use crate::warm::identity;

/// A program that is wanted warm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wish {
    /// The file's device and inode, as the names of its card and snapshots have them.
    pub key: String,
    /// Where it was started from.
    pub program: PathBuf,
}

impl Store {
    /// What is wanted, the oldest wish first. Those that make no sense, or whose file is another one by now, are removed.
    ///
    /// # Errors
    /// What the file system says.
    pub fn wishes(&self) -> io::Result<Vec<Wish>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(self.wanted())? {
            let path = entry?.path();
            match self.wish(&path) {
                Some((since, wish)) => found.push((since, wish)),
                None => forget(&path),
            }
        }
        found.sort_by_key(|(since, _)| *since);
        Ok(found.into_iter().map(|(_, wish)| wish).collect())
    }

    fn wish(&self, path: &Path) -> Option<((i64, i64), Wish)> {
        let link = fs::symlink_metadata(path).ok()?;
        let key = path.file_name()?.to_str()?.to_owned();
        let program = fs::read_link(path).ok().filter(|program| program.is_absolute())?;
        let ours = link.uid() == rustix::process::geteuid().as_raw() && identity::key(&program).ok()? == key;
        ours.then(|| ((link.ctime(), link.ctime_nsec()), Wish { key, program }))
    }

    /// Removes a wish that was fulfilled, or never will be.
    pub fn fulfilled(&self, key: &str) {
        forget(&self.wanted().join(key));
    }

    /// The folder of wishes, to be watched.
    #[must_use]
    pub fn wanted(&self) -> PathBuf {
        self.folder().join(WANTED)
    }
}

/// Removes a file or link, which another process may be removing too. A directory is not the hook's, and stays.
fn forget(path: &Path) {
    let _ = fs::remove_file(path);
}
