//! A store: the folder in which the hook, cards, snapshots, wishes and counts lie, for one user, one boot and one build.
//!
//! Who can write to it runs code as its user, so it is that user's alone, and this is looked at whenever it is opened.
//! Nothing in it is changed while somebody may read it: files are written under another name and renamed.

mod counts;
mod place;
mod shelf;
mod wishes;

use std::fs::{self, DirBuilder, File};
use std::io::{self, IoSlice, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, flock};
use thiserror::Error;

pub use counts::{Counts, Work};
pub use place::{LIMIT, Place};
pub use shelf::{Shelf, StoredCard};
pub use wishes::Wish;

/// Why there is no store to be used: commands run as usual then.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct NoStore(pub String);

/// The mode of folders that are one user's alone, and that of files.
const FOLDER: u32 = 0o700;
const READABLE: u32 = 0o400;
/// Snapshots and the hook are executed and mapped.
const EXECUTABLE: u32 = 0o500;

/// The folders within it.
const FOLDERS: [&str; 3] = [CARDS, SNAPSHOTS, WANTED];
const CARDS: &str = "cards";
const SNAPSHOTS: &str = "snapshots";
const WANTED: &str = "wanted";
const HOOK: &str = "hook.so";
const COUNTS: &str = "counts";
const LOCK: &str = "lock";
/// Locked by the keeper that works, and by it alone.
const KEEPER: &str = "keeper";
/// What went wrong last, for whoever asks.
const TROUBLE: &str = "trouble";
/// What the names of files begin with that are not whole yet, or are about to be removed.
const TEMPORARY: &str = ".new-";

/// A store that can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    folder: PathBuf,
}

/// The store's lock: held while cards and places are given or taken away; given back when dropped.
#[derive(Debug)]
pub struct Locked(#[expect(dead_code, reason = "closing it gives the lock back")] File);

impl Store {
    /// The store at a place, made where it is missing: folders, hook and counts. Those of earlier boots are removed.
    ///
    /// # Errors
    /// Why it cannot be made, or not be trusted.
    pub fn make(place: &Place) -> Result<Self, NoStore> {
        let folder = place::made(place)?;
        let store = Store { folder };
        store.complete().map_err(|error| NoStore(format!("'{}': {error}", store.folder.display())))?;
        place.remove_earlier_boots();
        Ok(store)
    }

    /// The store at a place, where there is one.
    ///
    /// # Errors
    /// Why it cannot be trusted.
    pub fn find(place: &Place) -> Result<Option<Self>, NoStore> {
        let Ok(cache) = place.cache.canonicalize() else { return Ok(None) };
        Self::at(place::FOLDERS.iter().fold(cache, |path, name| path.join(name)).join(&place.name))
    }

    /// The store in a folder, where there is one.
    ///
    /// # Errors
    /// Why it cannot be trusted.
    pub fn at(folder: PathBuf) -> Result<Option<Self>, NoStore> {
        Ok(place::check(&folder)?.map(|()| Store { folder }))
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The library to preload.
    #[must_use]
    pub fn hook(&self) -> PathBuf {
        self.folder.join(HOOK)
    }

    /// What is missing within it.
    fn complete(&self) -> io::Result<()> {
        for name in FOLDERS {
            make_folder(&self.folder.join(name))?;
        }
        let _locked = self.lock()?;
        let hook = self.hook();
        let whole = fs::symlink_metadata(&hook).is_ok_and(|found| is_ours(&found, EXECUTABLE))
            && read(&hook).is_ok_and(|bytes| bytes == steady_preload::HOOK);
        if !whole {
            write_whole(&hook, [steady_preload::HOOK], EXECUTABLE)?;
        }
        Counts::make(&self.folder.join(COUNTS))
    }

    /// Waits for the store's lock.
    ///
    /// # Errors
    /// What the file system says.
    pub fn lock(&self) -> io::Result<Locked> {
        let file = open_lock(&self.folder.join(LOCK))?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(Locked(file))
    }

    /// The file that the keeper that works holds locked.
    ///
    /// # Errors
    /// What the file system says.
    pub fn keeper_lock(&self) -> io::Result<File> {
        open_lock(&self.keeper_path())
    }

    /// Where that file is.
    #[must_use]
    pub fn keeper_path(&self) -> PathBuf {
        self.folder.join(KEEPER)
    }

    /// Whether a keeper works now.
    #[must_use]
    pub fn has_keeper(&self) -> bool {
        let Ok(file) = open_file(&self.keeper_path()) else { return false };
        flock(&file, FlockOperation::NonBlockingLockShared).is_err()
    }

    /// Notes what keeps programs from being taken, or that nothing does.
    pub fn note_trouble(&self, trouble: Option<&str>) {
        let path = self.folder.join(TROUBLE);
        // It is told where it can be.
        let _ = match trouble {
            Some(text) => write_whole(&path, [text.as_bytes()], 0o600),
            None if path.exists() => fs::remove_file(path),
            None => Ok(()),
        };
    }

    /// What kept a program from being taken last, if nothing has been taken since.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        read(&self.folder.join(TROUBLE)).ok().map(|text| String::from_utf8_lossy(&text).into_owned())
    }

    /// How often what happened.
    ///
    /// # Errors
    /// What the file system says.
    pub fn counts(&self) -> io::Result<Counts> {
        Counts::open(&self.folder.join(COUNTS))
    }
}

/// A folder of the user's own, which may be there already.
fn make_folder(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(FOLDER).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let found = fs::symlink_metadata(path)?;
    match found.is_dir() && is_ours(&found, FOLDER) {
        true => Ok(()),
        false => Err(io::Error::other(format!("'{}' is not a folder of this user's alone", path.display()))),
    }
}

/// Whether something belongs to this user, with no more rights for anybody than `mode` has.
fn is_ours(found: &fs::Metadata, mode: u32) -> bool {
    found.uid() == rustix::process::geteuid().as_raw() && found.permissions().mode() & 0o7777 & !mode == 0
}

/// Opens a regular file to be read. One that would block, a FIFO, is an error.
fn open_file(path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits() as i32).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
}

/// The content of a regular file.
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

/// A name beside `path` that nobody else uses.
fn beside(path: &Path) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    path.with_file_name(format!("{TEMPORARY}{}-{number}-{name}", std::process::id()))
}

/// Writes a file whole or not at all, in one go: the page cache then keeps it in large pieces.
fn write_whole<'a>(path: &Path, parts: impl IntoIterator<Item = &'a [u8]>, mode: u32) -> io::Result<()> {
    let temporary = beside(path);
    let written = File::options().write(true).create_new(true).mode(mode).open(&temporary);
    let written = written.and_then(|file| write_parts(file, parts)).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // What cannot be removed could not be made either.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_parts<'a>(mut file: File, parts: impl IntoIterator<Item = &'a [u8]>) -> io::Result<()> {
    let mut slices: Vec<IoSlice> = parts.into_iter().map(IoSlice::new).collect();
    let mut left = &mut slices[..];
    // Of empty ones there is nothing to write, which would look like a full disk.
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
