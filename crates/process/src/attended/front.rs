//! The front: what the shell knows. It starts the guardian, passes signals on, stops when the command stops, and waits.

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
use steady_linux::signals::{self, Held};
use steady_linux::{Root, cgroup, process, procfs};

use super::protocol::{Order, Setup, Told, say};
use super::{Attendant, Unattended};
use crate::channel::OWN_PROGRAM;

/// How often to look for what a guardian that was killed has left, and how many times: a process that the kernel holds
/// cannot be killed.
const END_STEP: Duration = Duration::from_millis(1);
const END_TIMES: u32 = 5_000;

/// Runs `program`, started with `words`, until nothing is left of it; `task` says what its guardian does about it.
/// Standard input and output are the command's: afterwards this process has none.
///
/// For a process with one thread. From here on it keeps the signals that are passed on from itself.
///
/// # Errors
/// See [`Unattended`]. Nothing is left of the command then.
pub fn attend<A: Attendant>(program: &Path, words: &[OsString], task: A::Task) -> Result<A::Run, Unattended> {
    let refused = |error: io::Error| Unattended::Refused(format!("no guardian: {error}"));
    let setup = Setup { task, passed: signals::to_pass_on(), ignored: signals::ignored() };
    let held = Held::of(&setup.passed).map_err(refused)?;
    let strangers = descendants();
    // What a guardian leaves that is killed comes here.
    process::become_subreaper().map_err(refused)?;
    let (guardian, socket) = start(A::WORD, program, words).map_err(refused)?;
    let front = Front { held, socket: BufReader::new(socket), guardian, group: None };
    match front.attend(&setup, &strangers) {
        Ok(Told::Ended(run)) => Ok(*run),
        Ok(Told::NotStarted(error)) => Err(Unattended::NotStarted(error)),
        Ok(Told::Refused(why)) => Err(Unattended::Refused(why)),
        Ok(Told::Started(_) | Told::Stopped(_) | Told::Continued) => Err(Unattended::GuardianLost),
        Err(error) => Err(unheard(&error)),
    }
}

/// Why there are no more words with the guardian. Its end shows as that of the socket, before a word or within one.
fn unheard(error: &io::Error) -> Unattended {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    match error.kind() {
        BrokenPipe | ConnectionReset | UnexpectedEof => Unattended::GuardianLost,
        _ => Unattended::Refused(format!("no words with its guardian: {error}; the command was ended")),
    }
}

/// Starts this very program as a guardian, with all streams, and one end of a socket.
fn start(word: &str, program: &Path, words: &[OsString]) -> io::Result<(Child, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    fcntl_setfd(&theirs, FdFlags::empty())?;
    let mut command = Command::new(OWN_PROGRAM);
    command.arg0("steady").arg(word).arg(theirs.as_raw_fd().to_string()).arg(program).args(words);
    let guardian = command.spawn()?;
    // Pipes end when the command closes them, and not when this process does.
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok((guardian, ours))
}

/// The front while the command runs.
struct Front {
    held: Held,
    socket: BufReader<UnixStream>,
    guardian: Child,
    /// The control group that was made.
    group: Option<PathBuf>,
}

impl Front {
    fn attend<R: DeserializeOwned>(mut self, setup: &impl Serialize, strangers: &[i32]) -> io::Result<Told<R>> {
        let done = say(self.socket.get_ref(), setup).and_then(|()| self.wait());
        if done.is_err() {
            self.end_all(strangers);
        }
        let _ = self.guardian.wait();
        done
    }

    /// Until the guardian has said its last; an error where it cannot any more.
    fn wait<R: DeserializeOwned>(&mut self) -> io::Result<Told<R>> {
        loop {
            self.pass_signals_on();
            if !self.something_is_told(None)? {
                continue;
            }
            match self.listen()? {
                Told::Started(group) => self.group = group.map(PathBuf::from),
                // Where it goes on already, the shell need not know.
                Told::Stopped(signal) => {
                    if !self.something_is_told(Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? {
                        signals::stop_by(signal)?;
                    }
                }
                Told::Continued => {}
                last => return Ok(last),
            }
        }
    }

    fn pass_signals_on(&self) {
        while let Ok(Some(signal)) = self.held.next() {
            if !signals::is_of_children(signal) {
                // A guardian that is gone has said its last, or is found to be lost.
                let _ = say(self.socket.get_ref(), &Order::Pass(signal));
            }
        }
    }

    /// Waits for a word of the guardian's, for a signal, or for so long; whether there is a word.
    fn something_is_told(&self, patience: Option<&Timespec>) -> io::Result<bool> {
        if !self.socket.buffer().is_empty() {
            return Ok(true);
        }
        let mut watched = [PollFd::new(self.socket.get_ref(), PollFlags::IN), PollFd::new(&self.held, PollFlags::IN)];
        match poll(&mut watched, patience) {
            Ok(_) | Err(Errno::INTR) => Ok(!watched[0].revents().is_empty()),
            Err(error) => Err(error.into()),
        }
    }

    fn listen<R: DeserializeOwned>(&mut self) -> io::Result<Told<R>> {
        let mut line = String::new();
        match self.socket.read_line(&mut line)? {
            0 => Err(io::ErrorKind::BrokenPipe.into()),
            _ => Ok(serde_json::from_str(&line)?),
        }
    }

    /// The guardian was killed: ends all that it has left to this process, but for what was here before it.
    fn end_all(&mut self, strangers: &[i32]) {
        let _ = self.guardian.kill();
        let _ = self.guardian.wait();
        for _ in 0..END_TIMES {
            let left: Vec<i32> = descendants().into_iter().filter(|pid| !strangers.contains(pid)).collect();
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

/// All that descends from this process.
fn descendants() -> Vec<i32> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    procfs::descendants(&Root::default(), own).unwrap_or_default()
}
