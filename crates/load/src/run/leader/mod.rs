//! The leader process of a row: starts the workers, lets them start their work together, and reports their runs.

mod lines;
mod workers;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use serde::Serialize;
use steady_linux::process::{self, Program, Stdio};
use steady_linux::{Root, clock, limits};

use super::WORKER;
use super::protocol::{Finished, Go, Reply, Setup, Task};
use crate::LoadWork;
use lines::Lines;
use steady_process::channel::OWN_PROGRAM;
use workers::Workers;

/// Why a leader stops.
pub(super) enum Stop {
    /// The process `steady` has ended.
    Abandoned,
    /// It must send a message to `steady` first.
    Say(Reply),
}

/// Runs a leader, whose workers get `environment`. Returns when the row has ended, when `steady` closes the connection,
/// or on an error. No descendant is left then.
pub(crate) fn serve(environment: &[(OsString, OsString)]) {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return };
    if let Err(Stop::Say(reply)) = attend(&control, environment) {
        // If this fails, `steady` has ended.
        let _ = say(&control, &reply);
    }
    // No process is left that an error could be reported to.
    let _ = process::end_descendants();
}

fn attend(control: &UnixStream, environment: &[(OsString, OsString)]) -> Result<(), Stop> {
    let mut orders = BufReader::new(control).lines();
    let Some(Ok(line)) = orders.next() else { return Ok(()) };
    let setup: Setup = serde_json::from_str(&line).map_err(|error| failed(error.to_string()))?;
    process::leave_session().and_then(|()| process::become_subreaper()).map_err(|error| failed(error.to_string()))?;
    if let Some(cpus) = &setup.cpus {
        process::keep_to(cpus).map_err(|error| failed(format!("CPUs {cpus:?}: {error}")))?;
    }
    let (start_pipe, mut workers) = start(&setup, environment, control)?;
    workers.wait(control, Workers::all_ready)?;
    say(control, &Reply::Ready { pids: workers.pids() })?;
    let Some(Ok(line)) = orders.next() else { return Ok(()) };
    serde_json::from_str::<Go>(&line).map_err(|error| failed(error.to_string()))?;
    let own = clock::process_cpu();
    let fired = clock::monotonic();
    // All workers read this pipe; closing it wakes them together.
    drop(start_pipe);
    workers.wait(control, Workers::all_done)?;
    let done = clock::process_cpu();
    workers.reap_all()?;
    let finished = Finished {
        fired,
        ended: workers.ended,
        ours: workers.used - workers.before - workers.own,
        own: workers.own + (done - own),
        after: clock::process_cpu() - done,
        runs: std::mem::take(&mut workers.runs).into_iter().map(|ran| ran.into_run(fired)).collect(),
    };
    say(control, &Reply::Finished(finished))
}

/// Starts the workers. Returns them with the end of the pipe whose closing starts their work.
fn start(
    setup: &Setup,
    environment: &[(OsString, OsString)],
    control: &UnixStream,
) -> Result<(OwnedFd, Workers), Stop> {
    let own = |error: io::Error| failed(error.to_string());
    let (waiting, start_pipe) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| own(errno.into()))?;
    let (reports, report_pipe) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| own(errno.into()))?;
    let null = File::options().read(true).write(true).open("/dev/null").map_err(own)?;
    let mut program = worker(setup, environment).map_err(own)?;
    let mut workers = Workers::new(setup.procs, Lines::new(reports).map_err(own)?);
    for place in 0..setup.procs {
        if has_hung_up(control) {
            return Err(Stop::Abandoned);
        }
        let streams = Stdio { input: waiting.as_fd(), output: report_pipe.as_fd(), error: null.as_fd() };
        // Its pidfd is closed immediately, so that any number of workers needs only a few descriptors.
        match program.spawn(&place.to_string(), 0, streams) {
            Ok(child) => workers.add(place, child.pid),
            Err(error) => return Err(Stop::Say(Reply::Refused { started: place, reason: refusal(&error) })),
        }
    }
    Ok((start_pipe, workers))
}

/// Returns this program as a worker. Its number is in `STEADY_RUN`; the arguments of a command follow the task.
fn worker(setup: &Setup, environment: &[(OsString, OsString)]) -> io::Result<Program> {
    let (procs, seed) = (setup.procs, setup.seed.0);
    let (task, command) = match &setup.work {
        LoadWork::Hash { cpu_time, poll } => (Task::Hash { cpu_time: *cpu_time, poll: *poll, seed, procs }, None),
        LoadWork::Sum { work } => (Task::Sum { work: *work, seed, procs }, None),
        LoadWork::Command { command, window } => (Task::Command { window: *window }, Some(command)),
    };
    let task = serde_json::to_string(&task)?;
    let mut words: Vec<&OsStr> = vec![OsStr::new("steady"), OsStr::new(WORKER), OsStr::new(&task)];
    if let Some(command) = command {
        words.push(command.program.as_os_str());
        words.extend(command.argv.iter().map(OsStr::new));
    }
    let variables = environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let variables = variables.filter(|(name, _)| *name != "STEADY_RUN" && *name != "STEADY_PADDING");
    Ok(Program::new(Path::new(OWN_PROGRAM), words, variables, 0)?)
}

/// Formats the error of the system when it cannot start a process or thread, with the limit that may have caused it.
pub(super) fn refusal(error: &io::Error) -> String {
    let limited = error.raw_os_error() == Some(Errno::AGAIN.raw_os_error());
    match limits::process_limit(&Root::default()).filter(|_| limited) {
        Some(limit) => format!("{error}; the tightest limit is {} of {}", limit.most, limit.name),
        None => error.to_string(),
    }
}

fn has_hung_up(control: &UnixStream) -> bool {
    let mut watched = [PollFd::new(control, PollFlags::empty())];
    matches!(poll(&mut watched, Some(&Timespec::default())), Ok(1..))
}

fn failed(reason: String) -> Stop {
    Stop::Say(Reply::Failed(reason))
}

fn say(mut control: &UnixStream, reply: &impl Serialize) -> Result<(), Stop> {
    let mut line = serde_json::to_vec(reply).map_err(|error| failed(error.to_string()))?;
    line.push(b'\n');
    control.write_all(&line).map_err(|_| Stop::Abandoned)
}
