//! One command, run once with its own streams.

use std::io::{self, Write};

use steady_costs::prices;
use steady_experiments::explain::{ExplainRun, explain, report};
use steady_feature::attended;
use steady_linux::activity::Snapshot;
use steady_linux::{Root, clock, host, procfs, signals};
use steady_model::{Absent, Activity, AluTime, ExplainPlan, ExplainRecord, Nanos, Prices, Reading, Timestamp};
use steady_report::explain_text;
use steady_rulers::Pace;

use super::tick;
use crate::failure::{Failure, notice};
use crate::flags::ExplainFlags;
use crate::history::Keeper;
use crate::letters::readable;
use crate::output::{Destinations, style_on};
use crate::session::CommandLine;
use crate::{programs, revisions};

/// What surrounds the run.
struct Frame {
    started: Timestamp,
    tick: Option<Nanos>,
    prices: Prices,
    activity: Activity,
    alu: Reading<AluTime>,
}

/// How often the clock's rate is read before the command, and after it: that takes a few milliseconds each.
const PACE_READINGS: usize = 5;

/// Runs the command and explains it; the exit status.
pub(super) fn run(flags: &ExplainFlags) -> Result<u8, Failure> {
    check(flags)?;
    // Statuses from 1 on may be the command's.
    let destinations =
        Destinations::files(&flags.output(), false).map_err(|failure| Failure::Own(failure.to_string()))?;
    let plan =
        ExplainPlan { command: programs::attended(&flags.words)?, trace: flags.trace, by_process: flags.by_process };
    // Before the command: what comes after it would keep the shell waiting, and be measured while the machine is still at
    // what the command left it to do.
    let prices = prices::prices(&mut CommandLine::default(), flags.fresh, flags.quiet)
        .unwrap_or_else(|failure| without_prices(&failure));
    let tick = tick();
    let root = Root::default();
    let (started, before) = (clock::time_of_day(), Snapshot::take(&root));
    let mut pace = Pace::default();
    pace.read_apart(PACE_READINGS);
    let ran = explain(&plan, &flags.words).map_err(|error| attended::failure(&plan.command, &error))?;
    let activity = before.until(&Snapshot::take(&root));
    pace.read_apart(PACE_READINGS);
    // It ran at whichever rate: of a short run none of these need be the one, and of a long one any.
    let alu = pace.anywhere();
    let report = report(record(plan, ran, Frame { started, tick, prices, activity, alu }));
    if !flags.quiet {
        signals::write_as_others_do();
        // Where nobody listens, the exit status speaks.
        let _ = io::stderr().write_all(readable(explain_text(&report, style_on(&io::stderr()))).as_bytes());
    }
    let written = destinations.write_files(&report);
    // What cannot be shown is kept all the same.
    let kept = if flags.no_history { None } else { Keeper::keep_at_once(&report) };
    if let Some(id) = kept.filter(|_| !flags.quiet) {
        let _ = writeln!(io::stderr(), "History: {id} (steady history report {id})");
    }
    written?;
    Ok(attended::status(report.record.ended))
}

/// What is for two commands would do nothing here.
fn check(flags: &ExplainFlags) -> Result<(), Failure> {
    let given = flags.pairs.given().or(flags.format.map(|_| "--format"));
    match given {
        Some(option) => Err(Failure::Own(format!(
            "{option} is for two commands; one runs once, and its report goes to standard error and to --export-... files"
        ))),
        None => Ok(()),
    }
}

/// A command runs whatever events cost: its times are told without them.
fn without_prices(failure: &Failure) -> Prices {
    notice(&format!("what events cost here is not known: {failure}"));
    let root = Root::default();
    let why = Absent::because(failure.to_string());
    Prices {
        measured: clock::time_of_day(),
        kernel: procfs::kernel(&root),
        boot: host::boot_id(&root),
        alu: Err(why.clone()),
        prices: prices::all().map(|priced| (priced, Err(why.clone()))).collect(),
    }
}

fn record(plan: ExplainPlan, ran: ExplainRun, frame: Frame) -> ExplainRecord {
    ExplainRecord {
        // Where a tracer was not allowed, its times are its own.
        plan: ExplainPlan { trace: ran.traced, ..plan },
        started: frame.started,
        host: host::probe(&Root::default()),
        revision: revisions::here(),
        ended: ran.ended,
        wall: ran.wall,
        user: ran.user,
        system: ran.system,
        tick: frame.tick,
        thread_time: ran.thread_time,
        waiting: ran.waiting,
        stopped: ran.stopped,
        counts: ran.counts,
        sources: ran.sources,
        counting_cost: ran.counting_cost,
        processes: ran.processes,
        progress: ran.progress,
        activity: frame.activity,
        alu: frame.alu,
        left_behind: ran.left_behind,
        prices: frame.prices,
    }
}
