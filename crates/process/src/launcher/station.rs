//! What the runs of one command need: its program, ready to start, and what runs around it.

use std::ffi::OsString;
use std::fs::File;
use std::io;

use steady_linux::process::Program;
use steady_model::{Command, Hook, PerCommand};

use super::program::program;
use super::protocol::Setup;
use super::script::Script;
use super::streams::Sink;

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
            scripts.of(index).map(|text| Script::new(hook, text, (index, command), environment)).transpose()
        };
        Ok(Station {
            command: command.clone(),
            program: program(&command.program, &command.argv, (index, command), environment)?,
            snapshot: None,
            sink: Sink::new(setup.output.of(index), null)?,
            prepare: script(Hook::Prepare, &setup.prepare)?,
            conclude: script(Hook::Conclude, &setup.conclude)?,
        })
    }
}
