//! The guardian: starts the command, forwards signals, reaps and ends processes, and reports the result.

mod events;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::process::Pid;
use steady_linux::cgroup::OwnGroup;
use steady_linux::clock;
use steady_linux::process::{self, Begun, Change, Child, Killing, Status};
use steady_model::{Nanos, Outcome};

use super::group::{GroupSignals, Stops};
use super::protocol::{Message, Setup, say};
use super::starter::Starter;
use super::{Attendant, End, Next, Unattended};

/// Main function of a guardian. `arguments` are those after [`Attendant::WORD`]: the number of its socket, the program,
/// and the arguments of the program. Returns once no process of the command is left.
pub fn guard<A: Attendant>(arguments: impl Iterator<Item = OsString>) {
    let mut arguments = arguments;
    let number = arguments.next().and_then(|word| word.to_str()?.parse().ok());
    let socket = number.and_then(|number| process::inherited_descriptor(number).ok()).map(UnixStream::from);
    let (Some(socket), Some(program)) = (socket, arguments.next()) else { return };
    let words: Vec<OsString> = arguments.collect();
    if let Err(error) = attend::<A>(&socket, &program, &words) {
        // This fails only if the front has ended, and then the reason is not needed.
        let _ = say(&socket, &Message::<A::Run>::from(error));
    }
}

fn attend<A: Attendant>(socket: &UnixStream, program: &OsStr, words: &[OsString]) -> Result<(), Unattended> {
    let failed = |error: io::Error| Unattended::Refused(error.to_string());
    let mut orders = BufReader::new(socket);
    let mut line = String::new();
    orders.read_line(&mut line).map_err(failed)?;
    let Setup { task, passed, ignored } = serde_json::from_str(&line).map_err(|error| failed(error.into()))?;
    let front = rustix::process::getppid();
    process::go_on_below_a_sentinel()
        .map_err(|error| Unattended::Refused(format!("its guardian could not create a process: {error}")))?;
    let mut signals = GroupSignals::of(&passed).map_err(failed)?;
    process::become_subreaper().map_err(failed)?;
    // Set before the start, so that this process wakes quickly to read the time of the exec. The command gets the
    // original scheduling.
    let schedule = process::wake_soon();
    let starter = Starter { program, words, ignored: &ignored, schedule: &schedule };
    let (begun, attendant) = A::start(task, &starter)?;
    signals.forget().map_err(failed)?;
    // This process must not keep pipes open that the command closes.
    close_streams().map_err(failed)?;
    let group = attendant.group().map(|group| group.directory().as_os_str().to_owned());
    let mut guardian = Guardian::new(begun, attendant, signals, front);
    let guarded = say(socket, &Message::<A::Run>::Started(group)).and_then(|()| guardian.guard(socket, &mut orders));
    let run = guarded.and_then(|()| guardian.finish());
    // Kills what is left, also after an error.
    let _ = guardian.end();
    run.and_then(|run| say(socket, &Message::Ended(Box::new(run)))).map_err(failed)
}

fn close_streams() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

/// A running command with its guardian's state.
struct Guardian<A> {
    attendant: A,
    child: Child,
    signals: GroupSignals,
    /// The process that the shell started.
    front: Option<Pid>,
    stops: Stops,
    /// Time of SIGKILL, once SIGTERM was sent.
    kill_at: Option<Nanos>,
    /// Exit status or signal of the command, and the time of its end.
    ended: Option<(Outcome, Nanos)>,
    /// Whether this process has no children left.
    alone: bool,
}

impl<A: Attendant> Guardian<A> {
    fn new(begun: Begun, attendant: A, signals: GroupSignals, front: Option<Pid>) -> Self {
        let stops = Stops::default();
        Guardian { attendant, child: begun.child, signals, front, stops, kill_at: None, ended: None, alone: false }
    }

    /// Handles events until no process is left, the command has ended by itself, or it is time for SIGKILL.
    ///
    /// # Errors
    /// The front has ended, or a system call failed.
    fn guard(&mut self, socket: &UnixStream, orders: &mut BufReader<&UnixStream>) -> io::Result<()> {
        while !self.alone && (self.ended.is_none() || self.kill_at.is_some()) {
            let now = clock::monotonic();
            match self.kill_at {
                Some(kill_at) if now >= kill_at => return Ok(()),
                None if now >= self.attendant.due() => self.look(now),
                _ => self.sleep(now, socket, orders)?,
            }
        }
        Ok(())
    }
}

impl<A: Attendant> Guardian<A> {
    /// Kills what is left, and lets the attendant compute the result.
    fn finish(&mut self) -> io::Result<A::Run> {
        let (by_itself, killed) = (self.kill_at.is_none(), self.ended.is_none());
        let (outcome, at) = match self.ended {
            Some(ended) => ended,
            None => self.kill_command()?,
        };
        let rest = self.end()?;
        let left_behind = if by_itself { rest } else { 0 };
        self.attendant.finish(End { outcome, killed, moment: self.stops.at(at), left_behind })
    }

    /// Kills and reaps everything that is left. Returns how many processes were killed.
    ///
    /// # Errors
    /// A process cannot be ended, or a system call failed.
    fn end(&mut self) -> io::Result<u32> {
        // The control group is killed as a whole, so that it cannot fork. The loop kills processes that are not in it,
        // or all of them if the kernel cannot kill a group.
        self.attendant.group().map(OwnGroup::kill);
        let mut killed = 0;
        let mut killing = Killing::default();
        loop {
            match self.attendant.next() {
                Ok(Next::Happened(Change::Ended(reaped))) => {
                    killed += u32::from(reaped.was_killed());
                    self.attendant.reaped(&reaped);
                }
                Ok(Next::Happened(_) | Next::More) => {}
                Ok(Next::Nothing) => killing.kill_descendants()?,
                Err(error) if error.raw_os_error() == Some(Errno::CHILD.raw_os_error()) => return Ok(killed),
                Err(error) => return Err(error),
            }
        }
    }

    /// Kills the command, with its control group if it has one, and waits for the command itself, whose outcome is
    /// reported.
    ///
    /// # Errors
    /// The command cannot be ended, or a system call failed.
    fn kill_command(&mut self) -> io::Result<(Outcome, Nanos)> {
        self.attendant.group().map(OwnGroup::kill);
        let command = [self.child.pid.as_raw_nonzero().get()];
        let mut killing = Killing::default();
        let mut pause = killing.kill(&command)?;
        loop {
            match self.attendant.next()? {
                Next::Happened(Change::Ended(reaped)) => {
                    self.attendant.reaped(&reaped);
                    if reaped.pid == self.child.pid {
                        return Ok((outcome(reaped.status), clock::monotonic()));
                    }
                }
                Next::Happened(_) | Next::More => {}
                Next::Nothing => {
                    if !self.signals.wait_for_children(pause)? {
                        pause = killing.kill(&command)?;
                    }
                }
            }
        }
    }
}

/// Converts the status of a process for reports.
fn outcome(status: Status) -> Outcome {
    match status {
        Status::Exited(status) => Outcome::Exited(status),
        Status::Signalled(signal) => Outcome::Signalled(signal),
    }
}
