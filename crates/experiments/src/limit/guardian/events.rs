//! What happens meanwhile: time passes, the front asks for something, children stop, go on and end.

use std::io::{self, BufRead, BufReader};
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use steady_linux::clock;
use steady_linux::process::{self, Change};
use steady_model::Nanos;

use super::Guardian;
use super::finish::outcome;
use super::limits::LOOK_AT_WAITING;
use crate::limit::protocol::{Order, Told, say};

impl Guardian<'_> {
    /// Sleeps until there is something to do, and takes note of what has happened.
    pub(super) fn sleep(
        &mut self,
        now: Nanos,
        socket: &UnixStream,
        orders: &mut BufReader<&UnixStream>,
    ) -> io::Result<()> {
        let due = match self.judged {
            Some((_, kill_at)) => kill_at,
            None => self.look_at.min(self.waiting_due),
        };
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
                self.signals.pass(signal, self.started.child.pid, self.course.is_stopped())?;
            }
            if orders.buffer().is_empty() {
                return Ok(());
            }
        }
    }

    /// Takes note of what has happened to children: the command, or orphans of its tree.
    fn children(&mut self, socket: &UnixStream) -> io::Result<()> {
        let now = clock::monotonic();
        if self.ended.is_none() && self.has_ended()? {
            // Its statistics can be read until it is reaped.
            self.look_at_waiting(now);
        }
        let command = self.started.child.pid;
        loop {
            match process::next_change() {
                Ok(Some(Change::Ended(reaped))) => {
                    self.started.meter.reaped(reaped.usage.user + reaped.usage.system);
                    if reaped.pid == command {
                        self.ended = Some((outcome(reaped.status), now));
                    }
                }
                Ok(Some(Change::Stopped(pid, signal))) if pid == command => {
                    self.course.stop(now);
                    say(socket, &Told::Stopped(signal))?;
                }
                Ok(Some(Change::Continued(pid))) if pid == command => self.go_on(now, socket)?,
                Ok(Some(Change::Stopped(..) | Change::Continued(_))) => {}
                Ok(None) => return Ok(()),
                Err(error) if error.raw_os_error() == Some(Errno::CHILD.raw_os_error()) => {
                    self.alone = true;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn go_on(&mut self, now: Nanos, socket: &UnixStream) -> io::Result<()> {
        self.course.go_on(now);
        // What was planned while time stood still is out of date.
        self.look_at = now;
        say(socket, &Told::Continued)?;
        // Whoever let the command go on by its number alone means the front too, which has stopped likewise.
        if let Some(front) = rustix::process::getppid() {
            let _ = rustix::process::kill_process(front, Signal::CONT);
        }
        Ok(())
    }

    /// Whether the command has ended; it need not have been reaped.
    pub(super) fn has_ended(&self) -> io::Result<bool> {
        let mut watched = [PollFd::new(&self.started.child.pidfd, PollFlags::IN)];
        Ok(poll(&mut watched, Some(&timespec(Nanos::ZERO)))? > 0)
    }

    /// The command's process.
    pub(super) fn command(&self) -> Pid {
        self.started.child.pid
    }

    /// While the command is stopped there is no hurry: its time stands still.
    pub(super) fn no_hurry(&self, look_at: Nanos, now: Nanos) -> Nanos {
        if self.course.is_stopped() { look_at.max(now + LOOK_AT_WAITING) } else { look_at }
    }
}

fn timespec(time: Nanos) -> Timespec {
    Timespec { tv_sec: (time.0 / 1_000_000_000) as i64, tv_nsec: (time.0 % 1_000_000_000) as i64 }
}
