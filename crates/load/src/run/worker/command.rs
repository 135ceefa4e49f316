//! A worker that runs the user's command repeatedly.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use steady_linux::process::{self, Child, Program, Stdio};
use steady_linux::procfs::SchedstatReader;
use steady_linux::{Root, clock};
use steady_model::{Absent, Nanos, Outcome, Reading};

use super::{LeaderConnection, OwnRunDelay, PLACE_NAME};
use crate::LoadRun;
use crate::run::protocol::{Message, TimedRun};
use steady_process::launcher::{outcome, run_delay};

/// Number of runs in one message, of at most about 400 bytes each.
const RUNS_PER_LINE: usize = 8;

/// Runs the user's command.
struct CommandRunner {
    program: Program,
    null: File,
    schedstat: Reading<SchedstatReader>,
    delay: OwnRunDelay,
    word: String,
}

/// Runs `command` (program and arguments) repeatedly until `window` has passed, and reports the runs.
///
/// Runs that end after the window ran next to fewer others. They count only if no run of this worker ended within it.
pub(super) fn run_repeatedly(
    connection: &LeaderConnection,
    window: Nanos,
    command: &[OsString],
    environment: &[(OsString, OsString)],
) -> io::Result<()> {
    process::become_subreaper()?;
    let mut runner = CommandRunner::new(connection, command, environment)?;
    connection.say(Message::Ready)?;
    connection.wait_for_start()?;
    let before = clock::process_cpu();
    let until = clock::monotonic() + window;
    let mut runs: Vec<TimedRun> = Vec::new();
    while runs.is_empty() || clock::monotonic() < until {
        match runner.run() {
            Ok(timed) if timed.run.outcome == Outcome::Exited(0) => runs.push(timed),
            Ok(timed) => return connection.say(Message::CommandFailed(timed.run.outcome)),
            Err(message) => return connection.say(message),
        }
    }
    let own = clock::process_cpu() - before;
    let ended = runs.last().map_or(until, |timed| timed.ended);
    let within = runs.partition_point(|timed| timed.ended <= until).max(1);
    runs.truncate(within);
    for some in runs.chunks(RUNS_PER_LINE) {
        connection.say(Message::Ran(some.to_vec()))?;
    }
    connection.say(Message::Done { before, own, ended })
}

impl CommandRunner {
    fn new(
        connection: &LeaderConnection,
        command: &[OsString],
        environment: &[(OsString, OsString)],
    ) -> io::Result<Self> {
        let (program, words) = command.split_first().ok_or_else(|| io::Error::other("no command"))?;
        let variables = environment.iter().filter(|(name, _)| name != PLACE_NAME);
        let variables = variables.map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        Ok(CommandRunner {
            program: Program::new(Path::new(program), words.iter().map(AsRef::as_ref), variables, 0)?,
            null: File::options().read(true).write(true).open("/dev/null")?,
            schedstat: SchedstatReader::new(&Root::default()),
            delay: OwnRunDelay::open(),
            word: connection.place.to_string(),
        })
    }

    /// Runs the command once, from its start to the end of its last descendant. Returns the message to send if it
    /// cannot be run.
    fn run(&mut self) -> Result<TimedRun, Message> {
        let started = clock::monotonic();
        let streams = Stdio { input: self.null.as_fd(), output: self.null.as_fd(), error: self.null.as_fd() };
        let child = self.program.spawn(&self.word, 0, streams).map_err(|error| not_started(&error))?;
        // Open the file while the child runs, because time after its end would be lost between two runs.
        let main = self.schedstat.as_ref().map_err(Clone::clone);
        let main = main.and_then(|reader| reader.open(child.pid.as_raw_nonzero().get()));
        let delayed = self.delay.read();
        let failed = |error: io::Error| Message::CannotStart(error.to_string());
        wait(&child).map_err(failed)?;
        // On a busy machine, this process waits for a CPU before it sees the end. That is not time of the child.
        let ended = clock::monotonic() - self.delay.since(delayed).unwrap_or_default();
        let main = main.and_then(|file| file.read());
        let reaped = process::wait_for(child.pid).map_err(failed)?;
        let left = process::end_descendants().map_err(failed)?;
        let usage = reaped.usage.with(&left.usage);
        let run = LoadRun {
            user: usage.user,
            system: usage.system,
            wall: Nanos::ZERO,
            run_delay: run_delay(main, &usage),
            work: 1,
            overshoot: Err(Absent::because("the work has no CPU time limit")),
            outcome: outcome(reaped.status, true),
            left_behind: left.killed,
        };
        Ok(TimedRun { started: Some(started), ended, run })
    }
}

/// Waits until the child is a zombie.
fn wait(child: &Child) -> io::Result<()> {
    loop {
        match poll(&mut [PollFd::new(&child.pidfd, PollFlags::IN)], None) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn not_started(error: &io::Error) -> Message {
    match Errno::from_io_error(error) {
        Some(Errno::AGAIN | Errno::NOMEM) => Message::Refused(crate::run::leader::refusal(error)),
        _ => Message::CannotStart(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::LONGEST_LINE;
    use super::*;
    use crate::run::protocol::Line;

    #[test]
    fn a_full_message_fits_an_atomic_write() {
        let long = Nanos(31_536_000_123_456_789);
        let reason = "only the main thread was read, and it did not use all CPU time of the run";
        let run = LoadRun {
            user: long,
            system: long,
            wall: long,
            run_delay: Err(Absent::because(reason)),
            work: 1,
            overshoot: Err(Absent::because("the work has no CPU time limit")),
            outcome: Outcome::Exited(0),
            left_behind: u32::MAX,
        };
        let timed = TimedRun { started: Some(long), ended: long, run };
        let line = Line { place: u32::MAX, said: Message::Ran(vec![timed; RUNS_PER_LINE]) };
        let length = serde_json::to_vec(&line).unwrap().len();
        assert!(length < LONGEST_LINE, "{length}");
    }
}
