//! Runs probes on the real machine, each in a process of its own.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Stdio;

use steady_linux::clock;
use steady_model::{Absent, Nanos, Probe, Reading};
use steady_process::channel::{Channel, Woken};

use super::PROBER;
use super::runner::{Calibrated, CostsError, CostsRunner, Opened, Order, Repeat, Repeated, Reply, Setup};
use crate::record::Affinity;

/// Measures probes in prober processes.
pub(crate) struct ProberRunner {
    epoch: Nanos,
    affinity: Affinity,
    /// Probers that were started in advance and are not open yet.
    announced: Vec<(Probe, Result<Prober, CostsError>)>,
    probers: Vec<(Probe, Prober)>,
    interrupt: Option<OwnedFd>,
}

impl ProberRunner {
    /// Creates a runner for these CPUs. It stops when `interrupt` becomes readable.
    pub(crate) fn new(affinity: Affinity, interrupt: Option<OwnedFd>) -> Self {
        ProberRunner { epoch: clock::monotonic(), affinity, announced: Vec::new(), probers: Vec::new(), interrupt }
    }

    fn setup(&self, probe: Probe) -> Setup {
        Setup { probe, affinity: self.affinity.clone(), epoch: self.epoch, only_calls: false }
    }

    fn time_left(&self, until: Nanos) -> Nanos {
        until - self.now()
    }

    /// Sends an order to the prober of an open probe and waits for the reply. A prober that fails is ended and removed.
    fn request(&mut self, probe: Probe, order: Order, until: Nanos) -> Result<Reply, CostsError> {
        let time_left = self.time_left(until);
        let interrupt = self.interrupt.as_ref().map(AsFd::as_fd);
        let found = self.probers.iter_mut().find(|(of, _)| *of == probe);
        let (_, prober) =
            found.ok_or_else(|| CostsError::Lost { probe, reason: "no process measures this probe".to_owned() })?;
        let answer = prober.order(order).and_then(|()| prober.answer(interrupt, time_left));
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
        match prober.answer(self.interrupt.as_ref().map(AsFd::as_fd), self.time_left(until))? {
            Reply::Ready(opened) => {
                self.probers.push((probe, prober));
                Ok(Ok(opened))
            }
            Reply::Absent(reason) => Ok(Err(Absent(reason))),
            _ => Err(out_of_turn(probe)),
        }
    }

    fn calibrate(&mut self, probe: Probe, until: Nanos) -> Result<Calibrated, CostsError> {
        match self.request(probe, Order::Calibrate, until)? {
            Reply::Calibrated(calibrated) => Ok(calibrated),
            _ => Err(out_of_turn(probe)),
        }
    }

    fn repeat(&mut self, probe: Probe, order: Repeat, until: Nanos) -> Result<Repeated, CostsError> {
        match self.request(probe, Order::Repeat(order), until)? {
            Reply::Repeated(repeated) => Ok(repeated),
            _ => Err(out_of_turn(probe)),
        }
    }

    fn count_calls(&mut self, probe: Probe, until: Nanos) -> Reading<f64> {
        let setup = Setup { only_calls: true, ..self.setup(probe) };
        let interrupt = self.interrupt.as_ref().map(AsFd::as_fd);
        let time_left = self.time_left(until);
        let counted = Prober::start(&setup).and_then(|mut prober| prober.answer(interrupt, time_left));
        match counted {
            Ok(Reply::Calls(calls)) => calls,
            Ok(_) => Err(Absent::because("the process that counts them sent an unexpected reply")),
            Err(CostsError::OutOfTime) => Err(Absent::because("the budget leaves no time to count them")),
            Err(error) => Err(Absent::because(format!("counting failed: {error}"))),
        }
    }
}

impl Drop for ProberRunner {
    /// Closes all connections before it waits for any prober, so that all of them end in parallel.
    fn drop(&mut self) {
        self.probers.iter().for_each(|(_, prober)| prober.hang_up());
        self.announced.iter().flat_map(|(_, prober)| prober).for_each(Prober::hang_up);
    }
}

fn out_of_turn(probe: Probe) -> CostsError {
    CostsError::Lost { probe, reason: "the process that measures it sent an unexpected reply".to_owned() }
}

/// The process that measures one probe. Dropping it ends the process and all its descendants.
pub(super) struct Prober {
    channel: Channel,
    probe: Probe,
}

impl Prober {
    /// Starts the process and sends the setup. The first reply says whether the probe is available.
    ///
    /// # Errors
    /// Returns [`CostsError::Lost`] if the process cannot be started.
    pub(super) fn start(setup: &Setup) -> Result<Self, CostsError> {
        let lost = |error: io::Error| CostsError::Lost {
            probe: setup.probe,
            reason: format!("the process that measures it cannot be started: {error}"),
        };
        let channel = Channel::start(PROBER, Stdio::null()).map_err(lost)?;
        let mut prober = Prober { channel, probe: setup.probe };
        prober.say(setup)?;
        Ok(prober)
    }

    /// Sends an order to the process.
    ///
    /// # Errors
    /// Returns [`CostsError::Lost`] if the process has ended.
    pub(super) fn order(&mut self, order: Order) -> Result<(), CostsError> {
        self.say(&order)
    }

    fn say(&mut self, message: &impl serde::Serialize) -> Result<(), CostsError> {
        match self.channel.say(message) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.lost()),
        }
    }

    /// Waits for the next reply. The process is killed if it takes longer than `time_left` or the user interrupts.
    ///
    /// # Errors
    /// See [`CostsError`].
    pub(super) fn answer(&mut self, interrupt: Option<BorrowedFd<'_>>, time_left: Nanos) -> Result<Reply, CostsError> {
        let woken = self.channel.wait(interrupt, Some(time_left)).map_err(|error| self.failed(error.to_string()))?;
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

    /// Kills the process, which does not read requests during a loop.
    fn given_up(&mut self, why: CostsError) -> CostsError {
        self.channel.kill();
        why
    }

    /// The error for a prober that closed the connection.
    fn lost(&mut self) -> CostsError {
        let how = self.channel.ended().unwrap_or_else(|| "closed its connection".to_owned());
        self.failed(format!("the process that measures it {how} before it finished"))
    }

    /// The error for a prober that failed or sent an unexpected reply.
    pub(super) fn failed(&self, reason: String) -> CostsError {
        CostsError::Lost { probe: self.probe, reason }
    }

    /// Closes the connection, after which the process ends by itself. Does not wait.
    pub(super) fn hang_up(&self) {
        self.channel.hang_up();
    }
}
