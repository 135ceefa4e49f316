//! Probes on the machine itself: a process for each.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Stdio;

use steady_linux::clock;
use steady_model::{Absent, Nanos, Probe, Reading};
use steady_process::channel::{Channel, Woken};

use super::PROBER;
use super::runner::{Calibrated, CostsError, CostsRunner, Opened, Order, Repeat, Repeated, Reply, Setup};
use crate::record::Affinity;

/// The machine.
pub(crate) struct ProberRunner {
    epoch: Nanos,
    affinity: Affinity,
    /// Probers that are starting and were not opened yet.
    announced: Vec<(Probe, Result<Prober, CostsError>)>,
    probers: Vec<(Probe, Prober)>,
    interrupt: Option<OwnedFd>,
}

impl ProberRunner {
    /// Measures on these CPUs until `interrupt` becomes readable.
    pub(crate) fn new(affinity: Affinity, interrupt: Option<OwnedFd>) -> Self {
        ProberRunner { epoch: clock::monotonic(), affinity, announced: Vec::new(), probers: Vec::new(), interrupt }
    }

    fn setup(&self, probe: Probe) -> Setup {
        Setup { probe, affinity: self.affinity.clone(), epoch: self.epoch, only_calls: false }
    }

    fn patience(&self, until: Nanos) -> Nanos {
        until - self.now()
    }

    /// What the prober of an open probe answers to an order. A prober that fails is ended and removed.
    fn asked(&mut self, probe: Probe, order: Order, until: Nanos) -> Result<Reply, CostsError> {
        let patience = self.patience(until);
        let interrupt = self.interrupt.as_ref().map(AsFd::as_fd);
        let found = self.probers.iter_mut().find(|(of, _)| *of == probe);
        let (_, prober) = found
            .ok_or_else(|| CostsError::Lost { probe, reason: "there is no process that measures it".to_owned() })?;
        let answer = prober.ask(order).and_then(|()| prober.answer(interrupt, patience));
        if answer.is_err() {
            self.probers.retain(|(of, _)| *of != probe);
        }
        answer
    }
}

impl CostsRunner for ProberRunner {
    fn now(&self) -> Nanos {
        clock::monotonic() - self.epoch
    }

    fn announce(&mut self, probes: &[Probe]) {
        let possible = probes.iter().filter(|probe| !probe.needs_two_cpus() || self.affinity.other_cpu.is_ok());
        self.announced = possible.map(|probe| (*probe, Prober::start(&self.setup(*probe)))).collect();
    }

    fn open(&mut self, probe: Probe, until: Nanos) -> Result<Reading<Opened>, CostsError> {
        if let (true, Err(absent)) = (probe.needs_two_cpus(), &self.affinity.other_cpu) {
            return Ok(Err(absent.clone()));
        }
        let announced = self.announced.iter().position(|(of, _)| *of == probe);
        let started = announced.map(|place| self.announced.swap_remove(place).1);
        let mut prober = started.unwrap_or_else(|| Prober::start(&self.setup(probe)))?;
        match prober.answer(self.interrupt.as_ref().map(AsFd::as_fd), self.patience(until))? {
            Reply::Ready(opened) => {
                self.probers.push((probe, prober));
                Ok(Ok(opened))
            }
            Reply::Absent(reason) => Ok(Err(Absent(reason))),
            _ => Err(out_of_turn(probe)),
        }
    }

    fn calibrate(&mut self, probe: Probe, until: Nanos) -> Result<Calibrated, CostsError> {
        match self.asked(probe, Order::Calibrate, until)? {
            Reply::Calibrated(calibrated) => Ok(calibrated),
            _ => Err(out_of_turn(probe)),
        }
    }

    fn repeat(&mut self, probe: Probe, order: Repeat, until: Nanos) -> Result<Repeated, CostsError> {
        match self.asked(probe, Order::Repeat(order), until)? {
            Reply::Repeated(repeated) => Ok(repeated),
            _ => Err(out_of_turn(probe)),
        }
    }

    fn count_calls(&mut self, probe: Probe, until: Nanos) -> Reading<f64> {
        let setup = Setup { only_calls: true, ..self.setup(probe) };
        let interrupt = self.interrupt.as_ref().map(AsFd::as_fd);
        let patience = self.patience(until);
        let counted = Prober::start(&setup).and_then(|mut prober| prober.answer(interrupt, patience));
        match counted {
            Ok(Reply::Calls(calls)) => calls,
            Ok(_) => Err(Absent::because("the process that counts them spoke out of turn")),
            Err(CostsError::OutOfTime) => Err(Absent::because("the budget leaves no time to count them")),
            Err(error) => Err(Absent::because(format!("they were not counted: {error}"))),
        }
    }
}

impl Drop for ProberRunner {
    /// Hangs up on all of them before it waits for any.
    fn drop(&mut self) {
        self.probers.iter().for_each(|(_, prober)| prober.hang_up());
        self.announced.iter().flat_map(|(_, prober)| prober).for_each(Prober::hang_up);
    }
}

fn out_of_turn(probe: Probe) -> CostsError {
    CostsError::Lost { probe, reason: "the process that measures it spoke out of turn".to_owned() }
}

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

    /// Kills it: it is in the middle of a loop and does not listen.
    fn given_up(&mut self, why: CostsError) -> CostsError {
        self.channel.kill();
        why
    }

    /// The error of a prober that has hung up.
    fn lost(&mut self) -> CostsError {
        let how = self.channel.ended().unwrap_or_else(|| "hung up".to_owned());
        self.failed(format!("the process that measures it {how} before it was done"))
    }

    /// The error of a prober that says something unexpected, or that it cannot continue.
    pub(super) fn failed(&self, reason: String) -> CostsError {
        CostsError::Lost { probe: self.probe, reason }
    }

    /// Lets it end by itself, without waiting for that.
    pub(super) fn hang_up(&self) {
        self.channel.hang_up();
    }
}
