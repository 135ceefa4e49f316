//! The side of `steady`: a stage, and what it is asked.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::Stdio;

use steady_linux::clock;
use steady_model::{CounterScope, Nanos, Reading, WarmBenchPlan, WarmSession};

use super::STAGE;
use super::protocol::{Order, Reply, Setup};
use super::runner::{SessionOrder, WarmBenchError, WarmLauncher};
use super::session;
use steady_process::channel::{Channel, Woken};

/// Sessions on a stage. Dropping it ends it, and everything that it started.
pub struct StageLauncher {
    channel: Channel,
    interrupt: Option<OwnedFd>,
    begun: Nanos,
}

impl StageLauncher {
    /// Starts a stage in `folder`, which is empty, its own, and removed by it. `interrupt` becomes readable where the user
    /// asks to stop.
    ///
    /// # Errors
    /// [`WarmBenchError::Lost`].
    pub fn start(
        plan: &WarmBenchPlan,
        folder: PathBuf,
        scope: Option<CounterScope>,
        interrupt: Option<OwnedFd>,
    ) -> Result<Self, WarmBenchError> {
        let channel = Channel::start(STAGE, Stdio::null()).map_err(|error| WarmBenchError::Lost(error.to_string()))?;
        let mut launcher = StageLauncher { channel, interrupt, begun: clock::monotonic() };
        let programs = plan.programs.iter().map(|command| (command.program.clone(), command.argv.clone()));
        let setup = Setup {
            folder,
            programs: programs.collect(),
            pause: plan.pause,
            cold: plan.cold,
            timeout: plan.timeout,
            scope,
        };
        launcher.say(&setup)?;
        match launcher.answer()? {
            Reply::Ready => Ok(launcher),
            _ => Err(WarmBenchError::Lost("it speaks out of turn".to_owned())),
        }
    }

    /// Whether the page cache can be dropped here, or why not.
    ///
    /// # Errors
    /// Why not.
    pub fn can_drop_caches() -> Reading<()> {
        session::can_drop_caches()
    }

    fn say(&mut self, message: &impl serde::Serialize) -> Result<(), WarmBenchError> {
        self.channel.say(message).map_err(|error| self.lost(&error))
    }

    fn answer(&mut self) -> Result<Reply, WarmBenchError> {
        let interrupt = self.interrupt.as_ref().map(|fd| fd.as_fd());
        let woken = self.channel.wait(interrupt, None).map_err(|error| WarmBenchError::Lost(error.to_string()))?;
        if woken == Woken::Interrupted {
            return Err(WarmBenchError::Interrupted);
        }
        match self.channel.listen() {
            Ok(Reply::Failed(reason)) => Err(WarmBenchError::Lost(reason)),
            Ok(reply) => Ok(reply),
            Err(error) => Err(self.lost(&error)),
        }
    }

    fn lost(&mut self, error: &io::Error) -> WarmBenchError {
        WarmBenchError::Lost(self.channel.ended().map_or_else(|| error.to_string(), |how| format!("it {how}")))
    }
}

impl WarmLauncher for StageLauncher {
    fn session(&mut self, order: SessionOrder) -> Result<Reading<(WarmSession, Option<String>)>, WarmBenchError> {
        let SessionOrder { program, mode, count, padding, counted } = order;
        self.say(&Order { program, mode, count, padding, counted })?;
        match self.answer()? {
            Reply::Session(session, refusal) => Ok(session.map(|session| (session, refusal))),
            _ => Err(WarmBenchError::Lost("it speaks out of turn".to_owned())),
        }
    }

    fn now(&self) -> Nanos {
        clock::monotonic() - self.begun
    }
}
