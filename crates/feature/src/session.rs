//! What a feature asks of the program that it is part of: the command line's side of a run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use steady_model::{Command, Host, Nanos, Reading, Seed};
use steady_render::Style;

use crate::flags::OutputFlags;
use crate::{Failure, Record, Report, Status};

/// One call of `steady`. Features neither print nor read the environment: they ask it.
pub trait Session {
    /// The command that the words of the command line start, its program found as execvp(3) finds it.
    ///
    /// # Errors
    /// There is no such program, or it cannot be executed.
    fn command(&self, words: &[OsString]) -> Result<Command, Failure>;

    /// The command in a string, with the words that [`typed::words`](crate::typed::words) returns. Its program is found as
    /// execvp(3) finds it, if that is called in `directory`: relative to the current one, or empty for that one itself.
    ///
    /// # Errors
    /// There are no words, there is no such program, or it cannot be executed.
    fn typed_command(&self, text: &str, shell: Option<&str>, directory: &Path) -> Result<Command, Failure>;

    /// The environment that it was called in: what a command inherits.
    fn environment(&self) -> Vec<(OsString, OsString)>;

    /// Returns the value of a variable of that environment.
    fn variable(&self, name: &str) -> Option<OsString> {
        self.environment().into_iter().find(|variable| variable.0 == name).map(|variable| variable.1)
    }

    /// This host.
    fn host(&self) -> Host;

    /// The git revision of the directory that it was called in.
    ///
    /// # Errors
    /// Why there is none.
    fn revision(&self) -> Reading<String>;

    /// The version of this program.
    fn version(&self) -> &'static str;

    /// Returns this call as root would type it: `sudo steady host quiet`.
    fn as_root(&self) -> String;

    /// Returns the seed that was given, or one from the system.
    ///
    /// # Errors
    /// The system has none.
    fn seed(&self, given: Option<u64>) -> Result<Seed, Failure>;

    /// The folder of this user's data, made if it is missing.
    ///
    /// # Errors
    /// Why there is none.
    fn data_folder(&self) -> Result<PathBuf, String>;

    /// Replaces a file that `option` asks for, besides those of a report.
    ///
    /// # Errors
    /// It cannot be written.
    fn save(&self, option: &'static str, file: &Path, text: &str) -> Result<(), Failure>;

    /// Prints a line on standard error, after `steady: `.
    fn notice(&self, text: &str);

    /// Opens the files that a report goes to, before anything is measured. The text of a report goes to standard output; if the
    /// status is that of the user's command, so is standard output, and the text goes to standard error.
    ///
    /// # Errors
    /// A file that cannot be written, or that two options name; standard output is closed, and the text goes there. Never
    /// [`Failure::Usage`] if its status might be the command's.
    fn open(&mut self, output: &OutputFlags, samples: bool, status: Status) -> Result<(), Failure>;

    /// Opens the file of `--export-svg`, if there is one, for the report's drawing. Called after [`Session::open`].
    ///
    /// # Errors
    /// As [`Session::open`].
    fn open_drawing(&mut self, file: Option<&Path>) -> Result<(), Failure>;

    /// Shows on standard error how far it has come, if that is a terminal and the user did not ask for quiet: the share that is
    /// done, if it is known, and words next to it. It disappears with whatever is printed next.
    fn progress(&mut self, share: Option<f64>, text: &str);

    /// After [`Session::progress`]: a step begins that may last seconds or more. Until the next call of that, the time since the
    /// beginning is drawn again as it passes, by a thread. If it is known how long the step probably takes, so is the time within
    /// it, behind its name: `pair: 4 s of 12 s`.
    fn lasting_step(&mut self, name: &'static str, takes: Option<Nanos>);

    /// Prints a line of a log on standard error if that is no terminal, where [`Session::progress`] shows nothing, and the user did
    /// not ask for quiet.
    fn log_progress(&self, line: &str);

    /// The style of text on standard output: its width, and whether it has colours.
    fn style(&self) -> Style;

    /// Prints a part of a report's text on standard output before the rest is known, if its text goes there.
    /// [`Session::write`] leaves the text out then. Before [`Session::open`], any text.
    ///
    /// # Errors
    /// Standard output cannot be written.
    fn print(&mut self, part: &str) -> Result<(), Failure>;

    /// Writes a report everywhere that was opened. If one place fails, the others are written all the same.
    ///
    /// # Errors
    /// The first place that failed.
    fn write(&mut self, report: &dyn Report) -> Result<(), Failure>;

    /// Appends a line, the text of a JSON value, to the log of this run. If the run is killed, the history takes up what
    /// [`LogKind::read`](crate::LogKind::read) finds in the log; [`Session::keep`] removes it. Errors are not reported: what is not
    /// in the log is in memory.
    fn log(&mut self, line: &str);

    /// Returns the log of this run, for processes that append to it themselves, and makes it if there is none yet; `None` if it
    /// cannot be made. It is read and removed as [`Session::log`] has it.
    fn log_file(&mut self) -> Option<PathBuf>;

    /// Keeps a record in the history; [`Session::write`] prints below the text under which number. If it cannot be kept, a line
    /// says why. Called before the report is written: a reader that does not read it can block that for ever.
    fn keep(&mut self, record: &dyn Record);
}
