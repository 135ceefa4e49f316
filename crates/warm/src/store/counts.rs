//! Counters in a file that the hook maps shared and increments.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use rustix::io::Errno;
use steady_preload::card::{COUNTERS, FIRST_PROGRAM, OBSERVED, Outcome, PROGRAM_COUNTERS, demand};
use steady_preload::identity::Identity;

use super::temporary_name;

const BYTES: u64 = 8;
const LENGTH: u64 = COUNTERS as u64 * BYTES;

/// The counters of keepers, between the counters of outcomes and those of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Work {
    /// CPU time that captures used, in nanoseconds.
    CpuNanos = 32,
    /// Number of captured programs.
    Captured = 33,
    /// Number of refused programs.
    Refused = 34,
}

/// The file of counters.
#[derive(Debug)]
pub struct Counts(File);

impl Counts {
    /// Creates the file if it does not exist, with zeros. Its blocks are allocated, because a process that maps a
    /// sparse file would get SIGBUS if the disk is full.
    pub(super) fn make(path: &Path) -> io::Result<()> {
        if std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() == LENGTH) {
            return Ok(());
        }
        let temporary = temporary_name(path);
        let made = File::options().write(true).create_new(true).mode(0o600).open(&temporary);
        let made = made.and_then(|file| match fallocate(&file, FallocateFlags::empty(), 0, LENGTH) {
            Err(Errno::OPNOTSUPP) => file.write_all_at(&vec![0; LENGTH as usize], 0),
            allocated => Ok(allocated?),
        });
        // A file of another length may be mapped by a process, so it is replaced and not extended.
        let made = made.and_then(|()| std::fs::rename(&temporary, path));
        if made.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        made
    }

    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC).bits();
        let file = File::options().read(true).write(true).custom_flags(flags as i32).open(path)?;
        match file.metadata()?.size() {
            LENGTH => Ok(Counts(file)),
            _ => Err(io::Error::other("the file of counters has a wrong length")),
        }
    }

    /// Returns the number of launches with this outcome.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn outcome(&self, outcome: Outcome) -> io::Result<u64> {
        self.word(outcome as usize)
    }

    /// Returns the number of launches from a snapshot by an observed process.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn observed(&self) -> io::Result<u64> {
        self.word(OBSERVED as usize)
    }

    /// Returns the numbers of launches of a program: from a snapshot, and as usual although it has a card.
    ///
    /// # Errors
    /// An error of the file system, or `slot` is not a valid index.
    pub fn launches(&self, slot: u32) -> io::Result<[u64; PROGRAM_COUNTERS]> {
        let first = place(slot)?;
        Ok([self.word(first)?, self.word(first + 1)?])
    }

    /// Returns how often a program without snapshots was launched.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn demand(&self, program: &Identity) -> io::Result<u64> {
        self.word(demand(program) as usize)
    }

    /// Resets the number of launches of a program without snapshots.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn forget_demand(&self, program: &Identity) -> io::Result<()> {
        self.set(demand(program) as usize, 0)
    }

    /// Returns a counter of the keepers.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn work(&self, work: Work) -> io::Result<u64> {
        self.word(work as usize)
    }

    /// Adds to a counter of the keepers.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn add(&self, work: Work, amount: u64) -> io::Result<()> {
        // Closing the file releases the lock.
        flock(&self.0, FlockOperation::LockExclusive)?;
        self.set(work as usize, self.word(work as usize)?.wrapping_add(amount))
    }

    /// Resets the counters of a program.
    pub(super) fn clear(&self, slot: u32) -> io::Result<()> {
        let first = place(slot)?;
        (first..first + PROGRAM_COUNTERS).try_for_each(|at| self.set(at, 0))
    }

    /// Resets all counters of the store.
    pub(super) fn clear_all(&self) -> io::Result<()> {
        self.0.write_all_at(&vec![0; LENGTH as usize], 0)
    }

    fn word(&self, at: usize) -> io::Result<u64> {
        let mut word = [0; BYTES as usize];
        self.0.read_exact_at(&mut word, at as u64 * BYTES)?;
        Ok(u64::from_ne_bytes(word))
    }

    fn set(&self, at: usize, value: u64) -> io::Result<()> {
        self.0.write_all_at(&value.to_ne_bytes(), at as u64 * BYTES)
    }
}

/// Checks the index of a program's counters.
fn place(slot: u32) -> io::Result<usize> {
    let at = slot as usize;
    if (FIRST_PROGRAM..=COUNTERS - PROGRAM_COUNTERS).contains(&at) {
        Ok(at)
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}
