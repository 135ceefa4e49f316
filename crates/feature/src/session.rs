//! What a feature asks of the program that it is part of: the command line's side of a run.

use std::ffi::OsString;

use steady_model::{Command, Host, Reading};

use crate::flags::OutputFlags;
use crate::{Failure, Record, Report};

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

    /// Returns this call as root would type it: `sudo steady host quiet`.
    fn as_root(&self) -> String;

    /// Prints a line on standard error, after `steady: `.
    fn notice(&self, text: &str);

    /// Opens the files that a report about the user's command goes to, before anything is measured. Its text goes to standard
    /// error, because standard output is the command's.
    ///
    /// # Errors
    /// A file that cannot be written, or that two options name. Never [`Failure::Usage`], whose status might be the command's.
    fn open(&mut self, output: &OutputFlags, samples: bool) -> Result<(), Failure>;

    /// As [`Session::open`], for a report that goes to standard output in the format of `--format`.
    ///
    /// # Errors
    /// [`Failure::Usage`]: as for [`Session::open`], or standard output is closed.
    fn open_output(&mut self, output: &OutputFlags, samples: bool) -> Result<(), Failure>;

    /// Writes a report that the history does not keep to the destinations that were opened. If one fails, the others are written
    /// all the same.
    ///
    /// # Errors
    /// The first destination that failed.
    fn write(&mut self, report: &dyn Report) -> Result<(), Failure>;

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
