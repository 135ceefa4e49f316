//! Runs the commands of a plan under a tracer, in a helper process, only to count their events.

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
use steady_model::{Absent, FailureRule, Nanos, Outcome, Plan, Reading};

use super::pair::Counter;
use crate::record::Counts;
use steady_process::channel::{Channel, Woken};
use steady_process::launcher::outcome;
use steady_process::runner::RunError;

/// The first argument that makes `steady` a counting helper.
pub(crate) const COUNTER: &str = "__counter";

/// Factor on the time limit of a traced run. A tracer rarely slows a command down more than this.
const SLOWER: u64 = 100;

/// Request to count one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Job {
    program: PathBuf,
    argv: Vec<String>,
    /// Which exit statuses count as success.
    failures: FailureRule,
}

/// Counts runs by a tracer.
pub(crate) struct TracedRuns {
    jobs: Vec<Job>,
    channel: Channel,
    interrupt: Option<OwnedFd>,
    run_limit: Option<Nanos>,
}

impl TracedRuns {
    /// Starts the helper. A counted run ends early when `interrupt` becomes readable.
    ///
    /// # Errors
    /// Errors of fork(2) and execve(2).
    pub(crate) fn start(plan: &Plan, interrupt: Option<OwnedFd>) -> io::Result<Self> {
        let job = |command: &steady_model::Command| Job {
            program: command.program.clone(),
            argv: command.argv.clone(),
            failures: plan.failures.clone(),
        };
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
            Woken::TimedOut => Err(RunError::LauncherLost("a counted run exceeded its time limit".to_owned())),
        }
    }

    fn sources(&self) -> Vec<String> {
        vec!["system calls, forks, threads, execs after the command's own: a tracer, in extra runs".to_owned()]
    }
}

/// Main function of the counting helper. It ends when `steady` closes the connection, and traced processes end with it.
pub(crate) fn serve_counter() {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return };
    // The tracer waits for the command only, so a thread watches the connection. As a fallback, the kernel kills this
    // process when its parent ends. The kernel kills traced processes when their tracer ends.
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
    let command = command.map_err(|_| Absent::because("an argument of the command contains a NUL byte"))?;
    let counted = tracer::count(&command)?;
    // Programs of another user lose their rights under a tracer, and some programs detect one.
    let how = match outcome(counted.status, true) {
        Outcome::Exited(status) if job.failures.accepts(status) => None,
        Outcome::Exited(status) => Some(format!("ended with status {status}")),
        Outcome::Signalled(signal) => Some(format!("was killed by signal {signal}")),
        Outcome::TimedOut => Some("did not end".to_owned()),
    };
    if let Some(how) = how {
        return Err(Absent(format!("the command {how} under the tracer that counts them, but not without it")));
    }
    let of_tracer = || Absent::because("each stop of the tracer is a switch");
    Ok(Counts {
        minor_faults: counted.usage.minor_faults,
        major_faults: counted.usage.major_faults,
        voluntary_switches: Err(of_tracer()),
        involuntary_switches: Err(of_tracer()),
        forks: Ok(counted.counts.forks),
        threads: Ok(counted.counts.threads),
        execs: Ok(counted.counts.execs),
        execs_at_least: false,
        calls: Ok(counted.counts.calls()),
        calls_by_name: Ok(counted.counts.by_name()),
    })
}
