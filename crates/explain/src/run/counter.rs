//! Runs of a plan's commands that are made only to be counted: each under a tracer, in a helper process of its own.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use steady_linux::process::{self, Attached};
use steady_linux::tracer;
use steady_model::{Absent, Nanos, Plan, Reading};

use super::pair::Counter;
use crate::record::Counts;
use steady_process::channel::{Channel, Woken};
use steady_process::runner::RunError;

/// The first argument that makes `steady` a counter.
pub(crate) const COUNTER: &str = "__counter";

/// Stopping it at each call, a tracer makes a command so many times as long at most, or it does little else than call.
const SLOWER: u64 = 100;

/// A run to be counted.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Job {
    program: PathBuf,
    argv: Vec<String>,
}

/// Counts runs by a tracer.
pub(crate) struct TracedRuns {
    jobs: Vec<Job>,
    channel: Channel,
    interrupt: Option<OwnedFd>,
    run_limit: Option<Nanos>,
}

impl TracedRuns {
    /// Starts the helper. What it counts next ends when `interrupt` becomes readable.
    ///
    /// # Errors
    /// What fork(2) and execve(2) say.
    pub(crate) fn start(plan: &Plan, interrupt: Option<OwnedFd>) -> io::Result<Self> {
        let job =
            |command: &steady_model::Command| Job { program: command.program.clone(), argv: command.argv.clone() };
        Ok(TracedRuns {
            jobs: plan.commands.iter().map(job).collect(),
            channel: Channel::start(COUNTER, Stdio::null())?,
            interrupt,
            run_limit: plan.run_limit().map(|limit| Nanos(limit.0.saturating_mul(SLOWER))),
        })
    }
}

impl Counter for TracedRuns {
    fn count(&mut self, command: usize) -> Result<Reading<Counts>, RunError> {
        let lost = |error: io::Error| RunError::LauncherLost(error.to_string());
        self.channel.say(&self.jobs[command]).map_err(lost)?;
        match self.channel.wait(self.interrupt.as_ref().map(AsFd::as_fd), self.run_limit).map_err(lost)? {
            Woken::Readable => self.channel.listen().map_err(lost),
            Woken::Interrupted => Err(RunError::Interrupted),
            Woken::TimedOut => Err(RunError::LauncherLost("a counted run did not end".to_owned())),
        }
    }

    fn sources(&self) -> Vec<String> {
        vec!["system calls, forks, threads, execs: a tracer, in runs of their own".to_owned()]
    }
}

/// The whole life of a counter. It ends, and all that it watches with it, when `steady` hangs up.
pub(crate) fn serve_counter() {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return };
    // The tracer waits for nothing but the command, so somebody else has to listen; and where that is too late, the kernel
    // ends this process with its parent. What a tracer watches is killed when it ends.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let Ok(watched) = control.try_clone() else { return };
    let listener = thread::Builder::new().spawn(move || {
        let _ = poll(&mut [PollFd::new(&watched, PollFlags::RDHUP)], None);
        std::process::exit(1);
    });
    if listener.is_err() {
        return;
    }
    let _ = process::leave_session();
    for line in BufReader::new(&control).lines() {
        let Ok(Ok(job)) = line.map(|line| serde_json::from_str::<Job>(&line)) else { return };
        let Ok(mut answer) = serde_json::to_vec(&counted(&job)) else { return };
        answer.push(b'\n');
        if (&control).write_all(&answer).is_err() {
            return;
        }
    }
}

fn counted(job: &Job) -> Reading<Counts> {
    let command = Attached::new(&job.program, job.argv.iter().map(OsStr::new));
    let command = command.map_err(|_| Absent::because("a word of the command holds a NUL byte"))?;
    let counted = tracer::count(&command)?;
    let of_tracer = || Absent::because("each stop of the tracer is a switch");
    Ok(Counts {
        minor_faults: counted.usage.minor_faults,
        major_faults: counted.usage.major_faults,
        voluntary_switches: Err(of_tracer()),
        involuntary_switches: Err(of_tracer()),
        forks: Ok(counted.counts.forks),
        threads: Ok(counted.counts.threads),
        execs: Ok(counted.counts.execs),
        calls: Ok(counted.counts.calls()),
        calls_by_name: Ok(counted.counts.by_name()),
    })
}
