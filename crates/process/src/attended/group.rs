//! A command's process group and process tree: signals to the whole group, told from those to one process of it, who is in the
//! tree, and how long the group is stopped by job control.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};
use steady_linux::cgroup::OwnGroup;
use steady_linux::signals::{self, Held};
use steady_linux::{Root, procfs};
use steady_model::Nanos;

/// A signal to a group reaches all of it within one system call of the sender's; this is long beside that.
const PATIENCE: Duration = Duration::from_millis(5);

/// The signals that reach this process. It is in the command's process group, and nobody has a reason to signal it alone:
/// what reaches it has reached the command too, and is not to be passed on a second time.
pub(super) struct GroupSignals {
    held: Held,
    arrived: Vec<i32>,
    children: bool,
}

impl GroupSignals {
    pub(super) fn of(passed: &[i32]) -> io::Result<Self> {
        Ok(GroupSignals { held: Held::of(passed)?, arrived: Vec::new(), children: true })
    }

    /// Takes what has arrived; whether something happened to a child since it was asked last.
    pub(super) fn children_changed(&mut self) -> io::Result<bool> {
        self.take()?;
        Ok(std::mem::take(&mut self.children))
    }

    /// Whether children are to be looked at without waiting.
    pub(super) fn is_pending(&self) -> bool {
        self.children
    }

    /// Has children be looked at again, once others had their turn.
    pub(super) fn look_again(&mut self) {
        self.children = true;
    }

    /// Waits until something happens to a child.
    pub(super) fn wait_for_children(&mut self) -> io::Result<()> {
        while !self.children_changed()? {
            // A signal ends the waiting; so does an interruption, and then it is asked again.
            let _ = poll(&mut [PollFd::new(&self.held, PollFlags::IN)], None);
        }
        Ok(())
    }

    /// Sends the command a signal that the front was sent, unless the command was sent it too. One that lets a stopped
    /// command go on does no harm twice, and would leave it stopped if it were missed.
    pub(super) fn pass(&mut self, signal: i32, command: Pid, stopped: bool) -> io::Result<()> {
        if signals::is_to_go_on(signal) {
            if stopped {
                let _ = signals::send(command.as_raw_nonzero().get(), signal);
            }
            return Ok(());
        }
        let together = rustix::process::getpgid(Some(command)).is_ok_and(|group| group == rustix::process::getpgrp());
        if together && self.arrived(signal)? {
            return Ok(());
        }
        // An error means that it has ended.
        let _ = signals::send(command.as_raw_nonzero().get(), signal);
        Ok(())
    }

    fn arrived(&mut self, signal: i32) -> io::Result<bool> {
        self.take()?;
        if !self.arrived.contains(&signal) {
            let patience = Timespec { tv_sec: 0, tv_nsec: PATIENCE.as_nanos() as i64 };
            // A signal ends the waiting; so does time.
            let _ = poll(&mut [PollFd::new(&self.held, PollFlags::IN)], Some(&patience));
            self.take()?;
        }
        let place = self.arrived.iter().position(|other| *other == signal);
        Ok(place.map(|place| self.arrived.swap_remove(place)).is_some())
    }

    fn take(&mut self) -> io::Result<()> {
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

/// All that descends from this process, and what is in the control group, if there is one.
pub fn members(group: Option<&OwnGroup>) -> Vec<i32> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let mut found = procfs::descendants(&Root::default(), own).unwrap_or_default();
    found.extend(group.map(OwnGroup::processes).unwrap_or_default());
    found.sort_unstable();
    found.dedup();
    found
}

/// Asks all of it to end. What is stopped goes on, for it could not hear that otherwise.
pub(super) fn ask_to_end(group: Option<&OwnGroup>) {
    for pid in members(group).into_iter().filter_map(Pid::from_raw) {
        // An error means that it has ended already.
        let _ = rustix::process::kill_process(pid, Signal::TERM);
        let _ = rustix::process::kill_process(pid, Signal::CONT);
    }
}

/// A moment of the command's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// On the monotonic clock.
    pub now: Nanos,
    /// For how long it has been stopped until now.
    pub stopped: Nanos,
    /// Whether it is stopped now.
    pub is_stopped: bool,
}

/// The stops of a command so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stops {
    stopped: Nanos,
    /// Since when it is stopped.
    since: Option<Nanos>,
}

impl Stops {
    /// It was stopped now, unless it was before.
    pub fn stop(&mut self, now: Nanos) {
        self.since = self.since.or(Some(now));
    }

    /// It goes on now.
    pub fn go_on(&mut self, now: Nanos) {
        self.stopped = self.at(now).stopped;
        self.since = None;
    }

    /// What there is to say of them at a moment.
    pub fn at(&self, now: Nanos) -> Moment {
        let stopped = self.stopped + self.since.map_or(Nanos::ZERO, |since| now - since);
        Moment { now, stopped, is_stopped: self.since.is_some() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_add_up_and_do_not_nest() {
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
