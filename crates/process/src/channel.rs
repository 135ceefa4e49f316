//! Helper processes: this program with a hidden first argument. A helper exchanges JSON lines over a socket, which is
//! its standard input. When the socket closes, it ends with all its descendants.

use std::io::{self, BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use serde::de::DeserializeOwned;
use steady_model::Nanos;

/// Path of the running program, valid even after its file was replaced or removed.
pub const OWN_PROGRAM: &str = "/proc/self/exe";

/// Time limit for a helper to end its descendants. A process in an uninterruptible system call cannot be killed.
const END_LIMIT: Duration = Duration::from_secs(5);
/// Interval between checks whether a helper has ended.
const END_STEP: Duration = Duration::from_millis(1);
/// Time limit for a helper to end after it closed its socket.
const EXIT_LIMIT: Duration = Duration::from_millis(100);

/// A helper process and the socket to it. Dropping it ends the process and all its descendants.
pub struct Channel {
    process: Child,
    socket: BufReader<UnixStream>,
}

/// The reason why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// A message has arrived, or the helper closed the socket.
    Readable,
    /// The user interrupted the wait.
    Interrupted,
    /// The time limit was reached.
    TimedOut,
}

impl Channel {
    /// Starts this program with `word` as its first argument.
    ///
    /// # Errors
    /// Errors of socketpair(2), fork(2) and execve(2). `/proc` is not mounted.
    pub fn start(word: &str, stdout: Stdio) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(OWN_PROGRAM);
        command.arg0("steady").arg(word).stdin(OwnedFd::from(theirs)).stdout(stdout);
        let process = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::other(format!("there is no {OWN_PROGRAM}: /proc must be mounted")),
            _ => error,
        })?;
        Ok(Channel { process, socket: BufReader::new(ours) })
    }

    /// Sends one message to the helper.
    ///
    /// # Errors
    /// Errors of write(2).
    pub fn say(&mut self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.socket.get_mut().write_all(&line)
    }

    /// Receives the next message.
    ///
    /// # Errors
    /// Errors of read(2), or that the helper ended.
    pub fn listen<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        let mut line = String::new();
        match self.socket.read_line(&mut line)? {
            0 => Err(io::Error::other("the process ended early")),
            _ => Ok(serde_json::from_str(&line)?),
        }
    }

    /// Closes the socket, after which the helper ends. Does not wait.
    pub fn hang_up(&self) {
        // An error means that the helper has already ended.
        let _ = self.socket.get_ref().shutdown(Shutdown::Both);
    }

    /// Kills the helper immediately. Its children must end by themselves.
    pub fn kill(&mut self) {
        // An error means that the helper has already ended.
        let _ = self.process.kill();
    }

    /// Describes how the helper ended. Returns `None` if it does not end within 100 ms.
    pub fn ended(&mut self) -> Option<String> {
        for _ in 0..EXIT_LIMIT.as_millis() / END_STEP.as_millis() {
            if let Ok(Some(status)) = self.process.try_wait() {
                return Some(match (status.signal(), status.code()) {
                    (Some(signal), _) => format!("was ended by signal {signal}"),
                    (None, code) => format!("exited with status {}", code.unwrap_or_default()),
                });
            }
            thread::sleep(END_STEP);
        }
        None
    }

    /// Waits for a message, for `interrupt` to become readable, or for the time `limit`.
    ///
    /// # Errors
    /// Errors of poll(2).
    pub fn wait(&self, interrupt: Option<BorrowedFd<'_>>, limit: Option<Nanos>) -> io::Result<Woken> {
        if !self.socket.buffer().is_empty() {
            return Ok(Woken::Readable);
        }
        let mut watched = vec![PollFd::new(self.socket.get_ref(), PollFlags::IN)];
        watched.extend(interrupt.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let limit = limit.map(timespec);
        loop {
            match poll(&mut watched, limit.as_ref()) {
                Ok(0) => return Ok(Woken::TimedOut),
                Ok(_) if watched.get(1).is_some_and(|fd| !fd.revents().is_empty()) => return Ok(Woken::Interrupted),
                Ok(_) => return Ok(Woken::Readable),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Converts a time for poll(2).
pub fn timespec(time: Nanos) -> Timespec {
    Timespec { tv_sec: (time.0 / 1_000_000_000) as i64, tv_nsec: (time.0 % 1_000_000_000) as i64 }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.get_ref().as_fd()
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // When its socket closes, the helper ends its descendants and exits.
        self.hang_up();
        for _ in 0..END_LIMIT.as_millis() / END_STEP.as_millis() {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(END_STEP);
        }
    }
}
