//! The user's own shell commands, run unmeasured beside the measured ones.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use steady_linux::process::{self, Program, Status, Stdio};
use steady_model::{Command, Hook};

use super::program::program;
use super::protocol::Reply;
use super::wait::{Stop, lost, outcome, wait_or_kill};

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
        (index, command): (usize, &Command),
        environment: &[(std::ffi::OsString, std::ffi::OsString)],
    ) -> io::Result<Self> {
        let words = ["sh".to_owned(), "-c".to_owned(), text.to_owned()];
        let shell = program(Path::new(SHELL), &words, (index, command), environment)?;
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
