//! What happens meanwhile: time passes, the front asks for something, children stop, go on and end.

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
use crate::attended::protocol::{Order, Told, say};
use crate::attended::{Attendant, Next};
use crate::channel::timespec;

impl<A: Attendant> Guardian<A> {
    /// Has the attendant look, and asks all of the tree to end where it says so.
    pub(super) fn look(&mut self, now: Nanos) {
        if let Some(patience) = self.attendant.look(self.stops.at(now)) {
            self.kill_at = Some(now + patience);
            ask_to_end(self.attendant.group());
        }
    }

    /// Sleeps until there is something to do, and takes note of what has happened.
    pub(super) fn sleep(
        &mut self,
        now: Nanos,
        socket: &UnixStream,
        orders: &mut BufReader<&UnixStream>,
    ) -> io::Result<()> {
        let due = if self.signals.is_pending() { now } else { self.kill_at.unwrap_or_else(|| self.attendant.due()) };
        let asked = {
            let mut watched = [PollFd::new(socket, PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
            match poll(&mut watched, Some(&timespec(due - now))) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            !watched[0].revents().is_empty()
        };
        if asked {
            self.obey(orders)?;
        }
        // Passing a signal on may have taken note of more than that signal.
        if self.signals.children_changed()? { self.children(socket) } else { Ok(()) }
    }

    /// Does what the front asks for; an error where it is gone.
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

    /// Takes note of what has happened to children: the command, or orphans of its tree.
    fn children(&mut self, socket: &UnixStream) -> io::Result<()> {
        let now = clock::monotonic();
        let command = self.child.pid;
        let mut seen = false;
        loop {
            if !seen && self.ended.is_none() && self.has_ended()? {
                // Its statistics can be read until it is reaped.
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
                    say(socket, &Told::<A::Run>::Stopped(signal))?;
                }
                Ok(Next::Happened(Change::Continued(pid))) if pid == command => self.go_on(now, socket)?,
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

    fn go_on(&mut self, now: Nanos, socket: &UnixStream) -> io::Result<()> {
        self.stops.go_on(now);
        self.attendant.went_on(self.stops.at(now));
        say(socket, &Told::<A::Run>::Continued)?;
        // Whoever let the command go on by its number alone means the front too, which has stopped likewise.
        if let Some(front) = self.front {
            let _ = rustix::process::kill_process(front, Signal::CONT);
        }
        Ok(())
    }

    /// Whether the command has ended; it need not have been reaped.
    fn has_ended(&self) -> io::Result<bool> {
        let mut watched = [PollFd::new(&self.child.pidfd, PollFlags::IN)];
        Ok(poll(&mut watched, Some(&timespec(Nanos::ZERO)))? > 0)
    }
}
