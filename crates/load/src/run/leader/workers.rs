//! The workers of a row: their messages, and which of them have ended.

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
use crate::run::protocol::{Line, Message, Reply, TimedRun};
use steady_process::channel::timespec;

/// Interval between checks for workers that have died, with an addition for each worker because a check covers all of
/// them.
const CHECK_INTERVAL: Nanos = Nanos(200_000_000);
const CHECK_INTERVAL_PER_WORKER: Nanos = Nanos(100_000);

/// The workers of a row, by process.
pub(super) struct Workers {
    lines: Lines,
    /// The numbers of the workers that have not been reaped, by process.
    running: HashMap<Pid, u32>,
    ready: usize,
    done: Vec<bool>,
    pub(super) runs: Vec<TimedRun>,
    /// CPU time of the reaped workers and of their children.
    pub(super) used: Nanos,
    /// The part of it that they used before the start.
    pub(super) before: Nanos,
    /// The part of it since the start that is not of the work.
    pub(super) own: Nanos,
    /// When the last run ended.
    pub(super) ended: Nanos,
}

impl Workers {
    pub(super) fn new(procs: u32, lines: Lines) -> Self {
        Workers {
            lines,
            running: HashMap::new(),
            ready: 0,
            done: vec![false; procs as usize],
            runs: Vec::new(),
            used: Nanos::ZERO,
            before: Nanos::ZERO,
            own: Nanos::ZERO,
            ended: Nanos::ZERO,
        }
    }

    pub(super) fn add(&mut self, place: u32, pid: Pid) {
        self.running.insert(pid, place);
    }

    /// Returns the process IDs, by the numbers of the workers.
    pub(super) fn pids(&self) -> Vec<i32> {
        let mut workers: Vec<_> =
            self.running.iter().map(|(pid, place)| (*place, pid.as_raw_nonzero().get())).collect();
        workers.sort_unstable();
        workers.into_iter().map(|(_, pid)| pid).collect()
    }

    pub(super) fn all_ready(&self) -> bool {
        self.ready == self.done.len()
    }

    pub(super) fn all_done(&self) -> bool {
        self.done.iter().all(|done| *done)
    }

    /// Reads messages of the workers until `met` returns true.
    ///
    /// # Errors
    /// A worker reported an error, a worker ended before it was done, or `steady` closed `control`.
    pub(super) fn wait(&mut self, control: &UnixStream, met: fn(&Workers) -> bool) -> Result<(), Stop> {
        let interval = Nanos(CHECK_INTERVAL.0 + CHECK_INTERVAL_PER_WORKER.0 * self.done.len() as u64);
        let mut checked = clock::monotonic();
        while !met(self) {
            // poll(2) always reports a hang-up. Early messages are left for later.
            let mut watched = vec![PollFd::new(control, PollFlags::empty())];
            if !self.lines.are_closed() {
                watched.push(PollFd::new(&self.lines, PollFlags::IN));
            }
            match poll(&mut watched, Some(&timespec(interval))) {
                Ok(_) if !watched[0].revents().is_empty() => return Err(Stop::Abandoned),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(failed(error.to_string())),
            }
            self.read_messages()?;
            if self.lines.are_closed() || clock::monotonic() - checked >= interval {
                self.reap()?;
                checked = clock::monotonic();
            }
        }
        Ok(())
    }

    /// Waits for the end of all workers, which have done their work.
    pub(super) fn reap_all(&mut self) -> Result<(), Stop> {
        for pid in self.running.keys().copied().collect::<Vec<_>>() {
            let reaped = process::wait_for(pid).map_err(|error| failed(error.to_string()))?;
            self.record_reaped(&reaped);
        }
        Ok(())
    }

    fn read_messages(&mut self) -> Result<(), Stop> {
        let Workers { lines, ready, done, runs, before, own, ended, .. } = self;
        lines.each(|line| {
            let Line { place, said } = serde_json::from_slice(line).map_err(|error| failed(error.to_string()))?;
            match said {
                Message::Ready => *ready += 1,
                Message::Ran(more) => runs.extend(more),
                Message::Done { before: used_before, own: used_itself, ended: at } => {
                    *before += used_before;
                    *own += used_itself;
                    *ended = (*ended).max(at);
                    if let Some(done) = done.get_mut(place as usize) {
                        *done = true;
                    }
                }
                Message::Refused(reason) => return Err(Stop::Say(Reply::Refused { started: *ready as u32, reason })),
                Message::CannotStart(reason) => return Err(Stop::Say(Reply::CannotStart(reason))),
                Message::CommandFailed(outcome) => return Err(Stop::Say(Reply::CommandFailed(outcome))),
            }
            Ok(())
        })
    }

    /// Reaps the workers that have ended. Returns an error if one of them was not done.
    fn reap(&mut self) -> Result<(), Stop> {
        let mut ended_workers = Vec::new();
        while let Some(reaped) = any_that_ended().map_err(|error| failed(error.to_string()))? {
            ended_workers.extend(self.record_reaped(&reaped).map(|place| (place, reaped.status)));
        }
        if ended_workers.is_empty() {
            return Ok(());
        }
        // Their last messages are in the pipe now.
        self.read_messages()?;
        let lost = |(place, _): &&(u32, Status)| !self.done.get(*place as usize).is_some_and(|done| *done);
        match ended_workers.iter().find(lost) {
            Some((_, Status::Exited(status))) => Err(Stop::Say(Reply::WorkerLost(Outcome::Exited(*status)))),
            Some((_, Status::Signalled(signal))) => Err(Stop::Say(Reply::WorkerLost(Outcome::Signalled(*signal)))),
            None => Ok(()),
        }
    }

    /// Adds the CPU time of a reaped process. Returns its number if it was a worker; other processes are descendants of
    /// a killed worker.
    fn record_reaped(&mut self, reaped: &Reaped) -> Option<u32> {
        self.used += reaped.usage.user + reaped.usage.system;
        self.running.remove(&reaped.pid)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        failed(error.to_string())
    }
}

/// Returns the next child that has ended; `None` also if there is no child.
fn any_that_ended() -> io::Result<Option<Reaped>> {
    match process::wait_any() {
        Err(error) if error.raw_os_error() == Some(Errno::CHILD.raw_os_error()) => Ok(None),
        other => other,
    }
}
