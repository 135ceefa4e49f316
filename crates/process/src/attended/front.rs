//! The front: the process that the shell started. It starts the guardian, forwards signals, stops when the command
//! stops, and waits.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal};
use serde::Serialize;
use serde::de::DeserializeOwned;
use steady_linux::signals::{self, BlockedSignals};
use steady_linux::{Root, cgroup, process, procfs};

use super::protocol::{Message, Order, Setup, say};
use super::{Attendant, Unattended};
use crate::channel::OWN_PROGRAM;

/// Interval between attempts to kill what a killed guardian has left behind.
const END_STEP: Duration = Duration::from_millis(1);
/// Maximal number of attempts, because a process in an uninterruptible system call cannot be killed.
const END_TIMES: u32 = 5_000;

/// Runs `program` with the arguments `words` until none of its processes is left. `task` is the request to its
/// guardian. The command gets the standard input and output of this process, which has none afterwards.
///
/// The calling process must have a single thread. From then on it blocks the signals that it forwards.
///
/// # Errors
/// See [`Unattended`]. No process of the command is left then, except those that cannot be ended.
pub fn attend<A: Attendant>(program: &Path, words: &[OsString], task: A::Task) -> Result<A::Run, Unattended> {
    let refused = |error: io::Error| Unattended::Refused(format!("its guardian could not be started: {error}"));
    let setup = Setup { task, passed: signals::to_pass_on(), ignored: signals::ignored() };
    let held = BlockedSignals::new(&setup.passed).map_err(refused)?;
    let earlier = descendants();
    // If the guardian is killed, the kernel reparents its children to this process.
    process::become_subreaper().map_err(refused)?;
    let (guardian, socket) = start(A::WORD, program, words).map_err(refused)?;
    let front = Front { held, socket: BufReader::new(socket), guardian, group: None };
    match front.attend(&setup, &earlier) {
        Ok(Message::Ended(run)) => Ok(*run),
        Ok(Message::NotStarted(error)) => Err(Unattended::NotStarted(error)),
        Ok(Message::Refused(why)) => Err(Unattended::Refused(why)),
        Ok(Message::Started(_) | Message::Stopped(_) | Message::Continued) => Err(Unattended::GuardianLost),
        Err(error) => Err(connection_error(&error)),
    }
}

/// Interprets an error of the connection to the guardian. If the guardian was killed, the socket is closed, possibly
/// within a message.
fn connection_error(error: &io::Error) -> Unattended {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    match error.kind() {
        BrokenPipe | ConnectionReset | UnexpectedEof => Unattended::GuardianLost,
        _ => Unattended::Refused(format!("the connection to its guardian failed: {error}; the command was killed")),
    }
}

/// Starts this program as a guardian, with all streams and one end of a socket.
fn start(word: &str, program: &Path, words: &[OsString]) -> io::Result<(Child, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    fcntl_setfd(&theirs, FdFlags::empty())?;
    let mut command = Command::new(OWN_PROGRAM);
    command.arg0("steady").arg(word).arg(theirs.as_raw_fd().to_string()).arg(program).args(words);
    let guardian = command.spawn()?;
    // This process must not keep pipes open that the command closes.
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok((guardian, ours))
}

/// The front while the command runs.
struct Front {
    held: BlockedSignals,
    socket: BufReader<UnixStream>,
    guardian: Child,
    /// The control group of the command, if there is one.
    group: Option<PathBuf>,
}

impl Front {
    fn attend<R: DeserializeOwned>(mut self, setup: &impl Serialize, earlier: &[i32]) -> io::Result<Message<R>> {
        let done = say(self.socket.get_ref(), setup).and_then(|()| self.wait());
        if done.is_err() {
            self.end_all(earlier);
        }
        let _ = self.guardian.wait();
        done
    }

    /// Waits for the last message of the guardian. Fails if the guardian was killed.
    fn wait<R: DeserializeOwned>(&mut self) -> io::Result<Message<R>> {
        loop {
            self.forward_signals();
            if !self.wait_for_message(None)? {
                continue;
            }
            match self.listen()? {
                Message::Started(group) => self.group = group.map(PathBuf::from),
                // If the command has already continued, the shell does not need to see the stop.
                Message::Stopped(signal) => {
                    if !self.wait_for_message(Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? {
                        signals::stop_by(signal)?;
                    }
                }
                Message::Continued => {}
                last => return Ok(last),
            }
        }
    }

    fn forward_signals(&self) {
        while let Ok(Some(signal)) = self.held.next() {
            if !signals::is_of_children(signal) {
                // If the guardian has ended, reading its socket shows that.
                let _ = say(self.socket.get_ref(), &Order::Pass(signal));
            }
        }
    }

    /// Waits for a message of the guardian, for a signal, or for the time `limit`. Returns whether there is a message.
    fn wait_for_message(&self, limit: Option<&Timespec>) -> io::Result<bool> {
        if !self.socket.buffer().is_empty() {
            return Ok(true);
        }
        let mut watched = [PollFd::new(self.socket.get_ref(), PollFlags::IN), PollFd::new(&self.held, PollFlags::IN)];
        match poll(&mut watched, limit) {
            Ok(_) | Err(Errno::INTR) => Ok(!watched[0].revents().is_empty()),
            Err(error) => Err(error.into()),
        }
    }

    fn listen<R: DeserializeOwned>(&mut self) -> io::Result<Message<R>> {
        let mut line = String::new();
        match self.socket.read_line(&mut line)? {
            0 => Err(io::ErrorKind::BrokenPipe.into()),
            _ => Ok(serde_json::from_str(&line)?),
        }
    }

    /// Kills everything that a killed guardian has left behind, except for processes that existed before it.
    fn end_all(&mut self, earlier: &[i32]) {
        let _ = self.guardian.kill();
        let _ = self.guardian.wait();
        for _ in 0..END_TIMES {
            let left: Vec<i32> = descendants().into_iter().filter(|pid| !earlier.contains(pid)).collect();
            for pid in left.iter().copied().filter_map(Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
                let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG);
            }
            if left.is_empty() {
                break;
            }
            thread::sleep(END_STEP);
        }
        if let Some(group) = &self.group {
            cgroup::remove_group(group);
        }
    }
}

/// All descendants of this process.
fn descendants() -> Vec<i32> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    procfs::descendants(&Root::default(), own).unwrap_or_default()
}
