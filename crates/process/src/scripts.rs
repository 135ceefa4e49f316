//! Shell commands that are no part of an experiment's runs: what has to be done before there is anything to run.

use std::os::fd::{AsFd, OwnedFd};

use steady_linux::clock;
use steady_model::{Absent, Command, Hook, Output, PerCommand};

use crate::launcher::{Launcher, Request, Setup};
use crate::runner::RunError;

/// Runs shell commands in a launcher of their own: nothing that they started outlives them, nor `steady`.
pub struct Scripts {
    launcher: Launcher,
    interrupt: OwnedFd,
}

impl Scripts {
    /// Starts the launcher. Scripts run in the directories of `commands`, with their variables; their output goes to
    /// standard error if `shown`, else nowhere. They end when `interrupt` becomes readable.
    ///
    /// # Errors
    /// [`RunError::LauncherLost`].
    pub fn start(commands: Vec<Command>, shown: bool, interrupt: OwnedFd) -> Result<Self, RunError> {
        let output = if shown { PerCommand(vec![Output::Stderr]) } else { PerCommand::NONE };
        let setup = Setup {
            folder: None,
            commands,
            prepare: PerCommand::NONE,
            conclude: PerCommand::NONE,
            input: None,
            output,
            run_limit: None,
            cpus: None,
            pinned: None,
            epoch: clock::monotonic(),
            log: None,
            counters: Some(Err(Absent::because("scripts are not counted"))),
        };
        Ok(Scripts { launcher: Launcher::start(&setup)?, interrupt })
    }

    /// Runs `script` for a command, to its end.
    ///
    /// # Errors
    /// [`RunError::ScriptFailed`] if its status is not 0, [`RunError::Interrupted`]; no other may follow these.
    pub fn run(&mut self, command: usize, script: String) -> Result<(), RunError> {
        self.launcher.ask(&Request::Script { hook: Hook::Setup, command, script })?;
        self.launcher.script_done(Some(self.interrupt.as_fd()))
    }
}
