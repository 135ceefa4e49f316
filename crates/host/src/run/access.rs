//! All access to the host.

use std::io;

use rustix::process::{Signal, getpid, kill_process};
use steady_linux::host::knobs::{self, Found, KnobFile};
use steady_linux::{Root, clock};
use steady_model::{Knob, Reading, Timestamp};

use super::HostError;
use super::journal::Journal;
use super::storage::JournalDirectory;

/// Reads and sets the files of a host.
pub(crate) trait HostAccess {
    /// Returns the root directory of the files.
    fn root(&self) -> &Root;
    /// Reads the state of a knob.
    fn find(&self, knob: Knob, smt_goes_off: bool) -> Found {
        knobs::find(self.root(), knob, smt_goes_off)
    }
    /// Returns the interrupts whose CPUs would all go offline without SMT.
    fn stranded(&self) -> Vec<KnobFile> {
        knobs::stranded(self.root())
    }
    /// Reads a file.
    ///
    /// # Errors
    /// Returns why the file cannot be read.
    fn read(&self, file: &str) -> Reading<String> {
        knobs::read(self.root(), file)
    }
    /// Writes `text` to a file.
    ///
    /// # Errors
    /// Returns the error of the kernel.
    fn write(&mut self, knob: Knob, file: &str, text: &str) -> io::Result<()>;
    /// Returns the ID of this boot.
    ///
    /// # Errors
    /// The ID is not known, so no journal can be written.
    fn boot_id(&self) -> Result<String, HostError>;
    /// Returns the time of day.
    fn now(&self) -> Timestamp;
    /// Returns the journal of this boot, if any, and notes about others.
    ///
    /// # Errors
    /// The journal cannot be read or trusted.
    fn load(&mut self) -> Result<(Option<Journal>, Vec<String>), HostError>;
    /// Replaces the journal on disk.
    ///
    /// # Errors
    /// Returns the error of the system. The previous journal is unchanged.
    fn save(&mut self, journal: &Journal) -> io::Result<()>;
    /// Removes the journal.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn forget(&mut self) -> io::Result<()>;
}

/// This host, or with `--root` a copy of its files.
#[derive(Debug)]
pub(crate) struct RealHost {
    root: Root,
    journal_directory: Result<JournalDirectory, HostError>,
    /// For tests: the number of steps after which this process is killed.
    die_at: Option<u32>,
}

impl RealHost {
    /// Locks the journal to restore what it contains. Until this is dropped, no other process sets or restores anything.
    ///
    /// # Errors
    /// There is no directory for a journal, or another process holds the lock.
    pub(crate) fn to_restore(root: &Root, die_at: Option<u32>) -> Result<Self, HostError> {
        Ok(RealHost { root: root.clone(), journal_directory: Ok(JournalDirectory::lock_to_restore(root)?), die_at })
    }

    /// Locks the journal to make the host quiet. A missing directory is an error only when the journal is written: a
    /// host on which nothing can be set needs none.
    pub(crate) fn to_quiet(root: &Root, die_at: Option<u32>) -> Self {
        RealHost { root: root.clone(), journal_directory: JournalDirectory::lock(root), die_at }
    }

    fn journal_directory(&self) -> io::Result<&JournalDirectory> {
        self.journal_directory.as_ref().map_err(|error| io::Error::other(error.why().to_owned()))
    }

    /// Counts a step. At the last one of a test, this process is killed.
    fn step(die_at: &mut Option<u32>) {
        match die_at {
            Some(0) => {
                let _ = kill_process(getpid(), Signal::KILL);
            }
            Some(left) => *left -= 1,
            None => {}
        }
    }
}

impl HostAccess for RealHost {
    fn root(&self) -> &Root {
        &self.root
    }

    fn write(&mut self, knob: Knob, file: &str, text: &str) -> io::Result<()> {
        RealHost::step(&mut self.die_at);
        if knob == Knob::Caches && self.root.is_live() {
            // The kernel drops only cached data that is already on disk.
            rustix::fs::sync();
        }
        knobs::write(&self.root, file, knobs::to_write(&self.root, knob, text))?;
        RealHost::step(&mut self.die_at);
        Ok(())
    }

    fn boot_id(&self) -> Result<String, HostError> {
        self.journal_directory.as_ref().map_err(Clone::clone)?.boot_id()
    }

    fn now(&self) -> Timestamp {
        clock::time_of_day()
    }

    fn load(&mut self) -> Result<(Option<Journal>, Vec<String>), HostError> {
        self.journal_directory.as_ref().map_or(Ok((None, Vec::new())), JournalDirectory::load)
    }

    fn save(&mut self, journal: &Journal) -> io::Result<()> {
        RealHost::step(&mut self.die_at);
        let mut die_at = self.die_at;
        self.journal_directory()?.save(journal, || RealHost::step(&mut die_at))?;
        self.die_at = die_at;
        RealHost::step(&mut self.die_at);
        Ok(())
    }

    fn forget(&mut self) -> io::Result<()> {
        RealHost::step(&mut self.die_at);
        self.journal_directory()?.forget()
    }
}
