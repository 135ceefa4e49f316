//! `steady limit`: ends a command that has used its CPU time or wall time.
#![forbid(unsafe_code)]

mod document;
mod flags;
mod plan;
mod record;
mod run;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};
use steady_feature::{Failure, Feature, Helper, RecordKind, Session, Status, attended};
use steady_linux::activity::KernelCounters;
use steady_linux::{Root, clock};
use steady_model::Outcome;

use flags::LimitFlags;

pub use plan::LimitPlan;
pub use record::{CpuSource, LimitOutcome, LimitRecord, SCHEMA};

/// Exit status if a limit was reached: the same as timeout(1) returns.
const LIMIT_REACHED: u8 = 124;

/// The feature `limit`: its name, flags, records and helper process.
pub const FEATURE: Feature = Feature {
    name: "limit",
    about: "End a command after a given CPU time, which is the same work on an idle and on a busy machine",
    flags: Feature::flags_of::<LimitFlags>,
    run,
    status: |_| Status::OfTheCommand,
    records: &[RecordKind {
        kind: record::KIND,
        read: |text| Ok(Box::new(LimitRecord::read(text)?)),
        log: None,
        join: None,
    }],
    helpers: &[Helper { word: run::ARGUMENT, main: guard }],
};

fn run(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let flags = LimitFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    session.open(&flags.output(), false, Status::OfTheCommand)?;
    let plan = LimitPlan {
        command: session.command(&flags.words)?,
        cpu: flags.cpu,
        wall_factor: flags.wall_factor,
        poll: flags.poll,
        kill_after: flags.kill_after,
    };
    let root = Root::default();
    let (started, before) = (clock::time_of_day(), KernelCounters::read(&root));
    let ran = run::limit(&plan, &flags.words, flags.source.map(CpuSource::from))
        .map_err(|error| attended::failure(&plan.command, &error))?;
    let record = LimitRecord {
        started,
        host: session.host(),
        revision: session.revision(),
        cpu_limit_seconds: plan.cpu,
        wall_factor: plan.wall_factor,
        wall_limit_seconds: LimitRecord::wall_limit(&plan),
        poll_seconds: LimitRecord::poll(&plan),
        kill_after_seconds: plan.kill_after,
        command: plan.command.into(),
        outcome: ran.outcome,
        ended: ran.ended,
        killed: ran.killed,
        cpu_seconds: ran.cpu,
        wall_seconds: ran.wall,
        waiting_seconds: ran.waiting,
        stopped_seconds: ran.stopped,
        overshoot_seconds: ran.overshoot,
        steal_ratio: before.until(&KernelCounters::read(&root)).steal_ratio,
        source: ran.source,
        passed_over: ran.passed_over,
        left_behind: ran.left_behind,
    };
    if !flags.no_history {
        session.keep(&record);
    }
    session.write(&record)?;
    Ok(status(&record))
}

/// Exit status of the command, or 124 if a limit was reached.
fn status(record: &LimitRecord) -> u8 {
    match (record.outcome, record.ended) {
        (LimitOutcome::CpuLimit | LimitOutcome::WallLimit, _) | (_, Outcome::TimedOut) => LIMIT_REACHED,
        (LimitOutcome::Ok, ended) => attended::status(ended),
    }
}

/// Main function of a guardian process.
fn guard(words: &mut dyn Iterator<Item = OsString>) -> ExitCode {
    run::guard(words);
    ExitCode::SUCCESS
}
