//! The directory of the journal: one for the whole host, on a file system that persists.
//!
//! Root writes here, so the directory must belong to root (or to this user, with `--root`). No other user may be able
//! to write to it; [`Directory`] checks this. Every user can read the journal, because `steady host status` needs no
//! privileges. The lock is a separate file that only its owner can open.

use std::io;
use std::path::Path;
use std::time::Duration;

use steady_linux::directory::{Directory, DirectoryError, Lock};
use steady_linux::{Root, host};
use steady_model::{Absent, Reading};

use super::HostError;
use super::journal::{Holder, Journal};
use crate::record::JournalFacts;

/// Directory of the journal, relative to the root. All users share one journal, because the knobs belong to the host.
const FOLDER: &str = "var/lib/steady-host";
/// Its permissions: every user can read the journal.
const MODE: u32 = 0o755;
/// Directory of the journal of earlier versions. The agent's user may own this directory.
const FORMER: &str = "var/lib/steady";
const NAME: &str = "host.json";
/// File name of a journal of an earlier boot.
const VOID: &str = "host.void.json";
const LOCK: &str = "lock";
/// How long to wait for another `steady host`, which may be writing cached data to disk (caches).
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// The locked directory of the journal. Until this is dropped, no other process sets or restores anything.
#[derive(Debug)]
pub(super) struct JournalDirectory {
    root: Root,
    directory: Directory,
    boot_id: Reading<String>,
    /// `None` if none can be created, see [`JournalDirectory::lock_to_restore`].
    _lock: Option<Lock>,
}

impl JournalDirectory {
    /// Creates and locks the directory; waits up to a minute for the lock.
    pub(super) fn lock(root: &Root) -> Result<Self, HostError> {
        let directory = create(root)?;
        let lock = directory.lock(LOCK.as_ref(), LOCK_TIMEOUT).map_err(refused)?;
        Ok(JournalDirectory { root: root.clone(), directory, boot_id: host::boot_id(root), _lock: Some(lock) })
    }

    /// Like `lock`, to restore what a journal contains. Goes on without a lock if its file cannot be created because the
    /// disk is read-only or full: no other process can write a journal then, so none sets anything, and those that
    /// restore write the same values.
    pub(super) fn lock_to_restore(root: &Root) -> Result<Self, HostError> {
        let directory = create(root)?;
        let lock = match directory.lock(LOCK.as_ref(), LOCK_TIMEOUT) {
            Err(error) if error.is_of_disk() => None,
            locked => Some(locked.map_err(refused)?),
        };
        Ok(JournalDirectory { root: root.clone(), directory, boot_id: host::boot_id(root), _lock: lock })
    }

    /// Returns the ID of the current boot.
    pub(super) fn boot_id(&self) -> Result<String, HostError> {
        self.boot_id
            .clone()
            .map_err(|absent| HostError::NotJournalled(format!("the ID of this boot is not known: {absent}")))
    }

    /// Returns the journal of this boot, if there is one, and notes. Renames a journal of an earlier boot.
    pub(super) fn load(&self) -> Result<(Option<Journal>, Vec<String>), HostError> {
        let Some(journal) = read(&self.directory)? else { return self.adopt() };
        if journal.boot_id == self.boot_id()? {
            return Ok((Some(journal), Vec::new()));
        }
        let path = self.directory.path();
        let moved = self.directory.rename(NAME, VOID).and_then(|()| self.directory.sync());
        moved.map_err(|error| HostError::BadJournal(format!("'{}': {error}", path.join(NAME).display())))?;
        let void = path.join(VOID);
        let note = "the journal was of an earlier boot, so there is nothing to restore; it was renamed to";
        Ok((None, vec![format!("{note} {}", void.display())]))
    }

    /// Moves the journal of an earlier version to the directory of this one.
    fn adopt(&self) -> Result<(Option<Journal>, Vec<String>), HostError> {
        let (directory, journal) = match former(&self.root) {
            Ok(None) => return Ok((None, Vec::new())),
            Ok(Some(found)) => found,
            // The owner of that directory must not be able to prevent this host from being made quiet.
            Err(error) => return Ok((None, vec![ignored(&error)])),
        };
        if journal.boot_id != self.boot_id()? {
            return Ok((None, Vec::new()));
        }
        self.save(&journal, || ()).map_err(|error| HostError::NotJournalled(error.to_string()))?;
        let note = directory.remove(NAME).err().map(|error| {
            format!("the journal of an earlier version could not be removed: '{}': {error}", directory.path().display())
        });
        Ok((Some(journal), note.into_iter().collect()))
    }

