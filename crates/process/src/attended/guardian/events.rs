//! Events while the command runs: timers, requests of the front, and state changes of children.

use std::io::{self, BufRead, BufReader};
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::Signal;
use steady_linux::clock;
use steady_linux::process::Change;
use steady_model::Nanos;

use super::{Guardian, outcome};
use crate::attended::group::ask_to_end;
use crate::attended::protocol::{Message, Order, say};
use crate::attended::{Attendant, Next};
use crate::channel::timespec;

impl<A: Attendant> Guardian<A> {
    /// Calls the attendant, and sends SIGTERM to all of the tree if it says so.
    pub(super) fn look(&mut self, now: Nanos) {
        if let Some(grace) = self.attendant.check(self.stops.at(now)) {
            self.kill_at = Some(now + grace);
            ask_to_end(self.attendant.group());
        }
    }

    /// Sleeps until the next event or timer, and handles events.
    pub(super) fn sleep(
        &mut self,
        now: Nanos,
        socket: &UnixStream,
        orders: &mut BufReader<&UnixStream>,
    ) -> io::Result<()> {
        let is_buffered = !orders.buffer().is_empty();
        let is_now = is_buffered || self.signals.is_pending();
        let due = if is_now { now } else { self.kill_at.unwrap_or_else(|| self.attendant.due()) };
        let has_request = {
            let mut watched = [PollFd::new(socket, PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
            match poll(&mut watched, Some(&timespec(due - now))) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            is_buffered || !watched[0].revents().is_empty()
        };
        if has_request {
            self.obey(orders)?;
        }
        // Forwarding a signal may have read other signals too.
        if self.signals.children_changed()? { self.children(socket) } else { Ok(()) }
    }

    /// Handles requests of the front. Fails if the front has ended.
    fn obey(&mut self, orders: &mut BufReader<&UnixStream>) -> io::Result<()> {
        loop {
            let mut line = String::new();
            if orders.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let Order::Pass(signal) = serde_json::from_str(&line)?;
            if self.ended.is_none() {
                let is_stopped = self.stops.at(clock::monotonic()).is_stopped;
                self.signals.pass(signal, self.child.pid, is_stopped)?;
            }
            if orders.buffer().is_empty() {
                return Ok(());
            }
        }
    }

    /// Handles state changes of children: the command, or orphans of its tree.
    fn children(&mut self, socket: &UnixStream) -> io::Result<()> {
        let now = clock::monotonic();
        let command = self.child.pid;
        let mut seen = false;
        loop {
            if !seen && self.ended.is_none() && self.has_ended()? {
                // The statistics of the command can be read until it is reaped.
                self.attendant.ended(self.stops.at(now));
                seen = true;
            }
            match self.attendant.next() {
                Ok(Next::Happened(Change::Ended(reaped))) => {
                    self.attendant.reaped(&reaped);
                    if reaped.pid == command {
                        self.ended = Some((outcome(reaped.status), now));
                    }
                }
                Ok(Next::Happened(Change::Stopped(pid, signal))) if pid == command => {
                    self.stops.stop(now);
                    self.attendant.stopped(self.stops.at(now));
                    say(socket, &Message::<A::Run>::Stopped(signal))?;
                }
                Ok(Next::Happened(Change::Continued(pid))) if pid == command => self.continued(now, socket)?,
                Ok(Next::Happened(_)) => {}
                Ok(Next::More) => {
                    self.signals.look_again();
                    return Ok(());
                }
                Ok(Next::Nothing) => return Ok(()),
                Err(error) if error.raw_os_error() == Some(Errno::CHILD.raw_os_error()) => {
                    self.alone = true;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn continued(&mut self, now: Nanos, socket: &UnixStream) -> io::Result<()> {
        self.stops.go_on(now);
        self.attendant.continued(self.stops.at(now));
        say(socket, &Message::<A::Run>::Continued)?;
        // If only the command was sent SIGCONT, the front, which is stopped too, must continue as well.
        if let Some(front) = self.front {
            let _ = rustix::process::kill_process(front, Signal::CONT);
        }
        Ok(())
    }

    /// Whether the command has ended, reaped or not.
    fn has_ended(&self) -> io::Result<bool> {
        let mut watched = [PollFd::new(&self.child.pidfd, PollFlags::IN)];
        Ok(poll(&mut watched, Some(&timespec(Nanos::ZERO)))? > 0)
    }
}
