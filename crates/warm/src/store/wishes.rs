//! Programs that were started without a card: links that the hook made.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use steady_preload::identity::Identity;

use super::{Counts, Store, WANTED};
use crate::identity;

/// A program that should have snapshots.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wish {
    /// The name of its card and snapshots.
    pub key: String,
    /// The path that it was started by.
    pub program: PathBuf,
    /// Its file.
    pub identity: Identity,
    /// How often it was launched without a snapshot.
    pub launches: u64,
}

impl Store {
    /// Returns the wishes: what was launched most often comes first, and of that the oldest wish. Removes those that make no sense,
    /// or whose file is another one by now.
    ///
    /// # Errors
    /// What the file system says.
    pub fn wishes(&self) -> io::Result<Vec<Wish>> {
        let mut found = Vec::new();
        let counts = self.counts()?;
        for entry in fs::read_dir(self.wanted())? {
            let path = entry?.path();
            match self.wish(&path, &counts) {
                Some((since, wish)) => found.push((since, wish)),
                None => forget(&path),
            }
        }
        found.sort_by_key(|(since, wish)| (std::cmp::Reverse(wish.launches), *since));
        Ok(found.into_iter().map(|(_, wish)| wish).collect())
    }

    fn wish(&self, path: &Path, counts: &Counts) -> Option<((i64, i64), Wish)> {
        let link = fs::symlink_metadata(path).ok()?;
        let key = path.file_name()?.to_str()?.to_owned();
        let program = fs::read_link(path).ok().filter(|program| program.is_absolute())?;
        let identity = identity::existing(&program).ok()?;
        let ours = link.uid() == rustix::process::geteuid().as_raw() && identity.key().as_str() == key;
        let launches = counts.demand(&identity).unwrap_or(0);
        ours.then(|| ((link.ctime(), link.ctime_nsec()), Wish { key, program, identity, launches }))
    }

    /// Removes a wish that was fulfilled, or never will be.
    pub fn fulfilled(&self, wish: &Wish) {
        forget(&self.wanted().join(&wish.key));
        // A count that stays only lets the program come earlier the next time.
        let _ = self.counts().and_then(|counts| counts.forget_demand(&wish.identity));
    }

    /// The folder of wishes, to be watched.
    #[must_use]
    pub fn wanted(&self) -> PathBuf {
        self.folder().join(WANTED)
    }
}

/// Removes a file or link, which another process may be removing too. A directory is not the hook's, and stays.
pub(super) fn forget(path: &Path) {
    let _ = fs::remove_file(path);
}
