//! How often what happened: numbers that the hook adds to in memory that it shares.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use rustix::io::Errno;
use steady_preload::card::{COUNTERS, FIRST_PROGRAM, Outcome, PROGRAM_COUNTERS, demand};
use steady_preload::identity::Identity;

use super::beside;

const BYTES: u64 = 8;
const LENGTH: u64 = COUNTERS as u64 * BYTES;

/// What the keeper adds to: words between those of the outcomes and those of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Work {
    /// CPU time that taking programs took, in nanoseconds.
    CpuNanos = 32,
    /// Programs taken.
    Taken = 33,
    /// Programs refused.
    Refused = 34,
}

/// The numbers.
#[derive(Debug)]
pub struct Counts(File);

impl Counts {
    /// Makes the file where it is missing: all zero, with its blocks, so that nobody who maps it can be short of them.
    pub(super) fn make(path: &Path) -> io::Result<()> {
        if std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() == LENGTH) {
            return Ok(());
        }
        let temporary = beside(path);
        let made = File::options().write(true).create_new(true).mode(0o600).open(&temporary);
        let made = made.and_then(|file| match fallocate(&file, FallocateFlags::empty(), 0, LENGTH) {
            Err(Errno::OPNOTSUPP) => file.write_all_at(&vec![0; LENGTH as usize], 0),
            allocated => Ok(allocated?),
        });
        // A short one that stood there may be mapped: it stays what it is for those.
        let made = made.and_then(|()| std::fs::rename(&temporary, path));
        if made.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        made
    }

    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC).bits();
        let file = File::options().read(true).write(true).custom_flags(flags as i32).open(path)?;
        match file.metadata()?.size() {
            LENGTH => Ok(Counts(file)),
            _ => Err(io::Error::other("the file of counts has another length")),
        }
    }

    /// How many launches went that way.
    ///
    /// # Errors
    /// What the file system says.
    pub fn outcome(&self, outcome: Outcome) -> io::Result<u64> {
        self.word(outcome as usize)
    }

    /// How many launches of the program with this place were from a snapshot, and how many as usual though it has a card.
    ///
    /// # Errors
    /// What the file system says; a place that is none.
    pub fn launches(&self, slot: u32) -> io::Result<[u64; PROGRAM_COUNTERS]> {
        let first = place(slot)?;
        Ok([self.word(first)?, self.word(first + 1)?])
    }

    /// How often a program was launched that has no snapshots yet.
    ///
    /// # Errors
    /// What the file system says.
    pub fn demand(&self, program: &Identity) -> io::Result<u64> {
        self.word(demand(program) as usize)
    }

    /// Begins again to count launches of a program that has no snapshots.
    ///
    /// # Errors
    /// What the file system says.
    pub fn forget_demand(&self, program: &Identity) -> io::Result<()> {
        self.set(demand(program) as usize, 0)
    }

    /// What the keeper did.
    ///
    /// # Errors
    /// What the file system says.
    pub fn work(&self, work: Work) -> io::Result<u64> {
        self.word(work as usize)
    }

    /// Adds to what the keeper did.
    ///
    /// # Errors
    /// What the file system says.
    pub fn add(&self, work: Work, amount: u64) -> io::Result<()> {
        // Given back when the file is closed.
        flock(&self.0, FlockOperation::LockExclusive)?;
        self.set(work as usize, self.word(work as usize)?.wrapping_add(amount))
    }

    /// Lets a place begin at nothing.
    pub(super) fn clear(&self, slot: u32) -> io::Result<()> {
        let first = place(slot)?;
        (first..first + PROGRAM_COUNTERS).try_for_each(|at| self.set(at, 0))
    }

    /// Lets everything begin at nothing.
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

/// The place of a program, as a number of a word.
fn place(slot: u32) -> io::Result<usize> {
    let at = slot as usize;
    if (FIRST_PROGRAM..=COUNTERS - PROGRAM_COUNTERS).contains(&at) {
        Ok(at)
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}
