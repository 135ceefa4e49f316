//! The part of a store that belongs to one program: its card and its snapshots.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use steady_linux::Root;
use steady_linux::private::remove_own_tree;
use steady_model::Timestamp;
use steady_preload::CardDraft;
use steady_preload::card::{COUNTERS, Card, FIRST_PROGRAM, LONGEST_CARD, PROGRAM_COUNTERS};
use steady_preload::identity::Identity;

use super::{
    CARDS, EXECUTABLE, Locked, READABLE, SNAPSHOTS, Store, TEMPORARY, make_folder, read, temporary_name, unlock,
    write_atomically,
};
use crate::identity;
use crate::image::Image;

/// The exclusive right to write the card and snapshots of one program.
#[derive(Debug)]
pub struct ProgramLock<'a> {
    store: &'a Store,
    key: String,
    folder: PathBuf,
    held: File,
}

impl Drop for ProgramLock<'_> {
    fn drop(&mut self) {
        unlock(&self.held);
    }
}

/// A card as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCard {
    /// The key of the program.
    pub key: String,
    /// The content, to be parsed by [`Card::parse`].
    pub bytes: Vec<u8>,
    /// When the card was written.
    pub written: Timestamp,
}

impl Store {
    /// Locks the part of the program with this key. Returns `None` if another process creates its snapshots now.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn lock_program(&self, key: &str) -> io::Result<Option<ProgramLock<'_>>> {
        let folder = self.snapshots(key);
        loop {
            make_folder(&folder)?;
            let held = File::open(&folder)?;
            match flock(&held, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            let program_lock = ProgramLock { store: self, key: key.to_owned(), folder: folder.clone(), held };
            // Another process may have removed the directory just before it was locked.
            if program_lock.is_in_store() {
                return Ok(Some(program_lock));
            }
        }
    }

    /// Returns the card of a program, if it has one.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn card(&self, key: &str) -> io::Result<Option<StoredCard>> {
        let path = self.cards_folder().join(key);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() && found.len() <= LONGEST_CARD as u64 => {
                let written = Timestamp(u64::try_from(found.mtime()).unwrap_or(0));
                Ok(Some(StoredCard { key: key.to_owned(), bytes: read(&path)?, written }))
            }
            Ok(_) => Err(io::Error::other("it is not a card")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns all cards, sorted by key.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn cards(&self) -> io::Result<Vec<StoredCard>> {
        let mut found = Vec::new();
        for key in names(&self.cards_folder())? {
            // If a card is removed at this moment, it is left out.
            found.extend(self.card(&key).unwrap_or_default());
        }
        Ok(found)
    }

    /// Returns whether there is a snapshot with this number and name.
    #[must_use]
    pub fn has(&self, key: &str, copy: u32, name: &OsStr) -> bool {
        self.snapshot(key, copy, name).is_file()
    }

    /// Returns the path of the snapshot with this number and name.
    #[must_use]
    pub fn snapshot(&self, key: &str, copy: u32, name: &OsStr) -> PathBuf {
        self.snapshots(key).join(copy.to_string()).join(name)
    }

    /// Gives snapshots another name, for programs that are started by it. The name is a symbolic link, because a hard
    /// link would change the ctime in the card. Links that exist stay.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn add_name(&self, key: &str, copies: u32, known: &OsStr, other: &OsStr) -> io::Result<()> {
        let _locked = self.lock()?;
        for copy in 0..copies {
            match symlink(known, self.snapshot(key, copy, other)) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the disk space of a program's snapshots, in bytes. Files with several names count once.
    #[must_use]
    pub fn size(&self, key: &str) -> u64 {
        let copies = fs::read_dir(self.snapshots(key)).into_iter().flatten().filter_map(Result::ok);
        let files = copies.filter_map(|copy| fs::read_dir(copy.path()).ok()).flatten().filter_map(Result::ok);
        let mut seen = std::collections::BTreeMap::new();
        let blocks = files.filter_map(|file| file.metadata().ok());
        seen.extend(blocks.map(|file| (file.ino(), file.blocks() * 512)));
        seen.into_values().sum()
    }

    /// Removes a program from the store. The card is removed first, because snapshots without a card are not used.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn forget(&self, key: &str, _: &Locked) -> io::Result<()> {
        remove(&self.cards_folder().join(key))?;
        let folder = self.snapshots(key);
        let gone = temporary_name(&folder);
        match fs::rename(&folder, &gone) {
            Ok(()) => remove_own_tree(&gone),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Removes all programs and requests, and resets the counters. The hook stays, because it may be in use. Snapshots
    /// are unlinked and never written to, so programs that run from them continue. Returns the number of programs.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn clear(&self) -> io::Result<usize> {
        let locked = self.lock()?;
        let keys: BTreeSet<String> =
            [names(&self.cards_folder())?, names(&self.folder().join(SNAPSHOTS))?].concat().into_iter().collect();
        keys.iter().try_for_each(|key| self.forget(key, &locked))?;
        names(&self.wanted())?.iter().for_each(|key| super::requests::forget(&self.wanted().join(key)));
        self.note_trouble(None);
        self.counts()?.clear_all()?;
        Ok(keys.len())
    }

    /// Removes incomplete files of dead processes, and snapshots without a card.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn tidy(&self) -> io::Result<()> {
        let locked = self.lock()?;
        let snapshots = self.folder().join(SNAPSHOTS);
        let mut folders = vec![self.folder().to_owned(), self.cards_folder(), snapshots.clone()];
        for key in names(&snapshots)? {
            let copies = fs::read_dir(snapshots.join(&key)).into_iter().flatten().filter_map(Result::ok);
            folders.extend(copies.map(|copy| copy.path()));
            let alone = self.card(&key)?.is_none();
            // If the directory is locked, another process is about to write the card.
            let held = File::open(snapshots.join(&key))?;
            if alone && flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok() {
                self.forget(&key, &locked)?;
            }
        }
        folders.iter().for_each(|folder| remove_incomplete(folder));
        Ok(())
    }

    fn cards_folder(&self) -> PathBuf {
        self.folder().join(CARDS)
    }

    fn snapshots(&self, key: &str) -> PathBuf {
        self.folder().join(SNAPSHOTS).join(key)
    }

    /// Returns the index of the program's counters: the one it has, or a free one, which is reset. Returns 0 if none is
    /// free.
    fn slot(&self, key: &str, _: &Locked) -> io::Result<u32> {
        let mut used = Vec::new();
        for card in self.cards()? {
            let slot = match Card::parse(&card.bytes) {
                Some(Card::Warm(warm)) => warm.slot,
                _ => continue,
            };
            if card.key == key && slot != 0 {
                return Ok(slot);
            }
            used.push(slot);
        }
        let places = (FIRST_PROGRAM..=COUNTERS - PROGRAM_COUNTERS).step_by(PROGRAM_COUNTERS);
        let free = places.map(|place| place as u32).find(|place| !used.contains(place));
        free.map_or(Ok(0), |slot| self.counts()?.clear(slot).map(|()| slot))
    }
}

impl ProgramLock<'_> {
    /// Returns the program's key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns whether the locked directory is still the one in the store.
    fn is_in_store(&self) -> bool {
        let now = fs::symlink_metadata(&self.folder).and_then(|now| Ok((now, self.held.metadata()?)));
        now.is_ok_and(|(now, held)| (now.dev(), now.ino()) == (held.dev(), held.ino()))
    }

