//! A program's part of a store: its card and its snapshots.

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

use super::{CARDS, EXECUTABLE, Locked, READABLE, SNAPSHOTS, Store, TEMPORARY, beside, make_folder, read, write_whole};
use crate::identity;
use crate::image::Image;

/// A program's part, held by one who makes its snapshots.
#[derive(Debug)]
pub struct Shelf<'a> {
    store: &'a Store,
    key: String,
    folder: PathBuf,
    held: File,
}

/// A card as it lies there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCard {
    /// The key of its program.
    pub key: String,
    /// What it says, to be read with [`Card::parse`].
    pub bytes: Vec<u8>,
    /// When it was written.
    pub written: Timestamp,
}

impl Store {
    /// The part of the program with that key; none where somebody else makes its snapshots now.
    ///
    /// # Errors
    /// What the file system says.
    pub fn shelf(&self, key: &str) -> io::Result<Option<Shelf<'_>>> {
        let folder = self.snapshots(key);
        loop {
            make_folder(&folder)?;
            let held = File::open(&folder)?;
            match flock(&held, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            let shelf = Shelf { store: self, key: key.to_owned(), folder: folder.clone(), held };
            // It may have been removed just before it was locked.
            if shelf.stands() {
                return Ok(Some(shelf));
            }
        }
    }

