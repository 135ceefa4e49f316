//! The client of a stage, in the process of `steady`: starts it and requests sessions.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::Stdio;

use crate::plan::Bench;
use crate::record::BenchSession;
use steady_linux::clock;
use steady_model::{CounterScope, Nanos, Reading};

use super::experiment::{BenchError, SessionLauncher, SessionOrder};
use super::protocol::{Order, Reply, Setup};
use super::{STAGE, session};
use steady_process::channel::{Channel, Woken};

/// A client that runs sessions on a stage. Dropping it ends the stage and all processes that the stage started.
pub struct StageLauncher {
    channel: Channel,
    interrupt: Option<OwnedFd>,
    begun: Nanos,
}

impl StageLauncher {
    /// Starts a stage in `folder`, an empty directory that the stage removes at its end. `interrupt` becomes readable
    /// when the user interrupts the bench.
    ///
    /// # Errors
    /// [`BenchError::Lost`].
    pub fn start(
        bench: &Bench,
        folder: PathBuf,
        scope: Option<CounterScope>,
        interrupt: Option<OwnedFd>,
    ) -> Result<Self, BenchError> {
        let channel = Channel::start(STAGE, Stdio::null()).map_err(|error| BenchError::Lost(error.to_string()))?;
        let mut launcher = StageLauncher { channel, interrupt, begun: clock::monotonic() };
        let programs = bench.programs.iter().map(|command| (command.program.clone(), command.argv.clone()));
        let setup = Setup {
            folder,
            programs: programs.collect(),
            pause: bench.plan.pause_seconds,
            cold: bench.plan.cold,
            sync: bench.plan.sync,
            timeout: bench.plan.timeout_seconds,
            scope,
        };
        launcher.say(&setup)?;
        match launcher.answer()? {
            Reply::Ready => Ok(launcher),
            _ => Err(BenchError::Lost("it sent an unexpected reply".to_owned())),
        }
    }

    /// Checks whether the page cache can be dropped here.
    ///
    /// # Errors
    /// The reason why not.
    pub fn can_drop_caches() -> Reading<()> {
        session::can_drop_caches()
    }

    fn say(&mut self, message: &impl serde::Serialize) -> Result<(), BenchError> {
        self.channel.say(message).map_err(|error| self.lost(&error))
    }

    fn answer(&mut self) -> Result<Reply, BenchError> {
        let interrupt = self.interrupt.as_ref().map(|fd| fd.as_fd());
        let woken = self.channel.wait(interrupt, None).map_err(|error| BenchError::Lost(error.to_string()))?;
        if woken == Woken::Interrupted {
            return Err(BenchError::Interrupted);
        }
        match self.channel.listen() {
            Ok(Reply::Failed(reason)) => Err(BenchError::Lost(reason)),
            Ok(reply) => Ok(reply),
            Err(error) => Err(self.lost(&error)),
        }
    }

    fn lost(&mut self, error: &io::Error) -> BenchError {
        BenchError::Lost(self.channel.ended().map_or_else(|| error.to_string(), |how| format!("it {how}")))
    }
}

impl SessionLauncher for StageLauncher {
    fn session(&mut self, order: SessionOrder) -> Result<Reading<(BenchSession, Option<String>)>, BenchError> {
        let SessionOrder { program, mode, count, padding, counted } = order;
        self.say(&Order { program, mode, count, padding, counted })?;
        match self.answer()? {
            Reply::Session(session, refusal) => Ok((*session).map(|session| (session, refusal))),
            _ => Err(BenchError::Lost("it sent an unexpected reply".to_owned())),
        }
    }

    fn now(&self) -> Nanos {
        clock::monotonic() - self.begun
    }
}
