//! Starts the command for an [`Attendant`](super::Attendant).

use std::ffi::{OsStr, OsString};
use std::path::Path;

use steady_linux::process::{Attached, Begun, Joining, NotStarted, Schedule};
use steady_linux::tracer::Tracer;
use steady_model::Reading;

/// The shell that runs scripts without `#!`, as execvp(3) does.
const SHELL: &str = "/bin/sh";
/// Errno of execve(2) for such a script.
const ENOEXEC: i32 = 8;

/// The command with its arguments, ignored signals and scheduling.
pub struct Starter<'a> {
    pub(super) program: &'a OsStr,
    pub(super) words: &'a [OsString],
    pub(super) ignored: &'a [i32],
    pub(super) schedule: &'a Schedule,
}

impl Starter<'_> {
    /// Starts the command in its control group.
    ///
    /// # Errors
    /// Returns which step failed, and why.
    pub fn start(&self, joining: Joining<'_>) -> Result<Begun, NotStarted> {
        self.execute(|command| command.start(self.ignored, self.schedule, joining))
    }

    /// Starts the command in its control group with this environment.
    ///
    /// # Errors
    /// The same as for [`Starter::start`].
    pub fn start_with(&self, environment: &[(OsString, OsString)], joining: Joining<'_>) -> Result<Begun, NotStarted> {
        let variables = || environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        self.execute_as(
            |command| command.within(variables()).map_err(|error| NotStarted::NoProgram(error.into())),
            |command| command.start(self.ignored, self.schedule, joining),
        )
    }

    /// Starts the command traced by this process. If tracing is not allowed, the command runs without a tracer.
    ///
    /// # Errors
    /// The same as for [`Starter::start`].
    pub fn start_traced(&self, joining: Joining<'_>) -> Result<(Begun, Reading<Tracer>), NotStarted> {
        self.execute(|command| Tracer::start(command, self.ignored, self.schedule, joining))
    }

    fn execute<T>(&self, start: impl Fn(&Attached) -> Result<T, NotStarted>) -> Result<T, NotStarted> {
        self.execute_as(Ok, start)
    }

    fn execute_as<T>(
        &self,
        adapt: impl Fn(Attached) -> Result<Attached, NotStarted>,
        start: impl Fn(&Attached) -> Result<T, NotStarted>,
    ) -> Result<T, NotStarted> {
        let begin = |path: &Path, words: Vec<&OsStr>| {
            let made = Attached::new(path, words).map_err(|error| NotStarted::NoProgram(error.into()))?;
            start(&adapt(made)?)
        };
        match begin(Path::new(self.program), self.words.iter().map(OsString::as_os_str).collect()) {
            Err(NotStarted::NoProgram(error)) if error.raw_os_error() == Some(ENOEXEC) => {
                let rest = self.words.iter().skip(1).map(OsString::as_os_str);
                begin(Path::new(SHELL), [OsStr::new("sh"), self.program].into_iter().chain(rest).collect())
            }
            other => other,
        }
    }
}
