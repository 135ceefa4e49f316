//! The process group and process tree of a command. Finds out which signals went to the whole group, which processes
//! are in the tree, and how long job control has stopped the command.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal};
use steady_linux::cgroup::OwnGroup;
use steady_linux::signals::{self, BlockedSignals};
use steady_linux::{Root, procfs};
use steady_model::Nanos;

use crate::channel::timespec;

/// Time to wait for a signal to the whole group. One system call of the sender signals all of the group, which is much
/// shorter.
const SIGNAL_WAIT: Duration = Duration::from_millis(5);

/// Signals that the guardian receives. The guardian is in the command's process group and is not signalled alone. A
/// signal that it receives has therefore reached the command too, and must not be forwarded again.
pub(super) struct GroupSignals {
    held: BlockedSignals,
    arrived: Vec<i32>,
    children: bool,
}

impl GroupSignals {
    pub(super) fn of(passed: &[i32]) -> io::Result<Self> {
        Ok(GroupSignals { held: BlockedSignals::new(passed)?, arrived: Vec::new(), children: true })
    }

    /// Forgets the signals that have arrived: they did not reach a command that begins only now.
    pub(super) fn forget(&mut self) -> io::Result<()> {
        self.receive()?;
        self.arrived.clear();
        Ok(())
    }

    /// Reads the signals that have arrived. Returns whether a child changed its state since the last call.
    pub(super) fn children_changed(&mut self) -> io::Result<bool> {
        self.receive()?;
        Ok(std::mem::take(&mut self.children))
    }

    /// Whether the state of children must be checked without waiting.
    pub(super) fn is_pending(&self) -> bool {
        self.children
    }

    /// Requests another check of children, after other events.
    pub(super) fn look_again(&mut self) {
        self.children = true;
    }

    /// Waits for `limit` until a child changes its state. Returns whether one did. Other signals end the wait too.
    pub(super) fn wait_for_children(&mut self, limit: Duration) -> io::Result<bool> {
        if self.children_changed()? {
            return Ok(true);
        }
        self.wait_for_signal(limit);
        self.children_changed()
    }

    /// Waits for a signal, for an interruption, or for `limit`.
    fn wait_for_signal(&self, limit: Duration) {
        let limit = timespec(Nanos(limit.as_nanos() as u64));
        let _ = poll(&mut [PollFd::new(&self.held, PollFlags::IN)], Some(&limit));
    }

    /// Forwards a signal that the front received, unless the command received it too. SIGCONT is forwarded whenever the
    /// command is stopped, because a duplicate is harmless and a missing one would leave it stopped.
    pub(super) fn pass(&mut self, signal: i32, command: Pid, stopped: bool) -> io::Result<()> {
        if signals::is_to_go_on(signal) {
            if stopped {
                let _ = signals::send(command.as_raw_nonzero().get(), signal);
            }
            return Ok(());
        }
        let together = rustix::process::getpgid(Some(command)).is_ok_and(|group| group == rustix::process::getpgrp());
        if together && self.has_arrived(signal)? {
            return Ok(());
        }
        // An error means that the command has ended.
        let _ = signals::send(command.as_raw_nonzero().get(), signal);
        Ok(())
    }

    fn has_arrived(&mut self, signal: i32) -> io::Result<bool> {
        self.receive()?;
        if !self.arrived.contains(&signal) {
            self.wait_for_signal(SIGNAL_WAIT);
            self.receive()?;
        }
        let place = self.arrived.iter().position(|other| *other == signal);
        Ok(place.map(|place| self.arrived.swap_remove(place)).is_some())
    }

    fn receive(&mut self) -> io::Result<()> {
        while let Some(signal) = self.held.next()? {
            if signals::is_of_children(signal) {
                self.children = true;
            } else if !self.arrived.contains(&signal) {
                self.arrived.push(signal);
            }
        }
        Ok(())
    }
}

impl AsFd for GroupSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.held.as_fd()
    }
}

/// Lists all descendants of this process, parents before their children, and then all other processes of the control
/// group, if there is one.
pub fn members(group: Option<&OwnGroup>) -> Vec<i32> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let descendants = procfs::descendants(&Root::default(), own).unwrap_or_default();
    without_duplicates(descendants, group.map(OwnGroup::processes).unwrap_or_default())
}

/// Appends those of `more` that are not in `first`. The order, which [`tree::cpu_time`](steady_linux::tree::cpu_time)
/// depends on, stays: process ids start again at low numbers, so a child may have a lower one than its parent.
fn without_duplicates(first: Vec<i32>, more: Vec<i32>) -> Vec<i32> {
    let mut seen = HashSet::new();
    first.into_iter().chain(more).filter(|pid| seen.insert(*pid)).collect()
}

/// Sends SIGTERM to all of the tree, and SIGCONT so that stopped processes can handle it.
pub(super) fn ask_to_end(group: Option<&OwnGroup>) {
    for pid in members(group).into_iter().filter_map(Pid::from_raw) {
        // An error means that the process has already ended.
        let _ = rustix::process::kill_process(pid, Signal::TERM);
        let _ = rustix::process::kill_process(pid, Signal::CONT);
    }
}

/// A moment while the command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The time, on the monotonic clock.
    pub now: Nanos,
    /// Total time in which the command was stopped so far.
    pub stopped: Nanos,
    /// Whether the command is stopped now.
    pub is_stopped: bool,
}

/// Adds up the stops of a command.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stops {
    stopped: Nanos,
    /// Start of the present stop.
    since: Option<Nanos>,
}

impl Stops {
    /// Starts a stop, unless the command is already stopped.
    pub fn stop(&mut self, now: Nanos) {
        self.since = self.since.or(Some(now));
    }

    /// Ends the present stop.
    pub fn go_on(&mut self, now: Nanos) {
        self.stopped = self.at(now).stopped;
        self.since = None;
    }

    /// Returns the stops up to a moment.
    pub fn at(&self, now: Nanos) -> Moment {
        let stopped = self.stopped + self.since.map_or(Nanos::ZERO, |since| now - since);
        Moment { now, stopped, is_stopped: self.since.is_some() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_stay_before_their_children() {
        assert_eq!(without_duplicates(vec![9_000, 300, 301], vec![301, 17, 9_000, 17]), [9_000, 300, 301, 17]);
    }

    #[test]
    fn stops_add_up_without_nesting() {
        let mut stops = Stops::default();
        stops.stop(Nanos(10));
        stops.stop(Nanos(20));
        assert_eq!(stops.at(Nanos(50)), Moment { now: Nanos(50), stopped: Nanos(40), is_stopped: true });
        stops.go_on(Nanos(60));
        stops.go_on(Nanos(70));
        assert_eq!(stops.at(Nanos(99)), Moment { now: Nanos(99), stopped: Nanos(50), is_stopped: false });
        stops.stop(Nanos(100));
        assert_eq!(stops.at(Nanos(105)).stopped, Nanos(55));
    }
}
