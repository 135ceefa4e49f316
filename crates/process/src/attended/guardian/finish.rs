//! The end: nothing is left, and the last word is said.

use std::io;

use rustix::io::Errno;
use rustix::process::Signal;
use steady_linux::cgroup::OwnGroup;
use steady_linux::clock;
use steady_linux::process::{self, Change, Status};
use steady_model::{Nanos, Outcome};

use super::Guardian;
use crate::attended::{Attendant, End, Next};

impl<A: Attendant> Guardian<A> {
    /// Ends what is left, and has the attendant sum up, now that none of it can do anything any more.
    pub(super) fn finish(&mut self) -> io::Result<A::Run> {
        let by_itself = self.kill_at.is_none();
        let (outcome, at) = match self.ended {
            Some(ended) => ended,
            None => self.kill_command()?,
        };
        let killed = self.end()?;
        let left_behind = if by_itself { killed } else { 0 };
        self.attendant.finish(End { outcome, moment: self.stops.at(at), left_behind })
    }

    /// Kills and reaps all that is left; how many had to be killed.
    pub(super) fn end(&mut self) -> io::Result<u32> {
        // At once, before it can fork; then those that are not in the group, and where the kernel cannot do that.
        self.attendant.group().map(OwnGroup::kill);
        let mut killed = 0;
        loop {
            match self.attendant.next() {
                Ok(Next::Happened(Change::Ended(reaped))) => {
                    killed += u32::from(reaped.was_killed());
                    self.attendant.reaped(&reaped);
                }
                Ok(Next::Happened(_) | Next::More) => {}
                Ok(Next::Nothing) => process::kill_descendants(),
                Err(error) if error.raw_os_error() == Some(Errno::CHILD.raw_os_error()) => return Ok(killed),
                Err(error) => return Err(error),
            }
        }
    }

    /// Kills the command, with its whole control group if it has one, and waits for it alone: what is told is how it
    /// ended, and not how its last descendant did.
    fn kill_command(&mut self) -> io::Result<(Outcome, Nanos)> {
        self.attendant.group().map(OwnGroup::kill);
        // An error means that it has ended.
        let _ = rustix::process::kill_process(self.child.pid, Signal::KILL);
        loop {
            match self.attendant.next()? {
                Next::Happened(Change::Ended(reaped)) => {
                    self.attendant.reaped(&reaped);
                    if reaped.pid == self.child.pid {
                        return Ok((outcome(reaped.status), clock::monotonic()));
                    }
                }
                Next::Happened(_) | Next::More => {}
                Next::Nothing => self.signals.wait_for_children()?,
            }
        }
    }
}

/// How a process ended, as reports tell it.
pub(super) fn outcome(status: Status) -> Outcome {
    match status {
        Status::Exited(status) => Outcome::Exited(status),
        Status::Signalled(signal) => Outcome::Signalled(signal),
    }
}
