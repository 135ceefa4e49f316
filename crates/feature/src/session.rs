//! What a feature asks of the program that it is part of: the command line's side of a run.

use std::ffi::OsString;

use steady_model::{Command, Host, Reading};

use crate::flags::OutputFlags;
use crate::{Failure, Record};

/// One call of `steady`. Features neither print nor read the environment: they ask it.
pub trait Session {
    /// The command that the words of the command line start, its program found as execvp(3) finds it.
    ///
    /// # Errors
    /// There is no such program, or it cannot be executed.
    fn command(&self, words: &[OsString]) -> Result<Command, Failure>;

    /// This host.
    fn host(&self) -> Host;

    /// The git revision of the directory that it was called in.
    ///
    /// # Errors
    /// Why there is none.
    fn revision(&self) -> Reading<String>;

    /// Opens the files that a report is to be written to, before anything is measured.
    ///
    /// # Errors
    /// A file that cannot be written, or that two options name.
    fn open(&mut self, output: &OutputFlags, samples: bool) -> Result<(), Failure>;

    /// Reports a run of the user's command, writes its files and keeps it in the history. The text goes to standard error, because
    /// standard output is the command's. What one place cannot take does not keep it from the others.
    ///
    /// # Errors
    /// The first place that could not take it.
    fn report(&mut self, record: &dyn Record, reporting: Reporting) -> Result<(), Failure>;
}

/// How a run is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reporting {
    /// No text.
    pub quiet: bool,
    /// Whether the history keeps it.
    pub keep: bool,
}
