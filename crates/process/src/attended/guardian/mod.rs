//! The guardian: starts the command, passes signals on, reaps, ends, and says what became of it.

mod events;
mod finish;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::net::UnixStream;

use rustix::process::Pid;
use steady_linux::process::{Begun, Child};
use steady_linux::{clock, process};
use steady_model::{Nanos, Outcome};

use super::group::GroupSignals;
use super::protocol::{Setup, Told, say};
use super::starter::Starter;
use super::stops::Stops;
use super::{Attendant, Unattended};

/// The whole life of a guardian, from the words behind [`Attendant::WORD`]: the number of its socket, the program, and the
/// words that the program is started with. Returns once nothing is left of the command.
pub fn guard<A: Attendant>(arguments: impl Iterator<Item = OsString>) {
    let mut arguments = arguments;
    let number = arguments.next().and_then(|word| word.to_str()?.parse().ok());
    let socket = number.and_then(|number| process::inherited_descriptor(number).ok()).map(UnixStream::from);
    let (Some(socket), Some(program)) = (socket, arguments.next()) else { return };
    let words: Vec<OsString> = arguments.collect();
    if let Err(error) = attend::<A>(&socket, &program, &words) {
        // If nobody listens any more, nobody needs to know.
        let _ = say(&socket, &Told::<A::Run>::from(error));
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
        .map_err(|error| Unattended::Refused(format!("no process could be started: {error}")))?;
    let signals = GroupSignals::of(&passed).map_err(failed)?;
    process::become_subreaper().map_err(failed)?;
    // Before the start, so that the time of the start is told in time; the command is scheduled as it would have been.
    let schedule = process::wake_soon();
    let starter = Starter { program, words, ignored: &ignored, schedule: &schedule };
    let (begun, attendant) = A::start(task, &starter)?;
    // Pipes end when the command closes them, and not when this process does.
    let_go_of_streams().map_err(failed)?;
    let group = attendant.group().map(|group| group.directory().as_os_str().to_owned());
    let mut guardian = Guardian::new(begun, attendant, signals, front);
    let guarded = say(socket, &Told::<A::Run>::Started(group)).and_then(|()| guardian.guard(socket, &mut orders));
    let run = guarded.and_then(|()| guardian.finish());
    // However that went, nothing is left behind.
    let _ = guardian.end();
    run.and_then(|run| say(socket, &Told::Ended(Box::new(run)))).map_err(failed)
}

fn let_go_of_streams() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

/// A command under guard.
struct Guardian<A> {
    attendant: A,
    child: Child,
    signals: GroupSignals,
    /// The process that the shell knows.
    front: Option<Pid>,
    stops: Stops,
    /// When what is left is killed, once it was asked to end.
    kill_at: Option<Nanos>,
    /// How the command ended, and when.
    ended: Option<(Outcome, Nanos)>,
    /// Whether this process has no child any more.
    alone: bool,
}

impl<A: Attendant> Guardian<A> {
    fn new(begun: Begun, attendant: A, signals: GroupSignals, front: Option<Pid>) -> Self {
        let stops = Stops::default();
        Guardian { attendant, child: begun.child, signals, front, stops, kill_at: None, ended: None, alone: false }
    }

    /// Until nothing is left of the tree, the command has ended by itself, or it is time to kill.
    ///
    /// # Errors
    /// The front is gone, or the system refuses something.
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
