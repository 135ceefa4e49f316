//! A place in which the user's command is run again and again.

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

use super::{OwnDelay, PLACE_NAME, Post};
use crate::LoadRun;
use crate::run::protocol::{Ran, Said};
use steady_process::launcher::{outcome, run_delay};

/// Runs that are told in one line, of some 400 bytes each at most.
const RUNS_PER_LINE: usize = 8;

/// What runs need.
struct Place {
    program: Program,
    null: File,
    schedstat: Reading<SchedstatReader>,
    delay: OwnDelay,
    word: String,
}

/// Runs the command whose program and words these are until `window` is over, and says what the runs took.
///
/// Runs that ended after the window ran beside fewer others: they count only in a place where none ended within it.
pub(super) fn hold(
    post: &Post,
    window: Nanos,
    command: &[OsString],
    environment: &[(OsString, OsString)],
) -> io::Result<()> {
    process::become_subreaper()?;
    let mut place = Place::new(post, command, environment)?;
    post.say(Said::Ready)?;
    post.wait_for_start()?;
    let before = clock::process_cpu();
    let until = clock::monotonic() + window;
    let mut runs: Vec<Ran> = Vec::new();
    while runs.is_empty() || clock::monotonic() < until {
        match place.run() {
            Ok(ran) if ran.run.outcome == Outcome::Exited(0) => runs.push(ran),
            Ok(ran) => return post.say(Said::CommandFailed(ran.run.outcome)),
            Err(said) => return post.say(said),
        }
    }
    let own = clock::process_cpu() - before;
    let ended = runs.last().map_or(until, |ran| ran.ended);
    let within = runs.partition_point(|ran| ran.ended <= until).max(1);
    runs.truncate(within);
    for some in runs.chunks(RUNS_PER_LINE) {
        post.say(Said::Ran(some.to_vec()))?;
    }
    post.say(Said::Done { before, own, ended })
}

impl Place {
    fn new(post: &Post, command: &[OsString], environment: &[(OsString, OsString)]) -> io::Result<Self> {
        let (program, words) = command.split_first().ok_or_else(|| io::Error::other("no command"))?;
        let variables = environment.iter().filter(|(name, _)| name != PLACE_NAME);
        let variables = variables.map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        Ok(Place {
            program: Program::new(Path::new(program), words.iter().map(AsRef::as_ref), variables, 0)?,
            null: File::options().read(true).write(true).open("/dev/null")?,
            schedstat: SchedstatReader::new(&Root::default()),
            delay: OwnDelay::open(),
            word: post.place.to_string(),
        })
    }

    /// One run, from its start to its last descendant's end; what to say where it could not be made.
    fn run(&mut self) -> Result<Ran, Said> {
        let started = clock::monotonic();
        let streams = Stdio { input: self.null.as_fd(), output: self.null.as_fd(), error: self.null.as_fd() };
        let child = self.program.spawn(&self.word, 0, streams).map_err(|error| not_started(&error))?;
        // Opened while the child runs: afterwards every microsecond is between two measurements.
        let main = self.schedstat.as_ref().map_err(Clone::clone);
        let main = main.and_then(|reader| reader.open(child.pid.as_raw_nonzero().get()));
        let delayed = self.delay.read();
        let gone = |error: io::Error| Said::CannotStart(error.to_string());
        wait(&child).map_err(gone)?;
        // On a crowded machine this process itself waits for a CPU before it sees the end: not the child's time.
        let ended = clock::monotonic() - self.delay.since(delayed).unwrap_or_default();
        let main = main.and_then(|file| file.read());
        let reaped = process::wait_for(child.pid).map_err(gone)?;
        let left = process::end_descendants().map_err(gone)?;
        let run = LoadRun {
            user: reaped.usage.user + left.cpu_time,
            system: reaped.usage.system,
            wall: Nanos::ZERO,
            run_delay: run_delay(main, &reaped, &left),
            work: 1,
            overshoot: Err(Absent::because("the work has no limit of CPU time")),
            outcome: outcome(reaped.status, true),
        };
        Ok(Ran { started: Some(started), ended, run })
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

fn not_started(error: &io::Error) -> Said {
    match Errno::from_io_error(error) {
        Some(Errno::AGAIN | Errno::NOMEM) => Said::Refused(crate::run::crowd::refusal(error)),
        _ => Said::CannotStart(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::LONGEST_LINE;
    use super::*;
    use crate::run::protocol::Line;

    #[test]
    fn a_full_line_is_taken_whole_by_a_pipe() {
        let long = Nanos(31_536_000_123_456_789);
        let reason = "the kernel tells it of the main thread only, and other threads or processes did work";
        let run = LoadRun {
            user: long,
            system: long,
            wall: long,
            run_delay: Err(Absent::because(reason)),
            work: 1,
            overshoot: Err(Absent::because("the work has no limit of CPU time")),
            outcome: Outcome::Exited(0),
        };
        let ran = Ran { started: Some(long), ended: long, run };
        let line = Line { place: u32::MAX, said: Said::Ran(vec![ran; RUNS_PER_LINE]) };
        let length = serde_json::to_vec(&line).unwrap().len();
        assert!(length < LONGEST_LINE, "{length}");
    }
}