    /// Writes the snapshot with this number in place of an earlier one, also if that had another name, and returns its
    /// identity. Processes that run from the earlier snapshot keep it.
    ///
    /// # Errors
    /// An error of the file system; no incomplete file stays.
    pub fn put(&self, copy: u32, name: &OsStr, image: &Image) -> io::Result<Identity> {
        let folder = self.folder.join(copy.to_string());
        make_folder(&folder)?;
        let path = folder.join(name);
        write_atomically(&path, image.parts(), EXECUTABLE)?;
        // If the program was renamed, its earlier snapshot and the links to that are dead, and block these names.
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_name() != name && fs::read_link(entry.path()).ok().as_deref() != Some(Path::new(name)) {
                remove(&entry.path())?;
            }
        }
        identity::existing(&path)
    }

    /// Writes the card, which must be the last file. `draft` builds it with the index of the program's counters.
    ///
    /// # Errors
    /// An error of the file system, or the card would be too long.
    pub fn write_card(&self, draft: impl FnOnce(u32) -> CardDraft) -> io::Result<()> {
        let locked = self.store.lock()?;
        if !self.is_in_store() {
            return Err(io::Error::other("the store was cleared during the capture"));
        }
        let slot = self.store.slot(&self.key, &locked)?;
        let bytes = draft(slot).to_bytes().ok_or_else(|| io::Error::other("it depends on too many files"))?;
        write_atomically(&self.store.cards_folder().join(&self.key), [bytes.as_slice()], READABLE)
    }

    /// Writes a card and removes all snapshots: for scripts and refused programs.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn write_card_alone(&self, draft: &CardDraft) -> io::Result<()> {
        self.write_card(|_| draft.clone())?;
        for copy in names(&self.folder)?.iter().filter(|name| name.parse::<u32>().is_ok()) {
            remove_own_tree(&self.folder.join(copy))?;
        }
        Ok(())
    }
}

/// Returns the names in a directory, without those of incomplete files.
pub(super) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let names = entries.into_iter().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with(TEMPORARY)).collect();
    names.sort();
    Ok(names)
}

/// Removes a file if it exists.
fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path).or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Removes the incomplete files of dead processes from a directory.
fn remove_incomplete(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(TEMPORARY).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|process| Root::default().read(&format!("/proc/{process}/stat")).is_err()) {
            let _ = fs::remove_file(entry.path()).or_else(|_| remove_own_tree(&entry.path()));
        }
    }
}
