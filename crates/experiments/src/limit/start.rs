//! Starting the command where its CPU time is counted.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use steady_linux::clock;
use steady_linux::process::{Attached, Child, NotStarted, Schedule};
use steady_model::{Absent, Nanos};

use super::protocol::{Setup, Told};
use super::source::{BEST_FIRST, Meter};

/// The shell that runs programs without a first line that names their own, as execvp(3) does.
const SHELL: &str = "/bin/sh";
const ENOEXEC: i32 = 8;

/// A command that runs.
pub(super) struct Started {
    pub(super) child: Child,
    pub(super) meter: Meter,
    pub(super) passed_over: Vec<String>,
    pub(super) at: Nanos,
}

/// Starts the command with the best source of CPU time that there is, or the one that was named.
pub(super) fn start(setup: &Setup, schedule: &Schedule, program: &OsStr, words: &[OsString]) -> Result<Started, Told> {
    let mut passed_over = Vec::new();
    let wanted = BEST_FIRST.into_iter().filter(|source| setup.source.is_none_or(|named| named == *source));
    for source in wanted {
        let mut refused = |why: Absent| passed_over.push(format!("{}: {why}", source.name()));
        let meter = match Meter::open(source) {
            Ok(meter) => meter,
            Err(absent) => {
                refused(absent);
                continue;
            }
        };
        let at = clock::monotonic();
        let begin = |command: &Attached| command.start(&setup.ignored, schedule, meter.joining());
        match execute(program, words, begin) {
            Ok(child) => return Ok(Started { child, meter, passed_over, at }),
            Err(NotStarted::NoChild(error)) => {
                refused(Absent::because(format!("no process could be started: {error}")))
            }
            Err(NotStarted::NoProgram(error)) => return Err(Told::NotStarted(error.raw_os_error().unwrap_or(0))),
        }
    }
    Err(Told::Refused(format!("the CPU time of the command cannot be read: {}", passed_over.join("; "))))
}

fn execute(
    program: &OsStr,
    words: &[OsString],
    begin: impl Fn(&Attached) -> Result<Child, NotStarted>,
) -> Result<Child, NotStarted> {
    let command = |path: &Path, words: Vec<&OsStr>| {
        let made = Attached::new(path, words).map_err(|error| NotStarted::NoProgram(error.into()))?;
        begin(&made)
    };
    match command(Path::new(program), words.iter().map(OsString::as_os_str).collect()) {
        Err(NotStarted::NoProgram(error)) if error.raw_os_error() == Some(ENOEXEC) => {
            let rest = words.iter().skip(1).map(OsString::as_os_str);
            command(Path::new(SHELL), [OsStr::new("sh"), program].into_iter().chain(rest).collect())
        }
        other => other,
    }
}