    /// The card of a program, where there is one.
    ///
    /// # Errors
    /// What the file system says.
    pub fn card(&self, key: &str) -> io::Result<Option<StoredCard>> {
        let path = self.cards_folder().join(key);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() && found.len() <= LONGEST_CARD as u64 => {
                let written = Timestamp(u64::try_from(found.mtime()).unwrap_or(0));
                Ok(Some(StoredCard { key: key.to_owned(), bytes: read(&path)?, written }))
            }
            Ok(_) => Err(io::Error::other("it is no card")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All cards, in the order of their keys.
    ///
    /// # Errors
    /// What the file system says.
    pub fn cards(&self) -> io::Result<Vec<StoredCard>> {
        let mut found = Vec::new();
        for key in names(&self.cards_folder())? {
            // One that is replaced at this moment is there before and after.
            found.extend(self.card(&key).unwrap_or_default());
        }
        Ok(found)
    }

    /// Whether there is a snapshot by that name.
    #[must_use]
    pub fn has(&self, key: &str, copy: u32, name: &OsStr) -> bool {
        self.snapshot(key, copy, name).is_file()
    }

    /// Where the snapshot with that number and name lies.
    #[must_use]
    pub fn snapshot(&self, key: &str, copy: u32, name: &OsStr) -> PathBuf {
        self.snapshots(key).join(copy.to_string()).join(name)
    }

    /// Gives snapshots another name, for what is called by it: a symbolic link, which leaves the ctime of the file as the card has
    /// it. Those that have the name keep it.
    ///
    /// # Errors
    /// What the file system says.
    pub fn name_too(&self, key: &str, copies: u32, known: &OsStr, other: &OsStr) -> io::Result<()> {
        let _locked = self.lock()?;
        for copy in 0..copies {
            match symlink(known, self.snapshot(key, copy, other)) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// What the snapshots of a program take on disk, in bytes; those that share their blocks count once.
    #[must_use]
    pub fn size(&self, key: &str) -> u64 {
        let copies = fs::read_dir(self.snapshots(key)).into_iter().flatten().filter_map(Result::ok);
        let files = copies.filter_map(|copy| fs::read_dir(copy.path()).ok()).flatten().filter_map(Result::ok);
        let mut seen = std::collections::BTreeMap::new();
        let blocks = files.filter_map(|file| file.metadata().ok());
        seen.extend(blocks.map(|file| (file.ino(), file.blocks() * 512)));
        seen.into_values().sum()
    }

    /// Forgets a program: its card first, for what has no card is not used.
    ///
    /// # Errors
    /// What the file system says.
    pub fn forget(&self, key: &str, _: &Locked) -> io::Result<()> {
        remove(&self.cards_folder().join(key))?;
        let folder = self.snapshots(key);
        let gone = beside(&folder);
        match fs::rename(&folder, &gone) {
            Ok(()) => remove_own_tree(&gone),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Forgets all programs, wishes and counts. The hook stays, for it may be in use; so do programs that run from
    /// snapshots, whose files are unlinked, never written to.
    ///
    /// # Errors
    /// What the file system says.
    pub fn clear(&self) -> io::Result<()> {
        let locked = self.lock()?;
        let keys = [names(&self.cards_folder())?, names(&self.folder().join(SNAPSHOTS))?].concat();
        keys.iter().try_for_each(|key| self.forget(key, &locked))?;
        names(&self.wanted())?.iter().for_each(|key| super::wishes::forget(&self.wanted().join(key)));
        self.note_trouble(None);
        self.counts()?.clear_all()
    }

    /// Removes what processes that are gone have left half-made, and snapshots that no card speaks of.
    ///
    /// # Errors
    /// What the file system says.
    pub fn tidy(&self) -> io::Result<()> {
        let locked = self.lock()?;
        let snapshots = self.folder().join(SNAPSHOTS);
        let mut folders = vec![self.folder().to_owned(), self.cards_folder(), snapshots.clone()];
        for key in names(&snapshots)? {
            let copies = fs::read_dir(snapshots.join(&key)).into_iter().flatten().filter_map(Result::ok);
            folders.extend(copies.map(|copy| copy.path()));
            let alone = self.card(&key)?.is_none();
            // Somebody may be about to write that card.
            let held = File::open(snapshots.join(&key))?;
            if alone && flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok() {
                self.forget(&key, &locked)?;
            }
        }
        folders.iter().for_each(|folder| remove_half_made(folder));
        Ok(())
    }

    fn cards_folder(&self) -> PathBuf {
        self.folder().join(CARDS)
    }

    fn snapshots(&self, key: &str) -> PathBuf {
        self.folder().join(SNAPSHOTS).join(key)
    }

    /// A place in the counts that no other program has, beginning at nothing; the program's own where it has one, 0 where
    /// there is none left.
    fn slot(&self, key: &str, _: &Locked) -> io::Result<u32> {
        let mut taken = Vec::new();
        for card in self.cards()? {
            let slot = match Card::parse(&card.bytes) {
                Some(Card::Warm(warm)) => warm.slot,
                _ => continue,
            };
            if card.key == key && slot != 0 {
                return Ok(slot);
            }
            taken.push(slot);
        }
        let places = (FIRST_PROGRAM..=COUNTERS - PROGRAM_COUNTERS).step_by(PROGRAM_COUNTERS);
        let free = places.map(|place| place as u32).find(|place| !taken.contains(place));
        free.map_or(Ok(0), |slot| self.counts()?.clear(slot).map(|()| slot))
    }
}

impl Shelf<'_> {
    /// Its program's key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Whether it is the one that lies in the store, not one that was removed from it.
    fn stands(&self) -> bool {
        let now = fs::symlink_metadata(&self.folder).and_then(|now| Ok((now, self.held.metadata()?)));
        now.is_ok_and(|(now, held)| (now.dev(), now.ino()) == (held.dev(), held.ino()))
    }

    /// Puts the snapshot with that number there, in place of the one that was there before, and returns its identity. A process
    /// that runs from the one before keeps it.
    ///
    /// # Errors
    /// What the file system says; nothing half-written stays.
    pub fn put(&self, copy: u32, name: &OsStr, image: &Image) -> io::Result<Identity> {
        let folder = self.folder.join(copy.to_string());
        make_folder(&folder)?;
        let path = folder.join(name);
        write_whole(&path, image.parts(), EXECUTABLE)?;
        identity::existing(&path)
    }

    /// Writes the card, last of all; `draft` makes it for a place in the counts.
    ///
    /// # Errors
    /// What the file system says; a card that would be too long.
    pub fn write_card(&self, draft: impl FnOnce(u32) -> CardDraft) -> io::Result<()> {
        let locked = self.store.lock()?;
        if !self.stands() {
            return Err(io::Error::other("the store was cleared meanwhile"));
        }
        let slot = self.store.slot(&self.key, &locked)?;
        let bytes = draft(slot).to_bytes().ok_or_else(|| io::Error::other("it depends on too many files"))?;
        write_whole(&self.store.cards_folder().join(&self.key), [bytes.as_slice()], READABLE)
    }

    /// Has no snapshots, only what the card says: for scripts and what is refused.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write_card_alone(&self, draft: &CardDraft) -> io::Result<()> {
        self.write_card(|_| draft.clone())?;
        for copy in names(&self.folder)?.iter().filter(|name| name.parse::<u32>().is_ok()) {
            remove_own_tree(&self.folder.join(copy))?;
        }
        Ok(())
    }
}

/// The names in a folder, but for those of files that are not whole.
pub(super) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let names = entries.into_iter().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with(TEMPORARY)).collect();
    names.sort();
    Ok(names)
}

/// Removes a file that need not be there.
fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path).or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Removes what processes that are gone have begun in a folder.
fn remove_half_made(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(TEMPORARY).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|process| Root::default().read(&format!("/proc/{process}/stat")).is_err()) {
            let _ = fs::remove_file(entry.path()).or_else(|_| remove_own_tree(&entry.path()));
        }
    }
}
