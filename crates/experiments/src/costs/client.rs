//! The side of `steady`: a prober process, and what it is asked.

use std::io;
use std::os::fd::BorrowedFd;
use std::process::Stdio;

use steady_model::{Nanos, Probe};

use super::PROBER;
use super::protocol::{Order, Reply, Setup};
use super::runner::CostsError;
use steady_process::channel::{Channel, Woken};

/// The process that measures one probe. Dropping it ends it, and everything that it started.
pub(super) struct Prober {
    channel: Channel,
    probe: Probe,
}

impl Prober {
    /// Starts it and tells it what to measure; its first answer says whether it can.
    ///
    /// # Errors
    /// [`CostsError::Lost`].
    pub(super) fn start(setup: &Setup) -> Result<Self, CostsError> {
        let lost = |error: io::Error| CostsError::Lost {
            probe: setup.probe,
            reason: format!("it cannot be started: {error}"),
        };
        let channel = Channel::start(PROBER, Stdio::null()).map_err(lost)?;
        let mut prober = Prober { channel, probe: setup.probe };
        prober.say(setup)?;
        Ok(prober)
    }

    /// Asks for something.
    ///
    /// # Errors
    /// [`CostsError::Lost`].
    pub(super) fn ask(&mut self, order: Order) -> Result<(), CostsError> {
        self.say(&order)
    }

    fn say(&mut self, message: &impl serde::Serialize) -> Result<(), CostsError> {
        match self.channel.say(message) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.lost()),
        }
    }

    /// Its next answer. One that takes longer than `patience`, or that nobody waits for any more, never comes: the process
    /// is ended.
    ///
    /// # Errors
    /// See [`CostsError`].
    pub(super) fn answer(&mut self, interrupt: Option<BorrowedFd<'_>>, patience: Nanos) -> Result<Reply, CostsError> {
        let woken = self.channel.wait(interrupt, Some(patience)).map_err(|error| self.failed(error.to_string()))?;
        match woken {
            Woken::Readable => {}
            Woken::Interrupted => return Err(self.given_up(CostsError::Interrupted)),
            Woken::TimedOut => return Err(self.given_up(CostsError::OutOfTime)),
        }
        match self.channel.listen() {
            Ok(Reply::Failed(reason)) => Err(self.failed(reason)),
            Ok(reply) => Ok(reply),
            Err(_) => Err(self.lost()),
        }
    }

    /// It is in the midst of something and does not listen.
    fn given_up(&mut self, why: CostsError) -> CostsError {
        self.channel.kill();
        why
    }

    /// It has hung up.
    fn lost(&mut self) -> CostsError {
        let how = self.channel.ended().unwrap_or_else(|| "hung up".to_owned());
        self.failed(format!("the process that measures it {how} before it was done"))
    }

    /// It spoke out of turn, or says that it cannot go on.
    pub(super) fn failed(&self, reason: String) -> CostsError {
        CostsError::Lost { probe: self.probe, reason }
    }

    /// Lets it end by itself, without waiting for that.
    pub(super) fn hang_up(&self) {
        self.channel.hang_up();
    }
}
