//! The services that the program provides to a running feature.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use steady_model::{Command, Host, Nanos, Reading, Seed};
use steady_render::Style;
use steady_render::json::ReadError;

use crate::flags::OutputFlags;
use crate::{Failure, Record, Report, Status};

/// One call of `steady`. Features neither print nor read the environment; they use these functions instead.
pub trait Session {
    /// The command of a command line that is given as words. Its program is found as by execvp(3).
    ///
    /// # Errors
    /// There is no such program, or it cannot be executed.
    fn command(&self, words: &[OsString]) -> Result<Command, Failure>;

    /// The command of a command line that is given as one string, split by [`typed::words`](crate::typed::words). Its
    /// program is found as by execvp(3) in `directory`, which is relative to the current directory or empty.
    ///
    /// # Errors
    /// There are no words, there is no such program, or it cannot be executed.
    fn typed_command(&self, text: &str, shell: Option<&str>, directory: &Path) -> Result<Command, Failure>;

    /// The environment of this process, which commands inherit.
    fn environment(&self) -> Vec<(OsString, OsString)>;

    /// Returns the value of a variable of the environment.
    fn variable(&self, name: &str) -> Option<OsString> {
        self.environment().into_iter().find(|variable| variable.0 == name).map(|variable| variable.1)
    }

    /// Facts about this host.
    fn host(&self) -> Host;

    /// The git revision of the working directory.
    ///
    /// # Errors
    /// There is no revision. The error is the reason.
    fn revision(&self) -> Reading<String>;

    /// The version of this program.
    fn version(&self) -> &'static str;

    /// Returns whether the command line has a `--`, which a command must follow. Parsed options do not show it.
    fn has_separator(&self) -> bool;

    /// Returns the command line that runs this call as root, as in `sudo steady host quiet`.
    fn as_root(&self) -> String;

    /// Returns the given seed, or a random one from the system.
    ///
    /// # Errors
    /// The system has no random numbers.
    fn seed(&self, given: Option<u64>) -> Result<Seed, Failure>;

    /// The folder for data of this user. It is created if it does not exist.
    ///
    /// # Errors
    /// There is no such folder. The error is the reason.
    fn data_folder(&self) -> Result<PathBuf, String>;

    /// Replaces the file of an option that is not about the report.
    ///
    /// # Errors
    /// The file cannot be written.
    fn save(&self, option: &'static str, file: &Path, text: &str) -> Result<(), Failure>;

    /// Reads an export of any kind of record that the history stores, with its samples. `None` if it is no such export.
    fn record(&self, json: &str) -> Option<Result<Box<dyn Record>, ReadError>>;

    /// Joins exports of one kind of record that are parts of one run. `None` if they are not, or if their kind has no
    /// such parts. The error says why they cannot be joined.
    fn joined(&self, texts: &[String]) -> Option<Result<Box<dyn Record>, String>>;

    /// Prints a line on standard error, after `steady: `.
    fn notice(&self, text: &str);

    /// Opens the files of the report, before anything is measured. The text of the report goes to standard output, or
    /// to standard error if `status` says that standard output and the exit status belong to the user's command.
    ///
    /// # Errors
    /// A file cannot be written, two options name the same file, standard output is closed and the text goes there, or a
    /// file is standard output and that belongs to the user's command.
    /// Never [`Failure::Usage`] if the command could have the same exit status.
    fn open(&mut self, output: &OutputFlags, samples: bool, status: Status) -> Result<(), Failure>;

    /// Opens the file of `--export-svg`, if the option was given. Call it after [`Session::open`].
    ///
    /// # Errors
    /// As [`Session::open`].
    fn open_drawing(&mut self, file: Option<&Path>) -> Result<(), Failure>;

    /// Shows progress on standard error, if that is a terminal and `--quiet` was not given: the completed share, if it
    /// is known, and a text. The next output replaces it.
    fn progress(&mut self, share: Option<f64>, text: &str);

    /// Starts a step that may last seconds or more, after [`Session::progress`]. Until the next call of that function,
    /// a thread updates the time since the beginning. If the probable duration of the step is known, the time within
    /// the step follows its name: `pair: 4 s of 12 s`.
    fn lasting_step(&mut self, name: &'static str, takes: Option<Nanos>);

    /// Prints a line of progress on standard error, if that is not a terminal and `--quiet` was not given.
    /// [`Session::progress`] shows nothing in that case.
    fn log_progress(&self, line: &str);

    /// The style of text on standard output: its width, and whether it has colours.
    fn style(&self) -> Style;

    /// Prints a part of the report's text before the rest is known, if the text goes to standard output.
    /// [`Session::write`] then leaves out the text. Before [`Session::open`], it prints any text.
    ///
    /// # Errors
    /// Standard output cannot be written.
    fn print(&mut self, part: &str) -> Result<(), Failure>;

    /// Writes the report to all opened destinations. If one fails, the others are still written.
    ///
    /// # Errors
    /// The error of the last destination that failed. Those of the others are printed as notices.
    fn write(&mut self, report: &dyn Report) -> Result<(), Failure>;

    /// Appends a line of JSON to the log of this run. If the run is killed, the history imports what
    /// [`LogKind::read`](crate::LogKind::read) finds in the log. [`Session::keep`] removes the log. Errors are not
    /// reported, because the data is also in memory.
    fn log(&mut self, line: &str);

    /// Returns the path of the log of this run, for processes that append to it themselves. The log is created if it
    /// does not exist, and is read and removed as with [`Session::log`]. `None` if it cannot be created.
    fn log_file(&mut self) -> Option<PathBuf>;

    /// Stores a record in the history. [`Session::write`] prints its number below the text. If the record cannot be
    /// stored, a notice says why. Call it before [`Session::write`], which may block forever if nothing reads its
    /// output.
    fn keep(&mut self, record: &dyn Record);
}
