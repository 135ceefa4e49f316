//! A command prepared for its runs: its program, its streams, and the user's scripts before and after each run.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use steady_linux::process::{self, Program, Status};
use steady_model::{Command, Hook, MetricInput, PerCommand};

use super::PADDING_MAX;
use super::protocol::{Reply, Setup};
use super::streams::Sink;
use super::wait::{Stop, lost, outcome, wait_or_kill};
use crate::values::excerpt;

/// A command prepared for its runs.
pub(super) struct Prepared {
    pub(super) command: Command,
    pub(super) program: Program,
    /// Program of runs that start from snapshots.
    pub(super) snapshot: Option<Program>,
    pub(super) sink: Sink,
    pub(super) prepare: Option<Script>,
    pub(super) conclude: Option<Script>,
}

impl Prepared {
    pub(super) fn new(
        setup: &Setup,
        index: usize,
        environment: &[(OsString, OsString)],
        metrics: Option<&MetricInput>,
        null: &File,
    ) -> io::Result<Self> {
        let command = &setup.commands[index];
        let script = |hook, scripts: &PerCommand<String>| {
            scripts.of(index).map(|text| Script::new(hook, text, index, command, environment)).transpose()
        };
        Ok(Prepared {
            command: command.clone(),
            program: program(&command.program, &command.argv, index, command, environment)?,
            snapshot: None,
            sink: Sink::new(setup.output.of(index), metrics, null)?,
            prepare: script(Hook::Prepare, &setup.prepare)?,
            conclude: script(Hook::Conclude, &setup.conclude)?,
        })
    }
}

/// Variable with the index of the command: 0 for the first, as in the JSON.
const COMMAND_NAME: &str = "STEADY_COMMAND";
/// Variables that the launcher sets for runs, overriding the environment.
const OURS: [&str; 3] = [COMMAND_NAME, "STEADY_RUN", "STEADY_PADDING"];

/// Prepares a program for runs of `command`. Its variables override inherited ones, and `STEADY_COMMAND` is its index.
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
    // Duplicate names must be removed, because programs may use either value.
    let replaced = |name: &OsStr| OURS.iter().any(|ours| name == *ours) || own.iter().any(|(other, _)| *other == name);
    let inherited = environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let variables = inherited.filter(|(name, _)| !replaced(name)).chain(own.iter().copied());
    let made = Program::new(path, words.iter().map(AsRef::as_ref), variables, PADDING_MAX as usize)?;
    Ok(match &command.directory {
        Some(directory) => made.within(directory)?,
        None => made,
    })
}

/// The shell that runs scripts.
const SHELL: &str = "/bin/sh";

/// A prepared shell command of the user.
pub(super) struct Script {
    /// Index of the command.
    command: usize,
    hook: Hook,
    text: String,
    shell: Program,
}

impl Script {
    /// Prepares `text` to run in the directory of `command`, with its variables.
    pub(super) fn new(
        hook: Hook,
        text: &str,
        index: usize,
        command: &Command,
        environment: &[(std::ffi::OsString, std::ffi::OsString)],
    ) -> io::Result<Self> {
        let words = ["sh".to_owned(), "-c".to_owned(), text.to_owned()];
        let shell = program(Path::new(SHELL), &words, index, command, environment)?;
        Ok(Script { command: index, hook, text: text.to_owned(), shell })
    }

    /// Runs the script to its end, and kills processes that it leaves behind. `run` is the value of `STEADY_RUN`.
    pub(super) fn run(&mut self, run: &str, null: &File, sink: &Sink, control: &UnixStream) -> Result<(), Stop> {
        sink.take_printed();
        let started = sink.with(null, |streams| self.shell.spawn(run, 0, streams));
        let child = started.map_err(|error| lost(io::Error::other(format!("{SHELL}: {error}"))))?;
        wait_or_kill(&child, None, control.as_fd(), Some(sink), None, None)?;
        let reaped = process::wait_for(child.pid).map_err(lost)?;
        process::end_descendants().map_err(lost)?;
        match reaped.status {
            Status::Exited(0) => Ok(()),
            status => Err(Stop::Reply(Reply::ScriptFailed {
                command: self.command,
                hook: self.hook,
                script: self.text.clone(),
                outcome: outcome(status, true),
                printed: sink.take_printed().map(|printed| excerpt(&printed)),
            })),
        }
    }
}
