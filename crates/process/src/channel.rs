//! A helper process: this same program, called with a hidden word. It speaks JSON lines over the socket that is its
//! standard input, and ends, with all that descends from it, when that hangs up.

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

/// The running program, even where its file has been replaced or removed since.
pub const OWN_PROGRAM: &str = "/proc/self/exe";

/// How long a helper may take to end what descends from it: a process that the kernel holds cannot be killed.
const END_PATIENCE: Duration = Duration::from_secs(5);
const END_STEP: Duration = Duration::from_millis(1);
/// How long a helper that has hung up may take to be gone.
const MOMENT: Duration = Duration::from_millis(100);

/// A helper process, and the way to it. Dropping it ends it, and everything that it started.
pub struct Channel {
    process: Child,
    socket: BufReader<UnixStream>,
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// There is something to listen to, or the helper has hung up.
    Readable,
    /// The user asked to stop.
    Interrupted,
    /// The time is over.
    TimedOut,
}

impl Channel {
    /// Starts this very program with `word` for its first argument.
    ///
    /// # Errors
    /// What socketpair(2), fork(2) and execve(2) say.
    pub fn start(word: &str, stdout: Stdio) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(OWN_PROGRAM);
        command.arg0("steady").arg(word).stdin(OwnedFd::from(theirs)).stdout(stdout);
        Ok(Channel { process: command.spawn()?, socket: BufReader::new(ours) })
    }

    /// Says one thing.
    ///
    /// # Errors
    /// What write(2) says.
    pub fn say(&mut self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.socket.get_mut().write_all(&line)
    }

    /// The next thing that it says.
    ///
    /// # Errors
    /// What read(2) says; "it ended" where it has hung up.
    pub fn listen<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        let mut line = String::new();
        match self.socket.read_line(&mut line)? {
            0 => Err(io::Error::other("it ended")),
            _ => Ok(serde_json::from_str(&line)?),
        }
    }

    /// Lets it end, without waiting for that.
    pub fn hang_up(&self) {
        // Errors mean that it has left already.
        let _ = self.socket.get_ref().shutdown(Shutdown::Both);
    }

    /// Ends it at once, in the midst of whatever it does. What it started must end by itself then.
    pub fn kill(&mut self) {
        // As above.
        let _ = self.process.kill();
    }

    /// How it ended, in words, where it ends within a moment.
    pub fn ended(&mut self) -> Option<String> {
        for _ in 0..MOMENT.as_millis() / END_STEP.as_millis() {
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

    /// Waits until it says something, `interrupt` becomes readable, or `patience` is over.
    ///
    /// # Errors
    /// What poll(2) says.
    pub fn wait(&self, interrupt: Option<BorrowedFd<'_>>, patience: Option<Nanos>) -> io::Result<Woken> {
        if !self.socket.buffer().is_empty() {
            return Ok(Woken::Readable);
        }
        let mut watched = vec![PollFd::new(self.socket.get_ref(), PollFlags::IN)];
        watched.extend(interrupt.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let patience = patience.map(timespec);
        loop {
            match poll(&mut watched, patience.as_ref()) {
                Ok(0) => return Ok(Woken::TimedOut),
                Ok(_) if watched.get(1).is_some_and(|fd| !fd.revents().is_empty()) => return Ok(Woken::Interrupted),
                Ok(_) => return Ok(Woken::Readable),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// A span of time as poll(2) takes it.
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
        // The hang-up makes the helper end its tree and leave.
        self.hang_up();
        for _ in 0..END_PATIENCE.as_millis() / END_STEP.as_millis() {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(END_STEP);
        }
    }
}
