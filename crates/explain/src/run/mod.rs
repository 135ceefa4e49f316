//! Runs one command once, or two commands in pairs.
//!
//! A single command runs under a guardian (`steady_process::attended`). The guardian starts it with instruments that do
//! not disturb it, or under a tracer, and reports once nothing of it is left ([`explain`]). Pairs run as in a
//! comparison ([`explain_pair`]).

mod account;
mod attendant;
mod counter;
mod ends;
mod pair;
mod series;
mod usage;
mod watch;

use std::ffi::{OsStr, OsString};

use serde::{Deserialize, Serialize};
use steady_costs::prices::{self, Priced, Prices};
use steady_feature::{Failure, Session, typed};
use steady_linux::activity::KernelCounters;
use steady_linux::{Root, clock, host, procfs};
use steady_model::{Absent, Command, Nanos, Outcome, Reading};
use steady_process::attended::{self, Attendant, Unattended};
use steady_rulers::Pace;

use crate::flags::ExplainFlags;
use crate::judge::judged;
use crate::record::{Counts, ExplainRecord, ProcessUse, Progress, not_judged};
use attendant::{Explainer, Task};

pub(crate) use counter::{COUNTER, TracedRuns, serve_counter};
pub use pair::{COUNTED_RUNS, Counter, Means, Step, explain_pair};

/// The first argument that makes `steady` the guardian of an explained command.
pub(crate) const ARGUMENT: &str = Explainer::WORD;

/// What an explained command did and used. The fields are described in [`ExplainRecord`](crate::ExplainRecord).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ExplainRun {
    /// Exit status or signal of the command.
    pub(crate) ended: Outcome,
    /// Time from start to end, without the time in which the command was stopped.
    pub(crate) wall: Nanos,
    /// User time of the process tree.
    pub(crate) user: Nanos,
    /// System time of the process tree.
    pub(crate) system: Nanos,
    /// Sum of the lifetimes of all threads.
    pub(crate) thread_time: Reading<Nanos>,
    /// Part of `thread_time` in which threads waited for a CPU.
    pub(crate) waiting: Reading<Nanos>,
    /// Time in which the command was stopped.
    pub(crate) stopped: Nanos,
    /// Numbers of page faults, context switches, forks and other events.
    pub(crate) counts: Counts,
    /// Sources of the times and counts, one string each.
    pub(crate) sources: Vec<String>,
    /// Estimated CPU time that counting added to the command.
    pub(crate) counting_cost: Reading<Nanos>,
    /// The processes of the tree.
    pub(crate) processes: Reading<Vec<ProcessUse>>,
    /// Whether samples of /proc provided `processes`.
    pub(crate) processes_sampled: bool,
    /// Cumulative use at points during the run.
    pub(crate) progress: Vec<Progress>,
    /// Number of processes that outlived the command and were killed.
    pub(crate) left_behind: u32,
    /// Whether a tracer stopped the command. If tracing was requested but is not allowed, the command runs without it.
    pub(crate) traced: bool,
}

/// Runs a command with the arguments `words` to its end and reports on it. The command gets the standard input and
/// output of this process, which has none afterwards.
///
/// The calling process must have a single thread. From then on it blocks the signals that it passes on to the command.
///
/// # Errors
/// See [`Unattended`]. No process of the command is left then.
fn explain(command: &Command, words: &[OsString], trace: bool) -> Result<ExplainRun, Unattended> {
    attended::attend::<Explainer>(&command.program, words, Task { trace })
}

/// Main function of a guardian, with the arguments after [`ARGUMENT`]. Returns once no process of the command is left.
pub(crate) fn guard(arguments: impl Iterator<Item = OsString>) {
    attended::guard::<Explainer>(arguments);
}

/// Readings of the clock rate before the command, and again after it. Each takes a few milliseconds.
const PACE_READINGS: usize = 5;

/// Runs the command of the flags and computes where its time went.
///
/// # Errors
/// Returns why the command did not run to its end.
pub(crate) fn one(flags: &ExplainFlags, session: &mut dyn Session) -> Result<ExplainRecord, Failure> {
    let command = session.command(&flags.words)?;
    let find = |name: &OsStr| session.command(&[name.to_owned()]).ok().map(|found| found.program);
    let interpreter = typed::interpreter(&command.program, find);
    // Prices are measured before the command. Measured afterwards, they would delay the shell's prompt, and the machine
    // might still be busy with work that the command caused.
    let prices =
        prices::prices(session, flags.fresh, flags.quiet).unwrap_or_else(|failure| without_prices(&failure, session));
    let tick_seconds = steady_linux::host::tick();
    let root = Root::default();
    let (started, before) = (clock::time_of_day(), KernelCounters::read(&root));
    let mut pace = Pace::default();
    pace.read_apart(PACE_READINGS);
    let ran = explain(&command, &flags.words, flags.trace)
        .map_err(|error| steady_feature::attended::failure(&command, &error))?;
    let activity = before.until(&KernelCounters::read(&root));
    pace.read_apart(PACE_READINGS);
    Ok(judged(ExplainRecord {
        started,
        command: command.into(),
        interpreter,
        // If a tracer was not allowed, the command ran without one.
        trace: ran.traced,
        by_process: flags.by_process,
        host: session.host(),
        revision: session.revision(),
        ended: ran.ended,
        wall_seconds: ran.wall,
        cpu_seconds: Nanos::ZERO,
        user_seconds: ran.user,
        system_seconds: ran.system,
        system_interval: not_judged(),
        tick_seconds,
        thread_seconds: ran.thread_time,
        waiting_seconds: ran.waiting,
        blocked_seconds: not_judged(),
        stopped_seconds: ran.stopped,
        counts: ran.counts,
        parts: Vec::new(),
        unexplained: not_judged(),
        missing: Vec::new(),
        notes: Vec::new(),
        sources: ran.sources,
        counting_cost_seconds: ran.counting_cost,
        processes: ran.processes,
        processes_sampled: ran.processes_sampled,
        progress: ran.progress,
        activity,
        // The rate during the run may have been any of these or another, so the interval covers all readings.
        alu: pace.anywhere(),
        left_behind: ran.left_behind,
        prices,
    }))
}

/// Prices that are all absent: the command runs even if prices cannot be measured.
fn without_prices(failure: &Failure, session: &dyn Session) -> Prices {
    session.notice(&format!(
        "the prices of events were not measured, so the report does not split the CPU time: {failure}"
    ));
    let root = Root::default();
    let why = Absent::because(failure.to_string());
    Prices {
        measured: clock::time_of_day(),
        kernel: procfs::kernel(&root),
        boot: host::boot_id(&root),
        alu: Err(why.clone()),
        prices: Priced::all().map(|priced| (priced, Err(why.clone()))).collect(),
    }
}
