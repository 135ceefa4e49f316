//! Runs one command as it is, or two in turns.
//!
//! One command is attended (`steady_process::attended`): its guardian starts it within instruments that do not touch it, or under a
//! tracer, and gives an account of it once nothing is left ([`explain`]). Pairs are run as in a comparison ([`explain_pair`]).

mod account;
mod attendant;
mod counter;
mod ends;
mod pair;
mod series;
mod usage;
mod watch;

use std::ffi::OsString;

use serde::{Deserialize, Serialize};
use steady_costs::prices::{self, Priced, Prices};
use steady_feature::{Failure, Session};
use steady_linux::activity::Snapshot;
use steady_linux::{Root, clock, host, procfs};
use steady_model::{Absent, Command, Nanos, Outcome, Reading};
use steady_process::attended::{self, Attendant, Unattended};
use steady_rulers::Pace;

use crate::flags::ExplainFlags;
use crate::judge::judged;
use crate::record::{Counts, ExplainRecord, ProcessUse, Progress, exact, not_judged};
use attendant::{Explainer, Task};

pub(crate) use counter::{COUNTER, TracedRuns, serve_counter};
pub use pair::{COUNTED_RUNS, Counter, Means, explain_pair};

/// The first argument that makes `steady` the guardian of an explained command.
pub(crate) const ARGUMENT: &str = Explainer::WORD;

/// The length of the ticks by which user and system time are sampled. If that cannot be found out, they may be sampled.
///
/// # Errors
/// Both are exact.
pub(crate) fn tick() -> Reading<Nanos> {
    host::tick().unwrap_or_else(|_| Some(clock::tick())).ok_or_else(exact)
}

/// What an explained command did and used; as in [`ExplainRecord`](crate::ExplainRecord).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ExplainRun {
    /// How it ended.
    pub(crate) ended: Outcome,
    /// From its start to its end, stops left out.
    pub(crate) wall: Nanos,
    /// User time of the tree.
    pub(crate) user: Nanos,
    /// System time of the tree.
    pub(crate) system: Nanos,
    /// The lifetimes of all threads together.
    pub(crate) thread_time: Reading<Nanos>,
    /// Of it, time spent waiting for a CPU.
    pub(crate) waiting: Reading<Nanos>,
    /// Time in which it was stopped.
    pub(crate) stopped: Nanos,
    /// How often things happened.
    pub(crate) counts: Counts,
    /// Where what comes from, in words.
    pub(crate) sources: Vec<String>,
    /// CPU time that the counting itself cost it.
    pub(crate) counting_cost: Reading<Nanos>,
    /// Its processes.
    pub(crate) processes: Reading<Vec<ProcessUse>>,
    /// What it had used from time to time.
    pub(crate) progress: Vec<Progress>,
    /// Processes that it left behind, and that were ended.
    pub(crate) left_behind: u32,
    /// Whether it was traced: where that was asked for and is not allowed, it ran as it is.
    pub(crate) traced: bool,
}

/// Runs a command, started with `words`, to its end, and gives account of it. Standard input and output are the command's:
/// afterwards this process has none.
///
/// For a process with one thread. From here on it keeps the signals that are passed on from itself.
///
/// # Errors
/// See [`Unattended`]. Nothing is left of the command then.
fn explain(command: &Command, words: &[OsString], trace: bool) -> Result<ExplainRun, Unattended> {
    attended::attend::<Explainer>(&command.program, words, Task { trace })
}

/// The whole life of a guardian, from the words behind [`ARGUMENT`]. Returns once nothing is left of the command.
pub(crate) fn guard(arguments: impl Iterator<Item = OsString>) {
    attended::guard::<Explainer>(arguments);
}

/// How often the clock's rate is read before the command, and after it: each takes a few milliseconds.
const PACE_READINGS: usize = 5;

/// Runs the command of the flags and explains it.
///
/// # Errors
/// It was not run to its end.
pub(crate) fn one(flags: &ExplainFlags, session: &mut dyn Session) -> Result<ExplainRecord, Failure> {
    let command = session.command(&flags.words)?;
    // Before the command: what comes after it would keep the shell waiting, and be measured while the machine is still at
    // what the command left it to do.
    let prices =
        prices::prices(session, flags.fresh, flags.quiet).unwrap_or_else(|failure| without_prices(&failure, session));
    let tick_seconds = tick();
    let root = Root::default();
    let (started, before) = (clock::time_of_day(), Snapshot::take(&root));
    let mut pace = Pace::default();
    pace.read_apart(PACE_READINGS);
    let ran = explain(&command, &flags.words, flags.trace)
        .map_err(|error| steady_feature::attended::failure(&command, &error))?;
    let load = before.until(&Snapshot::take(&root));
    pace.read_apart(PACE_READINGS);
    Ok(judged(ExplainRecord {
        started,
        command: command.into(),
        // If a tracer was not allowed, its times are its own.
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
        progress: ran.progress,
        load,
        // It ran at whichever rate: of a short run none of these need be the one, and of a long one any.
        alu: pace.anywhere(),
        left_behind: ran.left_behind,
        prices,
    }))
}

/// A command runs whatever events cost: its times are reported without them.
fn without_prices(failure: &Failure, session: &dyn Session) -> Prices {
    session.notice(&format!("what events cost here is not known: {failure}"));
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
