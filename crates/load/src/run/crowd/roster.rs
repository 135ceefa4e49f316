//! Who the workers are, what they have said, and who of them is gone.

use std::collections::HashMap;
use std::io;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::Pid;
use steady_linux::clock;
use steady_linux::process::{self, Reaped, Status};
use steady_model::{Nanos, Outcome};

use super::lines::Lines;
use super::{Stop, failed};
use crate::run::protocol::{Line, Ran, Reply, Said};
use steady_process::channel::timespec;

/// How often to look whether a worker has died, and how much longer to wait for each of them: a look goes through all.
const PATIENCE: Nanos = Nanos(200_000_000);
const PATIENCE_PER_WORKER: Nanos = Nanos(100_000);

/// The workers of a row.
pub(super) struct Roster {
    lines: Lines,
    /// The places of the workers that have not been reaped, by process.
    here: HashMap<Pid, u32>,
    ready: usize,
    done: Vec<bool>,
    /// What they did.
    pub(super) runs: Vec<Ran>,
    /// CPU time of those that have been reaped, their children's included.
    pub(super) used: Nanos,
    /// Of that, what they used before the start.
    pub(super) before: Nanos,
    /// Of that, what is not the work's.
    pub(super) own: Nanos,
    /// When the last run ended.
    pub(super) ended: Nanos,
}

impl Roster {
    pub(super) fn new(procs: u32, lines: Lines) -> Self {
        Roster {
            lines,
            here: HashMap::new(),
            ready: 0,
            done: vec![false; procs as usize],
            runs: Vec::new(),
            used: Nanos::ZERO,
            before: Nanos::ZERO,
            own: Nanos::ZERO,
            ended: Nanos::ZERO,
        }
    }

    pub(super) fn enter(&mut self, place: u32, pid: Pid) {
        self.here.insert(pid, place);
    }

    /// The processes, by place.
    pub(super) fn pids(&self) -> Vec<i32> {
        let mut workers: Vec<_> = self.here.iter().map(|(pid, place)| (*place, pid.as_raw_nonzero().get())).collect();
        workers.sort_unstable();
        workers.into_iter().map(|(_, pid)| pid).collect()
    }

    pub(super) fn all_ready(&self) -> bool {
        self.ready == self.done.len()
    }

    pub(super) fn all_done(&self) -> bool {
        self.done.iter().all(|done| *done)
    }

    /// Hears the workers until `met`.
    ///
    /// # Errors
    /// What a worker cannot go on from, a worker that is gone before it was done, and a hang-up of `control`.
    pub(super) fn wait(&mut self, control: &UnixStream, met: fn(&Roster) -> bool) -> Result<(), Stop> {
        let patience = Nanos(PATIENCE.0 + PATIENCE_PER_WORKER.0 * self.done.len() as u64);
        let mut looked = clock::monotonic();
        while !met(self) {
            // Hang-ups are reported unasked; orders that come early are left for later.
            let mut watched = vec![PollFd::new(control, PollFlags::empty())];
            if !self.lines.are_closed() {
                watched.push(PollFd::new(&self.lines, PollFlags::IN));
            }
            match poll(&mut watched, Some(&timespec(patience))) {
                Ok(_) if !watched[0].revents().is_empty() => return Err(Stop::Abandoned),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(failed(error.to_string())),
            }
            self.hear()?;
            if self.lines.are_closed() || clock::monotonic() - looked >= patience {
                self.reap()?;
                looked = clock::monotonic();
            }
        }
        Ok(())
    }

    /// Waits until all are gone that have nothing left to do.
    pub(super) fn see_off(&mut self) -> Result<(), Stop> {
        for pid in self.here.keys().copied().collect::<Vec<_>>() {
            let reaped = process::wait_for(pid).map_err(|error| failed(error.to_string()))?;
            self.strike(&reaped);
        }
        Ok(())
    }

    fn hear(&mut self) -> Result<(), Stop> {
        let Roster { lines, ready, done, runs, before, own, ended, .. } = self;
        lines.each(|line| {
            let Line { place, said } = serde_json::from_slice(line).map_err(|error| failed(error.to_string()))?;
            match said {
                Said::Ready => *ready += 1,
                Said::Ran(more) => runs.extend(more),
                Said::Done { before: used_before, own: used_itself, ended: at } => {
                    *before += used_before;
                    *own += used_itself;
                    *ended = (*ended).max(at);
                    if let Some(done) = done.get_mut(place as usize) {
                        *done = true;
                    }
                }
                Said::Refused(reason) => return Err(Stop::Say(Reply::Refused { started: *ready as u32, reason })),
                Said::CannotStart(reason) => return Err(Stop::Say(Reply::CannotStart(reason))),
                Said::CommandFailed(outcome) => return Err(Stop::Say(Reply::CommandFailed(outcome))),
            }
            Ok(())
        })
    }

    /// Reaps those that are gone; an error if one of them was not done.
    fn reap(&mut self) -> Result<(), Stop> {
        let mut gone = Vec::new();
        while let Some(reaped) = any_that_ended().map_err(|error| failed(error.to_string()))? {
            gone.extend(self.strike(&reaped).map(|place| (place, reaped.status)));
        }
        if gone.is_empty() {
            return Ok(());
        }
        // Whatever they said before they went is in the pipe by now.
        self.hear()?;
        let lost = |(place, _): &&(u32, Status)| !self.done.get(*place as usize).is_some_and(|done| *done);
        match gone.iter().find(lost) {
            Some((_, Status::Exited(status))) => Err(Stop::Say(Reply::WorkerLost(Outcome::Exited(*status)))),
            Some((_, Status::Signalled(signal))) => Err(Stop::Say(Reply::WorkerLost(Outcome::Signalled(*signal)))),
            None => Ok(()),
        }
    }

    /// Counts what a process that is gone has used; its place, if it was a worker. Others are what a worker that was
    /// killed had started.
    fn strike(&mut self, reaped: &Reaped) -> Option<u32> {
        self.used += reaped.usage.user + reaped.usage.system;
        self.here.remove(&reaped.pid)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        failed(error.to_string())
    }
}

/// The next child that has ended; `None` too where there is no child at all.
fn any_that_ended() -> io::Result<Option<Reaped>> {
    match process::wait_any() {
        Err(error) if error.raw_os_error() == Some(Errno::CHILD.raw_os_error()) => Ok(None),
        other => other,
    }
}
