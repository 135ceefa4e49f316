//! `steady bisect`: finds the commit between two others that changed the cost of a command.
//!
//! The commits are those of the line of first parents. Each step builds one of them and compares it with the first
//! commit of the line, in random pairs as `compare` does. `judge` turns all comparisons so far into the probability
//! of each commit to be the one, and the next step measures where the probability of an earlier one is about a half. A
//! wrong comparison is therefore corrected by later ones. The search itself accepts nothing: the commit is reported
//! only if a last comparison with its parent, on fresh pairs, confirms the change.
#![forbid(unsafe_code)]

mod document;
mod flags;
mod judge;
mod machine;
mod record;
mod run;
mod state;

use std::ffi::OsString;

use clap::{ArgMatches, FromArgMatches};
use steady_compare::revisions::{LineCommit, Repository, Trees};
use steady_feature::{Failure, Feature, Interrupt, RecordKind, Session, Status, typed};
use steady_linux::clock;
use steady_model::{Absent, Command, Nanos, Plan};
use steady_render::letters::count;

use flags::BisectFlags;
use machine::Machine;
use state::State;

pub use judge::{Step, judged};
pub use record::{BisectOutcome, BisectRecord, Comparison, HistoryCommit, Purpose, SCHEMA};
pub use run::{Commits, Measured, Stop, bisect};

/// The feature `bisect`.
pub const FEATURE: Feature = Feature {
    name: "bisect",
    about: "Find the commit that changed the cost of a command",
    flags: Feature::flags_of::<BisectFlags>,
    run,
    status: |_: &[OsString]| Status::Own,
    records: &[RecordKind {
        kind: record::KIND,
        read: |text| Ok(Box::new(BisectRecord::read(text)?)),
        log: None,
        join: None,
    }],
    helpers: &[],
};

/// The exit status if the commit was not found.
const NOT_FOUND: u8 = 4;

fn run(matches: &ArgMatches, session: &mut dyn Session) -> Result<u8, Failure> {
    let flags = BisectFlags::from_arg_matches(matches).map_err(|error| Failure::Own(error.to_string()))?;
    steady_host::around(&flags.host, flags.output.quiet, session, |session| run_here(&flags, session))
}

/// As [`run`], after `--quiet-host` has prepared the host.
fn run_here(flags: &BisectFlags, session: &mut dyn Session) -> Result<u8, Failure> {
    let range = flags.ends()?;
    let plan = plan(flags, session)?;
    let repository = Repository::discover("bisect")?;
    let good =
        if range.from_merge_base { repository.merge_base(range.good, range.bad)? } else { range.good.to_owned() };
    let line = repository.first_parents(&good, range.bad)?;
    session.open(&flags.output, false, Status::Own)?;
    let (interrupt, readable) = Interrupt::catch().map_err(|error| Failure::Own(format!("signals: {error}")))?;
    let state = State::of(flags, &plan, &repository, &line, session);
    let mut record = record(flags, &plan, &line, session);
    if let Some(earlier) = state.load(&line, flags.restart) {
        session.notice(&format!(
            "this continues an earlier search in the same commits, with {}; --restart begins again",
            count(earlier.comparisons.len(), "comparison", "comparisons")
        ));
        let earlier_seconds = earlier.measured();
        record = BisectRecord { budget_seconds: flags.budget, earlier_seconds, ..earlier };
    }
    let trees = Trees::open(repository, flags.build.clone(), flags.run.shows_output(), &readable, session)?;
    let built = vec![None; line.len()];
    let mut machine =
        Machine { flags, plan, line: &line, built, trees, readable, interrupt: &interrupt, state, session };
    let searched = bisect(&mut record, &mut machine);
    let Machine { trees, state, session, .. } = machine;
    trees.remove(session);
    match searched {
        Err(Failure::Interrupted(_)) if !record.comparisons.is_empty() => record.interrupted = true,
        Err(Failure::Interrupted(_)) => {
            session.notice("only complete comparisons are kept, and the first one was not complete");
            return Err(Failure::Interrupted(interrupt.signal()));
        }
        searched => searched?,
    }
    interrupt.release();
    let record = judged(record);
    state.finish(&record);
    if !flags.no_history {
        session.keep(&record);
    }
    session.write(&record)?;
    Ok(match record.outcome {
        _ if record.interrupted => Failure::Interrupted(interrupt.signal()).status(),
        BisectOutcome::Found => 0,
        BisectOutcome::Same | BisectOutcome::Open => NOT_FOUND,
    })
}

/// The plan of all comparisons, with the command before any commit is built.
fn plan(flags: &BisectFlags, session: &dyn Session) -> Result<Plan, Failure> {
    let plan = steady_compare::plan_of_runs(&flags.run, session)?;
    let argv = typed::words(&flags.command, flags.run.shell())?;
    let command = Command { name: flags.command.trim().to_owned(), argv, ..Command::default() };
    Ok(Plan {
        commands: vec![command],
        resolution: flags.precision.resolution,
        confidence: flags.precision.confidence,
        ..plan
    })
}

/// A record before the first comparison.
fn record(flags: &BisectFlags, plan: &Plan, line: &[LineCommit], session: &dyn Session) -> BisectRecord {
    BisectRecord {
        started: clock::time_of_day(),
        command: flags.command.trim().to_owned(),
        build: flags.build.clone(),
        range: flags.range.clone(),
        host: session.host(),
        revision: session.revision(),
        seed: plan.seed,
        budget_seconds: flags.budget,
        earlier_seconds: Nanos::ZERO,
        resolution_ratio: plan.resolution,
        confidence: plan.confidence,
        metric: Err(Absent::because("nothing was compared")),
        commits: line.iter().map(HistoryCommit::from).collect(),
        comparisons: vec![],
        confirmations: 0,
        interrupted: false,
        outcome: BisectOutcome::Open,
        candidates: vec![],
    }
}