    /// Replaces the journal on disk. On an error, the previous one is unchanged.
    pub(super) fn save(&self, journal: &Journal, before_rename: impl FnOnce()) -> io::Result<()> {
        self.directory.replace(NAME, journal.text().as_bytes(), 0o644, true, before_rename)
    }

    /// Removes the journal, when everything is restored.
    pub(super) fn forget(&self) -> io::Result<()> {
        self.directory.remove(NAME).and_then(|()| self.directory.sync())
    }
}

/// Opens the directory of the journal; creates it if it does not exist.
fn create(root: &Root) -> Result<Directory, HostError> {
    let is_new = !root.path(FOLDER).exists();
    let directory = Directory::create_below(&root.path("/"), Path::new(FOLDER), MODE).map_err(refused)?;
    if is_new {
        // The umask restricted it.
        let shared = directory.set_mode(MODE);
        shared.map_err(|error| HostError::NotJournalled(format!("'{}': {error}", directory.path().display())))?;
    }
    Ok(directory)
}

fn refused(error: DirectoryError) -> HostError {
    HostError::NotJournalled(error.to_string())
}

/// Reads the journal in a directory, if there is one.
fn read(directory: &Directory) -> Result<Option<Journal>, HostError> {
    let path = directory.path().join(NAME);
    let Some(bytes) = directory.read(NAME).map_err(bad)? else { return Ok(None) };
    let parsed = String::from_utf8(bytes).map_err(|error| error.to_string()).and_then(|text| Journal::parse(&text));
    parsed.map(Some).map_err(|why| HostError::BadJournal(format!("'{}': {why}", path.display())))
}

fn bad(error: DirectoryError) -> HostError {
    HostError::BadJournal(error.to_string())
}

/// Reads the journal of an earlier version. Any user may own its directory, but the journal must belong to root.
fn former(root: &Root) -> Result<Option<(Directory, Journal)>, HostError> {
    match Directory::open_any(&root.path("/"), Path::new(FORMER)) {
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(bad(error)),
        Ok(directory) => Ok(read(&directory)?.map(|journal| (directory, journal))),
    }
}

fn ignored(error: &HostError) -> String {
    format!("the journal in the directory of earlier versions is ignored: {}", error.why())
}

/// Opens the directory of the journal; `None` if there is none.
fn directory(root: &Root) -> Result<Option<Directory>, HostError> {
    match Directory::open_below(&root.path("/"), Path::new(FOLDER)) {
        Err(DirectoryError::System { error, .. })
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(bad(error)),
        Ok(directory) => Ok(Some(directory)),
    }
}

/// Returns whether there is no journal. A journal that cannot be read counts as existing.
pub(super) fn is_empty(root: &Root) -> bool {
    [FOLDER, FORMER].into_iter().all(|folder| matches!(root.path(folder).join(NAME).try_exists(), Ok(false)))
}

/// Returns whether a holder is in the journal. A journal that cannot be read may contain it, unless this user may not even
/// read it.
pub(super) fn names(root: &Root, holder: &Holder) -> bool {
    let found = root.path(FOLDER).join(NAME).try_exists();
    if found.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
        return false;
    }
    let journal = directory(root).and_then(|found| found.map_or(Ok(None), |directory| read(&directory)));
    let is_in = |journal: Journal| journal.entries.iter().any(|entry| entry.holders.contains(holder));
    journal.map_or(true, |found| found.is_some_and(is_in))
}

/// Returns a summary of the journal, as far as this user may read it, and notes.
pub(super) fn facts(root: &Root) -> (Reading<Option<JournalFacts>>, Vec<String>) {
    let mut notes = Vec::new();
    let found = directory(root).and_then(|found| match found {
        Some(directory) => Ok(read(&directory)?.map(|journal| (directory, journal))),
        None => Ok(None),
    });
    let found = match found {
        Ok(None) => former(root).unwrap_or_else(|why| {
            notes.push(ignored(&why));
            None
        }),
        Ok(found) => found,
        Err(error) => return (Err(Absent::because(error.why())), notes),
    };
    let Some((directory, journal)) = found else { return (Ok(None), notes) };
    let path = directory.path().join(NAME);
    if host::boot_id(root).is_ok_and(|boot| boot != journal.boot_id) {
        notes.push(format!("the journal {} is of an earlier boot, so there is nothing to restore", path.display()));
        return (Ok(None), notes);
    }
    if journal.entries.iter().any(|entry| !entry.is_held() && entry.holders.iter().any(|one| *one != Holder::Stays)) {
        notes.push("a command for which this host was made quiet was killed; run steady host restore".to_owned());
    }
    (Ok(Some(journal.facts(path.display().to_string()))), notes)
}
