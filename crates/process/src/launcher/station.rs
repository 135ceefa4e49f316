//! What the runs of one command need: its program, ready to start, and the user's scripts that run around it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use steady_linux::process::{self, Program, Status, Stdio};
use steady_model::{Command, Hook, PerCommand};

use super::PADDING_MAX;
use super::protocol::{Reply, Setup};
use super::streams::Sink;
use super::wait::{Stop, lost, outcome, wait_or_kill};

/// What the runs of one command need.
pub(super) struct Station {
    pub(super) command: Command,
    pub(super) program: Program,
    /// What is executed in its place in runs from snapshots.
    pub(super) snapshot: Option<Program>,
    pub(super) sink: Sink,
    pub(super) prepare: Option<Script>,
    pub(super) conclude: Option<Script>,
}

impl Station {
    pub(super) fn new(
        setup: &Setup,
        index: usize,
        environment: &[(OsString, OsString)],
        null: &File,
    ) -> io::Result<Self> {
        let command = &setup.commands[index];
        let script = |hook, scripts: &PerCommand<String>| {
            scripts.of(index).map(|text| Script::new(hook, text, index, command, environment)).transpose()
        };
        Ok(Station {
            command: command.clone(),
            program: program(&command.program, &command.argv, index, command, environment)?,
            snapshot: None,
            sink: Sink::new(setup.output.of(index), null)?,
            prepare: script(Hook::Prepare, &setup.prepare)?,
            conclude: script(Hook::Conclude, &setup.conclude)?,
        })
    }
}

/// The variable that tells a process which command it belongs to: 0 for the first, as in the JSON.
const COMMAND_NAME: &str = "STEADY_COMMAND";
/// The variables that runs get from here, whatever stands in the environment.
const OURS: [&str; 3] = [COMMAND_NAME, "STEADY_RUN", "STEADY_PADDING"];

/// A program for runs of `command`: its variables over the inherited ones, and its number in `STEADY_COMMAND`.
pub(super) fn program(
    path: &Path,
    words: &[impl AsRef<OsStr>],
    index: usize,
    command: &Command,
    environment: &[(OsString, OsString)],
) -> io::Result<Program> {
    let number = index.to_string();
    let own = command.environment.iter().map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
    let own: Vec<_> = own.chain([(OsStr::new(COMMAND_NAME), OsStr::new(&number))]).collect();
    // Of a name that stands twice, programs may take either.
    let replaced = |name: &OsStr| OURS.iter().any(|ours| name == *ours) || own.iter().any(|(other, _)| *other == name);
    let inherited = environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let variables = inherited.filter(|(name, _)| !replaced(name)).chain(own.iter().copied());
    let made = Program::new(path, words.iter().map(AsRef::as_ref), variables, PADDING_MAX as usize)?;
    Ok(match &command.directory {
        Some(directory) => made.within(directory)?,
        None => made,
    })
}

/// The shell that they run in.
const SHELL: &str = "/bin/sh";

/// A shell command that is ready to run.
pub(super) struct Script {
    hook: Hook,
    text: String,
    shell: Program,
}

impl Script {
    /// `text` for runs of `command`: in its directory, with its variables.
    pub(super) fn new(
        hook: Hook,
        text: &str,
        index: usize,
        command: &Command,
        environment: &[(std::ffi::OsString, std::ffi::OsString)],
    ) -> io::Result<Self> {
        let words = ["sh".to_owned(), "-c".to_owned(), text.to_owned()];
        let shell = program(Path::new(SHELL), &words, index, command, environment)?;
        Ok(Script { hook, text: text.to_owned(), shell })
    }

    /// Runs it to its end, and ends what it left behind. `run` is what it finds in `STEADY_RUN`.
    pub(super) fn run(&mut self, run: &str, null: &File, output: impl AsFd, control: &UnixStream) -> Result<(), Stop> {
        let streams = Stdio { input: null.as_fd(), output: output.as_fd(), error: output.as_fd() };
        let started = self.shell.spawn(run, 0, streams);
        let child = started.map_err(|error| lost(io::Error::other(format!("{SHELL}: {error}"))))?;
        wait_or_kill(&child, None, control.as_fd(), None)?;
        let reaped = process::wait_for(child.pid).map_err(lost)?;
        process::end_descendants().map_err(lost)?;
        match reaped.status {
            Status::Exited(0) => Ok(()),
            status => Err(Stop::Say(Reply::ScriptFailed {
                hook: self.hook,
                script: self.text.clone(),
                outcome: outcome(status, true),
            })),
        }
    }
}
