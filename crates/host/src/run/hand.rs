//! All that touches the host.

use std::io;

use rustix::process::{Signal, getpid, kill_process};
use steady_linux::host::knobs::{self, Found, Setting};
use steady_linux::{Root, clock};
use steady_model::{Knob, Reading, Timestamp};

use super::HostError;
use super::journal::Journal;
use super::place::Place;

/// What there is of a host to look at and to set.
pub(crate) trait Hand {
    /// Where its files are.
    fn root(&self) -> &Root;
    /// A knob as it is.
    fn find(&self, knob: Knob, smt_goes_off: bool) -> Found {
        knobs::find(self.root(), knob, smt_goes_off)
    }
    /// Interrupts that SMT would take the CPUs from.
    fn stranded(&self) -> Vec<Setting> {
        knobs::stranded(self.root())
    }
    /// What is in a file.
    ///
    /// # Errors
    /// Why that cannot be told.
    fn read(&self, file: &str) -> Reading<String> {
        knobs::read(self.root(), file)
    }
    /// Has a file say what `text` says.
    ///
    /// # Errors
    /// What the kernel says.
    fn write(&mut self, knob: Knob, file: &str, text: &str) -> io::Result<()>;
    /// What this boot is called.
    ///
    /// # Errors
    /// Where that is not known, nothing can be journalled.
    fn boot_id(&self) -> Result<String, HostError>;
    /// The time of day.
    fn now(&self) -> Timestamp;
    /// The journal that counts, and what there is to say of another.
    ///
    /// # Errors
    /// It cannot be used.
    fn load(&mut self) -> Result<(Option<Journal>, Vec<String>), HostError>;
    /// Has the journal say this, whatever happens from now on.
    ///
    /// # Errors
    /// What the system says; the journal is the one before.
    fn save(&mut self, journal: &Journal) -> io::Result<()>;
    /// Has it that nothing is to be put back.
    ///
    /// # Errors
    /// What the system says.
    fn forget(&mut self) -> io::Result<()>;
}

/// The host itself, or a tree of files that stands for one.
#[derive(Debug)]
pub(crate) struct Live {
    root: Root,
    place: Result<Place, HostError>,
    /// After how many steps this process is killed: for tests.
    die_at: Option<u32>,
}

impl Live {
    /// Gets hold of it: nobody else sets or restores anything until this is dropped.
    ///
    /// # Errors
    /// There is no place for a journal.
    pub(crate) fn new(root: &Root, die_at: Option<u32>) -> Result<Self, HostError> {
        Ok(Live { root: root.clone(), place: Ok(Place::lock(root)?), die_at })
    }

    /// The same where there need not be a place for a journal, as long as nothing can be set: nothing is journalled without.
    pub(crate) fn new_if_needed(root: &Root, die_at: Option<u32>) -> Self {
        Live { root: root.clone(), place: Place::lock(root), die_at }
    }

    fn place(&self) -> io::Result<&Place> {
        self.place.as_ref().map_err(|error| io::Error::other(error.why().to_owned()))
    }

    /// One step further: the place at which tests have this process killed, as it could be by anybody at any time.
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

impl Hand for Live {
    fn root(&self) -> &Root {
        &self.root
    }

    fn write(&mut self, knob: Knob, file: &str, text: &str) -> io::Result<()> {
        Live::step(&mut self.die_at);
        if knob == Knob::Caches && self.root.is_live() {
            // Only what is on disk already can be dropped.
            rustix::fs::sync();
        }
        knobs::write(&self.root, file, knobs::to_write(&self.root, knob, text))?;
        Live::step(&mut self.die_at);
        Ok(())
    }

    fn boot_id(&self) -> Result<String, HostError> {
        self.place.as_ref().map_err(Clone::clone)?.boot_id()
    }

    fn now(&self) -> Timestamp {
        clock::time_of_day()
    }

    fn load(&mut self) -> Result<(Option<Journal>, Vec<String>), HostError> {
        self.place.as_ref().map_or(Ok((None, Vec::new())), Place::load)
    }

    fn save(&mut self, journal: &Journal) -> io::Result<()> {
        Live::step(&mut self.die_at);
        let mut die_at = self.die_at;
        self.place()?.save(journal, || Live::step(&mut die_at))?;
        self.die_at = die_at;
        Live::step(&mut self.die_at);
        Ok(())
    }

    fn forget(&mut self) -> io::Result<()> {
        Live::step(&mut self.die_at);
        self.place()?.forget()
    }
}
