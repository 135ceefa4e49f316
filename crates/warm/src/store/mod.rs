//! A store: the directory with the hook, cards, snapshots, requests and counters of one user, one boot and one build.
//!
//! A user who can write to it can run code as its owner. So only its owner may access it, which is checked whenever it
//! is opened. Readers never see incomplete files: a file is written under another name and renamed.

mod counts;
mod place;
mod program;
mod requests;

use std::fs::{self, DirBuilder, File};
use std::io::{self, IoSlice, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, flock};
use thiserror::Error;

pub use counts::{Counts, Work};
pub use place::{LIMIT, StoreDirectory};
pub use program::{ProgramLock, StoredCard};
pub use requests::SnapshotRequest;

/// Why no store can be used. Commands then run as usual.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct NoStore(pub String);

/// The modes of directories and of files.
const FOLDER: u32 = 0o700;
const READABLE: u32 = 0o400;
/// The mode of snapshots and the hook, which are executed or mapped.
const EXECUTABLE: u32 = 0o500;

/// The directories within a store.
const FOLDERS: [&str; 3] = [CARDS, SNAPSHOTS, WANTED];
const CARDS: &str = "cards";
const SNAPSHOTS: &str = "snapshots";
const WANTED: &str = "wanted";
const HOOK: &str = "hook.so";
const COUNTS: &str = "counts";
const LOCK: &str = "lock";
/// The file that the working keeper holds locked.
const KEEPER: &str = "keeper";
/// The file with the last error of a capture.
const TROUBLE: &str = "trouble";
/// The prefix of the names of files that are incomplete or about to be removed.
const TEMPORARY: &str = ".new-";

/// A store whose directory has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    folder: PathBuf,
}

/// The store's lock, held while cards are written or removed. Dropping it releases the lock.
#[derive(Debug)]
pub struct Locked(File);

impl Drop for Locked {
    fn drop(&mut self) {
        unlock(&self.0);
    }
}

/// Returns whether a path is that of the hook of a store, in any directory for caches.
pub(crate) fn is_hook(path: &Path) -> bool {
    let folders = path.parent().and_then(Path::parent);
    path.file_name() == Some(HOOK.as_ref())
        && folders.is_some_and(|folders| folders.ends_with(place::FOLDERS.iter().collect::<PathBuf>()))
}

/// Releases a lock. Closing the file would not, while a process that another thread has just forked still has a copy.
fn unlock(file: &File) {
    // Closing the file releases the lock if this fails.
    let _ = flock(file, FlockOperation::Unlock);
}

impl Store {
    /// Opens the store at a place. Creates what does not exist: directories, hook and counters. Removes stores of
    /// earlier boots.
    ///
    /// # Errors
    /// Why it cannot be created or trusted.
    pub fn make(place: &StoreDirectory) -> Result<Self, NoStore> {
        let folder = place::create(place)?;
        let store = Store { folder };
        store.complete().map_err(|error| NoStore(format!("'{}': {error}", store.folder.display())))?;
        place.remove_earlier_boots();
        Ok(store)
    }

    /// Opens the store at a place, if it exists.
    ///
    /// # Errors
    /// Why it cannot be trusted.
    pub fn find(place: &StoreDirectory) -> Result<Option<Self>, NoStore> {
        let Ok(cache) = place.cache.canonicalize() else { return Ok(None) };
        Self::at(place::FOLDERS.iter().fold(cache, |path, name| path.join(name)).join(&place.name))
    }

    /// Opens the store in a directory, if it exists.
    ///
    /// # Errors
    /// Why it cannot be trusted.
    pub fn at(folder: PathBuf) -> Result<Option<Self>, NoStore> {
        Ok(place::check(&folder)?.map(|()| Store { folder }))
    }

    /// Returns the directory of the store.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of the library to preload.
    #[must_use]
    pub fn hook(&self) -> PathBuf {
        self.folder.join(HOOK)
    }

