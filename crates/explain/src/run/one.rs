//! One command, run once with its own streams.

use steady_costs::prices::{self, Priced, Prices};
use steady_feature::{Failure, Session, attended};
use steady_linux::activity::Snapshot;
use steady_linux::{Root, clock, host, procfs};
use steady_model::{Absent, Nanos};
use steady_rulers::Pace;

use super::{explain, tick};
use crate::flags::ExplainFlags;
use crate::judge::judged;
use crate::record::{ExplainRecord, not_judged};

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
    let ran = explain(&command, &flags.words, flags.trace).map_err(|error| attended::failure(&command, &error))?;
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
