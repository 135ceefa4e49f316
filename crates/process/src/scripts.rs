//! Runs shell commands of the user outside the runs of an experiment, such as a build before the first run.

use std::os::fd::{AsFd, OwnedFd};

use steady_linux::clock;
use steady_model::{Absent, Command, Hook, MetricInput, Nanos, Outcome, Output, PerCommand};

use crate::launcher::{Launcher, Request, Setup};
use crate::runner::RunError;

/// Runs shell commands in a separate launcher. No process that they start outlives them or `steady`.
pub struct Scripts {
    launcher: Launcher,
    interrupt: OwnedFd,
}

impl Scripts {
    /// Starts the launcher. Scripts run in the directories of `commands`, with their variables. Their output goes to
    /// standard error if `shown`; otherwise, its end is kept for the error of a failed script. They end when `interrupt` becomes readable.
    ///
    /// # Errors
    /// Returns [`RunError::LauncherLost`] if the launcher cannot be set up.
    pub fn start(commands: Vec<Command>, shown: bool, interrupt: OwnedFd) -> Result<Self, RunError> {
        let output = if shown { PerCommand(vec![Output::Stderr]) } else { PerCommand::NONE };
        let setup = Setup {
            folder: None,
            commands,
            prepare: PerCommand::NONE,
            conclude: PerCommand::NONE,
            input: None,
            output,
            metrics: vec![],
            metric_input: MetricInput::Stdout,
            energy: false,
            run_limit: None,
            cpus: None,
            pinned: None,
            epoch: clock::monotonic(),
            log: None,
            counters: Some(Err(Absent::because("scripts are not counted"))),
        };
        Ok(Scripts { launcher: Launcher::start(&setup, Some(interrupt.as_fd()))?, interrupt })
    }

    /// Runs `script` for a command and waits for its end.
    ///
    /// # Errors
    /// Returns [`RunError::ScriptFailed`] if its status is not 0, or [`RunError::Interrupted`]. Do not run other
    /// scripts after an error.
    pub fn run(&mut self, command: usize, script: String) -> Result<(), RunError> {
        self.launcher.ask(&Request::Script { hook: Hook::Setup, command, script })?;
        self.launcher.script_done(Some(self.interrupt.as_fd()))
    }

    /// Runs `script` as [`Scripts::run`] does, for at most the time `limit`.
    ///
    /// # Errors
    /// The same as for [`Scripts::run`]. A script that exceeds the limit fails with [`Outcome::TimedOut`], and is ended
    /// when `self` is dropped.
    pub fn run_within(&mut self, limit: Nanos, command: usize, script: String) -> Result<(), RunError> {
        let hook = Hook::Setup;
        self.launcher.ask(&Request::Script { hook, command, script: script.clone() })?;
        match self.launcher.script_done_within(limit, self.interrupt.as_fd())? {
            true => Ok(()),
            false => Err(RunError::ScriptFailed { command, hook, script, outcome: Outcome::TimedOut, printed: None }),
        }
    }
}