    /// Creates what does not exist in the store.
    fn complete(&self) -> io::Result<()> {
        for name in FOLDERS {
            make_folder(&self.folder.join(name)).map_err(|error| io::Error::other(format!("{name}: {error}")))?;
        }
        let _locked = self.lock()?;
        let hook = self.hook();
        let whole = fs::symlink_metadata(&hook).is_ok_and(|found| is_ours(&found, EXECUTABLE))
            && read(&hook).is_ok_and(|bytes| bytes == steady_preload::HOOK);
        if !whole {
            write_atomically(&hook, [steady_preload::HOOK], EXECUTABLE)?;
        }
        Counts::make(&self.folder.join(COUNTS))
    }

    /// Waits for the store's lock.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn lock(&self) -> io::Result<Locked> {
        let file = open_lock(&self.folder.join(LOCK))?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(Locked(file))
    }

    /// Opens the file that the working keeper holds locked.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn keeper_lock(&self) -> io::Result<File> {
        open_lock(&self.keeper_path())
    }

    /// The path of that file.
    #[must_use]
    pub fn keeper_path(&self) -> PathBuf {
        self.folder.join(KEEPER)
    }

    /// Returns whether a keeper works now.
    #[must_use]
    pub fn has_keeper(&self) -> bool {
        let Ok(file) = open_file(&self.keeper_path()) else { return false };
        flock(&file, FlockOperation::NonBlockingLockShared).is_err()
    }

    /// Stores why a capture failed, or removes the reason after a success.
    pub fn note_trouble(&self, trouble: Option<&str>) {
        let path = self.folder.join(TROUBLE);
        // An error here is less important than the one to store.
        let _ = match trouble {
            Some(text) => write_atomically(&path, [text.as_bytes()], 0o600),
            None if path.exists() => fs::remove_file(path),
            None => Ok(()),
        };
    }

    /// Returns why the last capture failed, if none has succeeded since.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        read(&self.folder.join(TROUBLE)).ok().map(|text| String::from_utf8_lossy(&text).into_owned())
    }

    /// Opens the counters.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn counts(&self) -> io::Result<Counts> {
        Counts::open(&self.folder.join(COUNTS))
    }
}

/// Creates a directory that only this user can access. It may exist already.
fn make_folder(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(FOLDER).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let found = fs::symlink_metadata(path)?;
    match found.is_dir() && is_ours(&found, FOLDER) {
        true => Ok(()),
        false => Err(io::Error::other("not a directory that only this user can access")),
    }
}

/// Returns whether a file belongs to this user and has no rights beyond `mode`.
fn is_ours(found: &fs::Metadata, mode: u32) -> bool {
    found.uid() == rustix::process::geteuid().as_raw() && found.permissions().mode() & 0o7777 & !mode == 0
}

/// Opens a regular file for reading. A FIFO is an error and does not block.
fn open_file(path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits() as i32).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

/// Reads a regular file.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_file(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn open_lock(path: &Path) -> io::Result<File> {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC).bits();
    File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags as i32)
        .open(path)
}

/// Returns an unused name in the directory of `path`.
fn temporary_name(path: &Path) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    path.with_file_name(format!("{TEMPORARY}{}-{number}-{name}", std::process::id()))
}

/// Writes a file atomically. The content is written in one call, so the page cache stores it in large folios.
fn write_atomically<'a>(path: &Path, parts: impl IntoIterator<Item = &'a [u8]>, mode: u32) -> io::Result<()> {
    let temporary = temporary_name(path);
    let written = File::options().write(true).create_new(true).mode(mode).open(&temporary);
    let written = written.and_then(|file| write_parts(file, parts)).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // If the file cannot be removed, it could not be created either.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_parts<'a>(mut file: File, parts: impl IntoIterator<Item = &'a [u8]>) -> io::Result<()> {
    let mut slices: Vec<IoSlice> = parts.into_iter().map(IoSlice::new).collect();
    let mut left = &mut slices[..];
    // Skip empty slices: writing them returns 0, which would look like a full disk.
    IoSlice::advance_slices(&mut left, 0);
    while !left.is_empty() {
        match file.write_vectored(left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut left, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
