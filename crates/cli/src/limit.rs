//! `steady limit`: wire plan, guardian and report together.

use std::io::{self, Write};

use steady_experiments::limit::{LimitRun, limit};
use steady_limit::{LimitRecord, LimitedCommand, csv, document};
use steady_linux::activity::Snapshot;
use steady_linux::{Root, clock, host, signals};
use steady_model::{CpuSource, LimitOutcome, LimitPlan, Outcome, Reading, Timestamp};
use steady_render::terminal::text_among_others;
use steady_render::{html, markdown};

use crate::failure::Failure;
use crate::flags::{Form, LimitFlags};
use crate::history::Keeper;
use crate::letters::readable;
use crate::output::{Destinations, Shown, style, style_on};
use crate::{attended, revisions};

/// What timeout(1) returns too.
const LIMIT_REACHED: u8 = 124;

impl Shown for LimitRecord {
    fn rendered(&self, form: Form, _samples: bool) -> String {
        match form {
            Form::Text => text_among_others(&document(self), style()),
            Form::Json => self.json(),
            Form::Csv => csv(self),
            Form::Markdown => markdown::text(&document(self)),
            Form::Html => html::text(&document(self)),
        }
    }
}

/// Runs the command within its limits and reports it; the exit status.
pub(crate) fn run(flags: &LimitFlags) -> Result<u8, Failure> {
    // Statuses from 1 on may be the command's.
    let destinations =
        Destinations::files(&flags.output(), false).map_err(|failure| Failure::Own(failure.to_string()))?;
    let plan = plan(flags)?;
    let root = Root::default();
    let (started, before) = (clock::time_of_day(), Snapshot::take(&root));
    let source = flags.source.map(CpuSource::from);
    let ran = limit(&plan, &flags.words, source).map_err(|error| attended::failure(&plan.command, &error))?;
    let steal = before.until(&Snapshot::take(&root)).steal_ratio;
    let record = record(plan, started, ran, steal);
    if !flags.quiet {
        signals::write_as_others_do();
        // Where nobody listens, the exit status speaks.
        let _ =
            io::stderr().write_all(readable(text_among_others(&document(&record), style_on(&io::stderr()))).as_bytes());
    }
    let written = destinations.write_files(&record);
    // What cannot be shown is kept all the same.
    let kept = if flags.no_history { None } else { Keeper::keep_at_once(&record) };
    if let Some(id) = kept.filter(|_| !flags.quiet) {
        let _ = writeln!(io::stderr(), "History: {id} (steady history report {id})");
    }
    written?;
    Ok(status(&record))
}

fn plan(flags: &LimitFlags) -> Result<LimitPlan, Failure> {
    Ok(LimitPlan {
        command: attended::command(&flags.words)?,
        cpu: flags.cpu,
        wall_factor: flags.wall_factor,
        poll: flags.poll,
        kill_after: flags.kill_after,
    })
}

fn record(plan: LimitPlan, started: Timestamp, ran: LimitRun, steal_ratio: Reading<f64>) -> LimitRecord {
    LimitRecord {
        started,
        host: host::probe(&Root::default()),
        revision: revisions::here(),
        cpu_limit_seconds: plan.cpu,
        wall_factor: plan.wall_factor,
        wall_limit_seconds: LimitRecord::wall_limit(&plan),
        poll_seconds: LimitRecord::poll(&plan),
        kill_after_seconds: plan.kill_after,
        command: LimitedCommand { name: plan.command.name, argv: plan.command.argv, program: plan.command.program },
        outcome: ran.outcome,
        ended: ran.ended,
        cpu_seconds: ran.cpu,
        wall_seconds: ran.wall,
        waiting_seconds: ran.waiting,
        stopped_seconds: ran.stopped,
        overshoot_seconds: ran.overshoot,
        steal_ratio,
        source: ran.source,
        passed_over: ran.passed_over,
        left_behind: ran.left_behind,
    }
}

/// The command's own status, unless a limit was reached.
fn status(record: &LimitRecord) -> u8 {
    match (record.outcome, record.ended) {
        (LimitOutcome::CpuLimit | LimitOutcome::WallLimit, _) | (_, Outcome::TimedOut) => LIMIT_REACHED,
        (LimitOutcome::Ok, ended) => attended::status(ended),
    }
}
